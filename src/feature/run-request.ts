import type { RunTotals } from '../loop/run-parts.js'
import type { RunTrigger } from '../store/records.js'
import type { Message, UserMessage } from '../tool/completion.js'
import type { JsonObject } from '../tool/json.js'
import type { Goal } from './goal.js'

/** The request that starts a run. */
export type RunRequest = {
  readonly text: string
  /** The id of the run. Default: a new id. */
  readonly runId?: string | undefined
  /** Absent: the run continues the conversation as it is. */
  readonly message?: UserMessage | undefined
  /** The run that this one resumes, and what that run had used. */
  readonly from?:
    | {
        readonly runId: string
        readonly totals: RunTotals
        /** The span of that run, if it was traced. */
        readonly traceparent?: string | undefined
        /** The time in milliseconds that it was active, including the runs that it resumed. */
        readonly elapsedMs: number
        /** The goal from its row in the log. */
        readonly goal?: JsonObject | undefined
        /** The ids of all runs that form one piece of work with it. */
        readonly family: ReadonlySet<string>
      }
    | undefined
  /** The answer of that run, if it was not checked yet. */
  readonly unseen?: string | undefined
  readonly history?: readonly Message[] | undefined
  readonly signal?: AbortSignal | undefined
  readonly metadata?: JsonObject | undefined
  /**
   * Whether the prompt is used as it is even when it looks like a command: it was not written by the session's user.
   */
  readonly verbatim?: boolean | undefined
  /** The goal of the run. */
  readonly goal?: Goal | undefined
  /** What started the run, if it was not a person. */
  readonly trigger?: RunTrigger | undefined
}
