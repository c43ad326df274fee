import { omitUndefined } from '../../tool/omit-undefined.js'
import { wholeNumber } from './whole-number.js'

/** One failed request, for `shouldRetry`. `error` is what the model threw. */
export type CompletionRetryContext = {
  readonly error: unknown
  /** The number of attempts so far. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly turn: number
  readonly streaming: boolean
}

/** Retries of failed completion requests. */
export type CompletionRetryOptions = {
  /** The maximum number of attempts, including the first one (default: 3). */
  readonly maxAttempts?: number
  /** The pause before the second attempt in milliseconds, doubled for each further one (default: 100). */
  readonly initialDelayMs?: number
  /** The maximum pause in milliseconds (default: 1000). */
  readonly maxDelayMs?: number
  /** Replaces the default classification of errors. Not called for an aborted request. */
  readonly shouldRetry?: (context: CompletionRetryContext) => boolean
}

export type CompletionRetries = Required<Omit<CompletionRetryOptions, 'shouldRetry'>> &
  Pick<CompletionRetryOptions, 'shouldRetry'>

export function readRetries(options: CompletionRetryOptions): CompletionRetries {
  const { maxAttempts = 3, initialDelayMs = 100, maxDelayMs = 1_000, shouldRetry } = options
  wholeNumber('maxAttempts', maxAttempts, 1)
  for (const [name, ms] of Object.entries({ initialDelayMs, maxDelayMs }))
    if (!(ms >= 0 && ms <= maxTimer))
      throw new RangeError(`${name} must be from 0 to ${maxTimer}, not ${ms}.`)
  if (maxDelayMs < initialDelayMs)
    throw new RangeError(
      `maxDelayMs (${maxDelayMs}) must not be less than initialDelayMs (${initialDelayMs}).`,
    )
  if (shouldRetry !== undefined && typeof shouldRetry !== 'function')
    throw new TypeError('shouldRetry must be a function.')
  return { maxAttempts, initialDelayMs, maxDelayMs, ...omitUndefined({ shouldRetry }) }
}

const maxTimer = 2 ** 31 - 1
