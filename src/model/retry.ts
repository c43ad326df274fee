import { messageOf } from '../tool/errors.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import { ModelError } from './errors.js'
import type { ModelCall, ModelEvent } from './model.js'

export type RetryPolicy = {
  readonly signal: AbortSignal
  /** Called before each delay. */
  on(event: Extract<ModelEvent, { type: 'retry' }>): void
  /** Whether an answer that was interrupted can start again. */
  readonly restarts?: boolean | undefined
} & RetryTiming

/** How often and when a request is sent again. */
export type RetryTiming = {
  /** The maximum number of attempts, including the first. Default: 8. */
  readonly maxAttempts?: number | undefined
  /** The delay before the first retry; doubled for each further one. Default: 1 s. */
  readonly baseDelayMs?: number | undefined
  /** The maximum of these delays. Default: 30 s. */
  readonly maxDelayMs?: number | undefined
  /** The maximum delay that a provider can request; a longer one is cut to it. Default: 5 min. */
  readonly maxRetryAfterMs?: number | undefined
  /** Decides whether a failed request is sent again, instead of the error's own classification. */
  readonly shouldRetry?:
    | ((failure: { readonly error: unknown; readonly attempt: number }) => boolean)
    | undefined
  readonly random?: (() => number) | undefined
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

/** Delays of 1, 2, 4, 8, 16, 30 and 30 s, each shortened by at most a quarter: at least 68 s in total. */
const defaults = { maxAttempts: 8, baseDelayMs: 1_000, maxDelayMs: 30_000, maxRetryAfterMs: 300_000 }
/** The random part of a delay, so that sessions that failed together do not retry together. */
const jitter = 0.25

/**
 * Sends a request again while that can help: the failure is retryable and the signal is not aborted. An interrupted
 * answer starts again from its beginning if the caller supports that; the event says so. Delays grow exponentially
 * with jitter, and are never shorter than what the provider requests. Every other failure is thrown at once.
 */
export async function withRetries<Result>(
  attempt: (number: number) => Promise<Result>,
  policy: RetryPolicy,
): Promise<Result> {
  const { signal, maxAttempts = defaults.maxAttempts, sleep = sleepUnlessAborted } = policy
  for (let number = 1; ; number++) {
    signal.throwIfAborted()
    try {
      return await attempt(number)
    } catch (error) {
      // An abort can cause many kinds of errors, so the signal's reason is thrown instead.
      signal.throwIfAborted()
      if (number >= maxAttempts || !mayRetry(error, number, policy)) throw error
      const { status, emitted, retryAfterMs }: Partial<ModelError> = error instanceof ModelError ? error : {}
      const delayMs = delayBefore(number, retryAfterMs, policy)
      policy.on({
        type: 'retry',
        attempt: number,
        delayMs,
        reason: messageOf(error),
        ...(status !== undefined && { status }),
        ...(emitted && { restart: true }),
      })
      await unlessAborted(sleep(delayMs, signal), signal)
    }
  }
}

/** Returns the policy of one call: its settings override those of its model. */
export function retryPolicy(call: ModelCall, own: RetryTiming = {}): RetryPolicy {
  const given = Object.entries({ ...call.retry, maxAttempts: call.maxAttempts ?? call.retry?.maxAttempts })
  return {
    ...own,
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    signal: call.signal,
    on: (event) => call.on(event),
    restarts: call.restarts,
  }
}

function mayRetry(error: unknown, attempt: number, { restarts = false, shouldRetry }: RetryPolicy): boolean {
  if (error instanceof ModelError && error.emitted && !restarts) return false
  // The host decides about errors of its own model, and gets the original error.
  if (shouldRetry !== undefined)
    return shouldRetry({ error: (error instanceof ModelError && error.cause) || error, attempt }) === true
  return error instanceof ModelError && error.retryable
}

function delayBefore(attempt: number, retryAfterMs: number | undefined, policy: RetryTiming): number {
  const { baseDelayMs = defaults.baseDelayMs, maxDelayMs = defaults.maxDelayMs } = policy
  const { maxRetryAfterMs = defaults.maxRetryAfterMs, random = Math.random } = policy
  const full = Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1))
  const jittered = Math.ceil(full * (1 - jitter * random()))
  return Math.max(jittered, Math.min(retryAfterMs ?? 0, maxRetryAfterMs))
}

/**
 * Resolves after the time, or rejects with the signal's reason. The timer keeps the process alive, because a run waits
 * for it.
 */
export function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
