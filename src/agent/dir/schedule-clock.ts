import { systemClock } from '../../loop/host-env.js'
import { pause } from '../../loop/on-abort.js'

/** Reads the time and sleeps. Tests replace it to control the time. */
export interface ScheduleClock {
  /** The time in milliseconds since the epoch. */
  now(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The maximum delay of a timer, about three weeks. A longer one would fire after one millisecond. */
const maxTimerMs = 2_147_483_647

export const systemScheduleClock: ScheduleClock = {
  now: () => systemClock.now(),
  sleep: (ms, signal) => pause(Math.min(ms, maxTimerMs), signal),
}
