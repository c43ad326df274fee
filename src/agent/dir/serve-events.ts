import type { AgentEvent } from '../../loop/events.js'
import type { AgentResult } from '../../session/agent-result.js'
import type { AgentDirProblem } from './errors.js'

/** Why a fire did not happen. */
export type SkipReason =
  /** The one before it was still at work. */
  | 'overlap'
  /** It was due while nobody served, or the machine was asleep. */
  | 'missed'
  /** Another node has it, or had it. */
  | 'elsewhere'
  /** Serving ended first. */
  | 'stopped'

/** What became of one fire. */
export type FireReport = {
  readonly schedule: string
  readonly sessionId: string
  /** When it was due, in milliseconds. */
  readonly firedAtMs: number
  /** It was asked for with `runNow`. */
  readonly manual: boolean
  readonly startedAtMs: number
  readonly endedAtMs: number
} & (
  | { readonly status: 'completed'; readonly runId: string; readonly result: AgentResult }
  | { readonly status: 'failed' | 'cancelled'; readonly runId?: string; readonly error: unknown }
  | { readonly status: 'skipped'; readonly reason: SkipReason }
)

/** What happens while an agent directory is served. */
export type ServeEvent =
  | { readonly type: 'serving'; readonly schedules: readonly string[] }
  | {
      readonly type: 'schedule_fired'
      readonly schedule: string
      readonly firedAtMs: number
      readonly runId: string
    }
  /** Everything that the run of a fire says. */
  | { readonly type: 'schedule_event'; readonly schedule: string; readonly event: AgentEvent }
  | { readonly type: 'schedule_ended'; readonly report: FireReport }
  | {
      readonly type: 'reloaded'
      readonly added: readonly string[]
      readonly changed: readonly string[]
      readonly removed: readonly string[]
    }
  /** It goes on with what was there before. */
  | {
      readonly type: 'reload_failed'
      readonly message: string
      readonly problems: readonly AgentDirProblem[]
    }
  | { readonly type: 'notice'; readonly message: string; readonly schedule?: string }
  | { readonly type: 'stopped' }

export type ServeListener = (event: ServeEvent) => void

/** A schedule that is served, as it stands. */
export type ScheduleStatus = {
  readonly name: string
  readonly sessionId: string
  readonly cron: string
  readonly timeZone: string
  readonly running: boolean
  readonly nextFireAtMs?: number
  readonly last?: FireReport
}
