import type { RunTotals } from '../loop/run-parts.js'
import type { RunTrigger } from '../store/records.js'
import type { Message, UserMessage } from '../tool/completion.js'
import type { JsonObject } from '../tool/json.js'
import type { Goal } from './goal.js'

/** What a run works on. */
export type RunRequest = {
  readonly text: string
  /** The id of the run; a new one unless given. */
  readonly runId?: string | undefined
  /** Absent: the run continues the conversation as it is. */
  readonly message?: UserMessage | undefined
  /** The run that this one resumes, and what that one had used. */
  readonly from?:
    | {
        readonly runId: string
        readonly totals: RunTotals
        /** Its span, if it was traced. */
        readonly traceparent?: string | undefined
        /** The milliseconds that it was active, with the runs that it resumed. */
        readonly elapsedMs: number
        /** The goal that its row in the log has. */
        readonly goal?: JsonObject | undefined
        /** All runs that are one piece of work with it. */
        readonly family: ReadonlySet<string>
      }
    | undefined
  /** The answer of that run which was not checked yet. */
  readonly unseen?: string | undefined
  readonly history?: readonly Message[] | undefined
  readonly signal?: AbortSignal | undefined
  readonly metadata?: JsonObject | undefined
  /** The prompt is taken as it is, also when it looks like a command: the user of the session did not write it. */
  readonly verbatim?: boolean | undefined
  /** What the run works towards. */
  readonly goal?: Goal | undefined
  /** What started the run, when it was not a person. */
  readonly trigger?: RunTrigger | undefined
}
