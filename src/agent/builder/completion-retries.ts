import { wholeNumber } from './whole-number.js'

/** One failed request, for `shouldRetry`. `error` is what the model threw. */
export type CompletionRetryContext = {
  readonly error: unknown
  /** How often the request was sent so far. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly turn: number
  readonly streaming: boolean
}

export type CompletionRetryOptions = {
  /** How often a request is sent, the first time included. Default: 3. */
  readonly maxAttempts?: number
  /** The pause before the second attempt; doubled for each further one. Default: 100. */
  readonly initialDelayMs?: number
  /** Default: 1000. */
  readonly maxDelayMs?: number
  /** Decides in place of the usual classification. Not asked for a request that was aborted. */
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
  return { maxAttempts, initialDelayMs, maxDelayMs, ...(shouldRetry !== undefined && { shouldRetry }) }
}

const maxTimer = 2 ** 31 - 1
