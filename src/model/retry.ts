import { messageOf } from '../tool/errors.js'
import { ModelError } from './errors.js'
import type { ModelCall, ModelEvent } from './model.js'
import { unlessAborted } from './unless-aborted.js'

export type RetryPolicy = {
  readonly signal: AbortSignal
  /** Called before each pause. */
  on(event: Extract<ModelEvent, { type: 'retry' }>): void
  /** Whether an answer that broke off may start again. */
  readonly restarts?: boolean | undefined
} & RetryTiming

/** How often and when a request is sent again. */
export type RetryTiming = {
  /** How often a request is sent at most, the first time included; 8 by default. */
  readonly maxAttempts?: number | undefined
  /** The pause before the first retry; doubled for each further one. 1 s by default. */
  readonly baseDelayMs?: number | undefined
  /** The longest of these pauses; 30 s by default. */
  readonly maxDelayMs?: number | undefined
  /** The longest pause that a provider can ask for; 5 min by default. It is asked again after this time if it wants more. */
  readonly maxRetryAfterMs?: number | undefined
  /** Decides in place of the error's own classification whether a failed request is sent again. */
  readonly shouldRetry?:
    | ((failure: { readonly error: unknown; readonly attempt: number }) => boolean)
    | undefined
  readonly random?: (() => number) | undefined
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined
}

/** Pauses of 1, 2, 4, 8, 16, 30 and 30 s, each shortened by at most a quarter: 68 s or more in total. */
const defaults = { maxAttempts: 8, baseDelayMs: 1_000, maxDelayMs: 30_000, maxRetryAfterMs: 300_000 }
/** The part of a pause that is random, so that sessions that failed together do not return together. */
const jitter = 0.25

/**
 * Sends a request again while that can help: the failure is marked as retryable and the signal is not aborted. An answer that broke
 * off starts again from its beginning where the caller can take that; the event says so. Pauses grow exponentially with jitter, and
 * are never shorter than what the provider asks for. Every other failure is thrown at once.
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
      // An abort breaks the request in many ways; its reason is the cause.
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

/** The policy for one call: what the call says goes before what its model was made with. */
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
  // The host judges what its own model threw.
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

/** Resolves after the time, or rejects with the signal's reason. The timer keeps the process alive: a run waits for it. */
function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
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
