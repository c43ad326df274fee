import type { Session } from '../../session/session.js'
import type { FireReport, ScheduleStatus, ServeListener } from './serve-events.js'

/** The life cycle of a served agent directory. */
export type ServeState = 'starting' | 'serving' | 'stopping' | 'stopped'

/** An agent directory that is being served. It runs until it is stopped, even if nothing references this object. */
export interface AgentDirHandle {
  readonly state: ServeState
  /** Whether every schedule has its session and fires when it is due. */
  isReady(): boolean
  isStopped(): boolean
  /** The served schedules. */
  schedules(): ScheduleStatus[]
  /** The open session of a schedule, to inspect it and to answer its questions. */
  session(schedule: string): Session | undefined
  /** Calls the listener with every event. Returns a function that removes the listener. */
  on(listener: ServeListener): () => void
  /** Fires a schedule now, after its running fires. Rejects if there is no schedule with that name. */
  runNow(schedule: string): Promise<FireReport>
  /**
   * Answers a webhook request, for every framework that accepts a fetch handler. The last part of the path is the name
   * of the schedule.
   */
  webhook(request: Request): Promise<Response>
  /**
   * Reads the directory again. Returns true if something has changed. Rejects if it has problems, and then changes
   * nothing.
   */
  reload(): Promise<boolean>
  /** Starts no further fire, waits up to `drainMs` for running fires, and closes the sessions. */
  stop(options?: { readonly drainMs?: number }): Promise<void>
}

/** Another name of {@link AgentDirHandle}. */
export type ServeHandle = AgentDirHandle
