import type { SessionOptions } from '../../session/options.js'
import type { ScheduleClock } from './schedule-clock.js'
import type { FireReport, ServeListener } from './serve-events.js'

/** Options of its sessions, and what holds for serving itself. A `sessionId` is passed over: each schedule has its own. */
export type ServeAgentDirOptions = SessionOptions & ServingOptions

export type ServingOptions = {
  /** Every fire when it has ended: completed, failed, cancelled, or skipped and why. */
  readonly onResult?: (report: FireReport) => void | Promise<void>
  readonly onEvent?: ServeListener
  /** Of schedules that name none; UTC when left out. */
  readonly timeZone?: string
  /** Looks for changes of the directory, every five seconds or as often as said, and goes on with them. */
  readonly reload?: boolean | { readonly intervalMs?: number }
  /** How long `stop()` lets fires that are at work go on; 30 seconds when left out. */
  readonly drainTimeoutMs?: number
  /** Time, for tests that move it by hand. */
  readonly clock?: ScheduleClock
}

/** What is for serving, and what is for the sessions. */
export function splitOptions(options: ServeAgentDirOptions): {
  readonly serving: ServingOptions
  readonly session: SessionOptions
  readonly signal: AbortSignal | undefined
} {
  const {
    onResult,
    onEvent,
    timeZone,
    reload,
    drainTimeoutMs,
    clock,
    signal,
    sessionId: _,
    ...session
  } = options
  check('onResult', onResult, (value) => typeof value === 'function', 'a function')
  check('onEvent', onEvent, (value) => typeof value === 'function', 'a function')
  check('timeZone', timeZone, (value) => typeof value === 'string', 'a text')
  check('drainTimeoutMs', drainTimeoutMs, isDuration, 'a number from 0 on')
  if (typeof reload === 'object')
    check(
      'reload.intervalMs',
      reload.intervalMs,
      (value) => isDuration(value) && value !== 0,
      'a positive number',
    )
  return {
    serving: {
      ...(onResult !== undefined && { onResult }),
      ...(onEvent !== undefined && { onEvent }),
      ...(timeZone !== undefined && { timeZone }),
      ...(reload !== undefined && { reload }),
      ...(drainTimeoutMs !== undefined && { drainTimeoutMs }),
      ...(clock !== undefined && { clock }),
    },
    session,
    signal,
  }
}

function check(name: string, value: unknown, isRight: (value: unknown) => boolean, expected: string): void {
  if (value !== undefined && !isRight(value)) throw new TypeError(`${name} must be ${expected}.`)
}

function isDuration(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}
