import type { AgentEvent } from '../../loop/events.js'
import type { AgentResult } from '../../session/agent-result.js'
import type { AgentDirProblem } from './errors.js'

/** Why a fire did not happen. */
export type SkipReason =
  /** The previous fire was still running. */
  | 'overlap'
  /** It was due while the directory was not served, or the machine was asleep. */
  | 'missed'
  /** Another node made it. */
  | 'elsewhere'
  /** Serving ended first. */
  | 'stopped'

/** The result of one fire. */
export type FireReport = {
  readonly schedule: string
  readonly sessionId: string
  /** When it was due, in milliseconds since the epoch. */
  readonly firedAtMs: number
  /** Whether it was started with `runNow`. */
  readonly manual: boolean
  /** The trigger that fired it, when that was not its cron pattern. */
  readonly source?: 'webhook' | 'file' | 'wake_up'
  readonly startedAtMs: number
  readonly endedAtMs: number
} & (
  | { readonly status: 'completed'; readonly runId: string; readonly result: AgentResult }
  | { readonly status: 'failed' | 'cancelled'; readonly runId?: string; readonly error: unknown }
  | { readonly status: 'skipped'; readonly reason: SkipReason }
)

/** Events of a served agent directory. */
export type ServeEvent =
  | { readonly type: 'serving'; readonly schedules: readonly string[] }
  | {
      readonly type: 'schedule_fired'
      readonly schedule: string
      readonly firedAtMs: number
      readonly runId: string
    }
  /** Every event of the run of a fire. */
  | { readonly type: 'schedule_event'; readonly schedule: string; readonly event: AgentEvent }
  | { readonly type: 'schedule_ended'; readonly report: FireReport }
  | {
      readonly type: 'reloaded'
      readonly added: readonly string[]
      readonly changed: readonly string[]
      readonly removed: readonly string[]
    }
  /** The directory is served as before. */
  | {
      readonly type: 'reload_failed'
      readonly message: string
      readonly problems: readonly AgentDirProblem[]
    }
  | { readonly type: 'notice'; readonly message: string; readonly schedule?: string }
  | { readonly type: 'stopped' }

/** Receives the events of a served agent directory. */
export type ServeListener = (event: ServeEvent) => void

/** The state of a served schedule. */
export type ScheduleStatus = {
  readonly name: string
  readonly sessionId: string
  /** Absent for a schedule with only other triggers. */
  readonly cron?: string
  /** The other triggers of the schedule. */
  readonly triggers: readonly ('webhook' | 'file' | 'wake_up')[]
  readonly timeZone: string
  readonly running: boolean
  readonly nextFireAtMs?: number
  readonly last?: FireReport
}
