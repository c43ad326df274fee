import { performance } from 'node:perf_hooks'
import { unlessAborted } from '../tool/unless-aborted.js'
import { defaultAttemptTimeoutMs } from './answer-limits.js'
import type { ModelCall } from './model.js'

/**
 * Why an attempt was ended by its watch. `complete`: the answer was complete, but the server left the connection open.
 */
export type WatchEnd = 'stalled' | 'timeout' | 'complete'

/**
 * Ends one attempt when the caller aborts it, when the model is silent for too long, or when it takes too long in
 * total.
 */
export type AttemptWatch = {
  /** The signal of the request. */
  readonly signal: AbortSignal
  readonly ended: WatchEnd | undefined
  /** Records that the model sent something. */
  alive(): void
  /** Waits for the reader. That time does not count as silence of the model. Rejects when the attempt ends. */
  pause(until: Promise<void>): Promise<void>
  /** Records that the answer is complete: the server has this time to close the connection. */
  closing(ms: number): void
  /** Ends the attempt and everything that is still open. */
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
  // One timer that checks when it fires, because resetting it for each of thousands of pieces would be slow.
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
