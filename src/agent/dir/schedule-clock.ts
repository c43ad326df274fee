import { systemClock } from '../../loop/host-env.js'

/** What time it is, and waiting. A test that moves time by hand gives one of its own. */
export interface ScheduleClock {
  /** In milliseconds since the epoch. */
  now(): number
  /** Resolves after so long, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** What timers can hold, which is weeks; of more than that they make a single millisecond. */
const maxTimerMs = 2_147_483_647

export const systemScheduleClock: ScheduleClock = {
  now: () => systemClock.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const done = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, Math.min(ms, maxTimerMs))
      signal.addEventListener('abort', done, { once: true })
    }),
}
