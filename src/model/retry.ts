import { ModelError } from './errors.js'
import type { ModelEvent } from './model.js'

export type RetryPolicy = {
  readonly signal: AbortSignal
  /** Told before each wait. */
  on(event: Extract<ModelEvent, { type: 'retry' }>): void
  /** How often the request is sent at most; 4 unless told. */
  readonly maxAttempts?: number | undefined
} & RetryTiming

/** What tests and replays set. */
export type RetryTiming = {
  readonly baseDelayMs?: number
  readonly maxDelayMs?: number
  /** A provider that asks for more than this is asked again after this. */
  readonly maxRetryAfterMs?: number
  readonly random?: () => number
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Sends a request again while that can help: the failure is marked as retryable, the model had said nothing, and the signal is
 * not aborted. Waits a random part of a doubling time (full jitter), or as long as the provider asked. What fails otherwise
 * fails at once.
 */
export async function withRetries<Result>(
  attempt: (number: number) => Promise<Result>,
  policy: RetryPolicy,
): Promise<Result> {
  const { signal, maxAttempts = 4, sleep = sleepUnlessAborted } = policy
  for (let number = 1; ; number++) {
    signal.throwIfAborted()
    try {
      return await attempt(number)
    } catch (error) {
      // An abort breaks whatever is under way in many ways; its reason is the true one.
      signal.throwIfAborted()
      if (number >= maxAttempts || !mayRetry(error)) throw error
      const delayMs = delayBefore(number, error, policy)
      const { message: reason, status } = error
      policy.on({ type: 'retry', attempt: number, delayMs, reason, ...(status !== undefined && { status }) })
      await sleep(delayMs, signal)
    }
  }
}

function mayRetry(error: unknown): error is ModelError {
  return error instanceof ModelError && error.retryable && !error.emitted
}

function delayBefore(attempt: number, error: ModelError, policy: RetryTiming): number {
  const { baseDelayMs = 500, maxDelayMs = 20_000, maxRetryAfterMs = 60_000, random = Math.random } = policy
  const jittered = Math.round(random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempt - 1)))
  return Math.max(jittered, Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs))
}

/** Resolves after the time, or rejects with the signal's reason. The timer keeps the process alive: a run is waiting for it. */
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
