import { performance } from 'node:perf_hooks'
import { defaultAttemptTimeoutMs } from './answer-limits.js'
import type { ModelCall } from './model.js'
import { unlessAborted } from './unless-aborted.js'

/** Why an attempt was ended from within. `complete`: all was said, and the other side did not close. */
export type WatchEnd = 'stalled' | 'timeout' | 'complete'

/** Ends one attempt when the caller aborts it, when the model says nothing for too long, or when it takes too long altogether. */
export type AttemptWatch = {
  /** What the request runs under. */
  readonly signal: AbortSignal
  readonly ended: WatchEnd | undefined
  /** The model said something. */
  alive(): void
  /** Waits for the reader; meanwhile the silence is not the model's. Rejects when the attempt ends. */
  pause(until: Promise<void>): Promise<void>
  /** All was said: the other side has this long to close. */
  closing(ms: number): void
  /** Ends whatever is still open. */
  stop(): void
}

export const defaultIdleTimeoutMs = 300_000

export function watchAttempt(call: ModelCall): AttemptWatch {
  const { idleTimeoutMs = defaultIdleTimeoutMs, timeoutMs = defaultAttemptTimeoutMs } = call
  const controller = new AbortController()
  const startedAt = performance.now()
  let aliveAt = startedAt
  let closeAt = Number.POSITIVE_INFINITY
  let paused = false
  let ended: WatchEnd | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  const onAbort = (): void => controller.abort(call.signal.reason)
  const end = (how: WatchEnd): void => {
    ended = how
    controller.abort(new DOMException(how, 'TimeoutError'))
  }
  // One timer that looks when it is due: a stream of thousands of pieces must not set it anew for each.
  const look = (): void => {
    const now = performance.now()
    if (paused) aliveAt = now
    if (now >= closeAt) end('complete')
    else if (now >= startedAt + timeoutMs) end('timeout')
    else if (now >= aliveAt + idleTimeoutMs) end('stalled')
    else arm(Math.min(closeAt, startedAt + timeoutMs, aliveAt + idleTimeoutMs) - now)
  }
  const arm = (ms: number): void => {
    clearTimeout(timer)
    if (ms < Number.POSITIVE_INFINITY) timer = setTimeout(look, Math.min(Math.ceil(ms), maxTimerMs))
  }

  if (call.signal.aborted) onAbort()
  else call.signal.addEventListener('abort', onAbort, { once: true })
  arm(Math.min(timeoutMs, idleTimeoutMs))

  return {
    signal: controller.signal,
    get ended() {
      return ended
    },
    alive() {
      aliveAt = performance.now()
    },
    async pause(until) {
      paused = true
      try {
        await unlessAborted(until, controller.signal)
      } finally {
        paused = false
        aliveAt = performance.now()
      }
    },
    closing(ms) {
      const at = performance.now() + ms
      if (at >= closeAt) return
      closeAt = at
      arm(ms)
    },
    stop() {
      clearTimeout(timer)
      call.signal.removeEventListener('abort', onAbort)
    },
  }
}

const maxTimerMs = 2 ** 31 - 1
