import type { SessionOptions } from '../../session/options.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ScheduleClock } from './schedule-clock.js'
import type { FireReport, ServeListener } from './serve-events.js'

/** Options of the sessions and of serving. `sessionId` is ignored: each schedule has its own. */
export type ServeAgentDirOptions = SessionOptions & ServingOptions

/** Options of serving an agent directory. */
export type ServingOptions = {
  /** Called at the end of every fire: completed, failed, cancelled, or skipped. */
  readonly onResult?: (report: FireReport) => void | Promise<void>
  /** Called with every event. */
  readonly onEvent?: ServeListener
  /** The time zone of schedules that do not name one (default: UTC). */
  readonly timeZone?: string
  /** Applies changes of the directory, which is checked every five seconds or at the given interval. */
  readonly reload?: boolean | { readonly intervalMs?: number }
  /** How long `stop()` waits for running fires, in milliseconds (default: 30 seconds). */
  readonly drainTimeoutMs?: number
  /** The clock, for tests that control the time. */
  readonly clock?: ScheduleClock
}

/** Checks the options and splits them into those of serving and those of the sessions. */
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
  const intervalMs = typeof reload === 'object' ? reload.intervalMs : undefined
  const checks: readonly [
    name: string,
    value: unknown,
    isValid: (value: unknown) => boolean,
    expected: string,
  ][] = [
    ['onResult', onResult, isFunction, 'a function'],
    ['onEvent', onEvent, isFunction, 'a function'],
    ['timeZone', timeZone, (value) => typeof value === 'string', 'a string'],
    ['drainTimeoutMs', drainTimeoutMs, isDuration, 'a number of at least 0'],
    ['reload.intervalMs', intervalMs, (value) => isDuration(value) && value !== 0, 'a positive number'],
  ]
  for (const [name, value, isValid, expected] of checks)
    if (value !== undefined && !isValid(value)) throw new TypeError(`${name} must be ${expected}.`)
  const serving = omitUndefined({ onResult, onEvent, timeZone, reload, drainTimeoutMs, clock })
  return { serving, session, signal }
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isDuration(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && Number.isFinite(value)
}
