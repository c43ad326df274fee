import type { Session } from '../../session/session.js'
import type { FireReport, ScheduleStatus, ServeListener } from './serve-events.js'

export type ServeState = 'starting' | 'serving' | 'stopping' | 'stopped'

/** An agent directory that is being served. It runs until it is stopped, also when nothing refers to this object. */
export interface AgentDirHandle {
  readonly state: ServeState
  /** Every schedule has its session, and fires when it is due. */
  isReady(): boolean
  isStopped(): boolean
  /** The schedules that are served. */
  schedules(): ScheduleStatus[]
  /** The session of a schedule, while it is open: to look at, and to answer what it asks. */
  session(schedule: string): Session | undefined
  /** Tells everything that happens. Gives what ends that. */
  on(listener: ServeListener): () => void
  /** Fires a schedule now, behind what is at work. Rejects when there is none of that name. */
  runNow(schedule: string): Promise<FireReport>
  /** Reads the directory again. True when something had changed. Rejects when it is not in order, and goes on as before. */
  reload(): Promise<boolean>
  /** Begins no further fire, lets those at work end, and closes their sessions. `drainMs` says for how long they may. */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}

/** The same, by its name in other SDKs. */
export type ServeHandle = AgentDirHandle
