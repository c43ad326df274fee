import type { Rule } from '../authority/rule.js'
import type { AssistantContent, Message, UserContent } from '../tool/completion.js'
import type { JsonObject, JsonValue } from '../tool/json.js'
import type { StoredToolResult } from './stored-result.js'
import type { Todo } from './todo.js'
import type { VerificationReport } from './verification.js'

/** The version of these records. A log of a later version is rejected. */
export const schemaVersion = 1

/**
 * One line of a session's log. A row with an existing id replaces the earlier one (the latest counts), so a log is
 * only appended to.
 */
export type SessionRecord =
  | { readonly type: 'session'; readonly data: SessionRow }
  | { readonly type: 'message'; readonly data: MessageRow }
  | { readonly type: 'part'; readonly data: PartRow }
  | { readonly type: 'run'; readonly data: RunRow }
  | { readonly type: 'run_event'; readonly data: RunEventRow }
  | { readonly type: 'checkpoint'; readonly data: CheckpointRow }

/** The type of a record. */
export type SessionRecordType = SessionRecord['type']

/** The session itself. A later row replaces only the fields that it has. */
export type SessionRow = {
  readonly id: string
  readonly schemaVersion: number
  readonly createdAtMs?: number
  readonly updatedAtMs: number
  readonly agent?: string
  readonly workspaceRoot?: string
  readonly title?: string
  readonly model?: { readonly provider: string; readonly id: string }
  readonly parentId?: string
  readonly parentMessageId?: string
  /** For the session of a subagent: the parent's task, and whether users can inspect it separately. */
  readonly task?: { readonly id: string; readonly inspectable: boolean }
  readonly labels?: Readonly<Record<string, string>>
  /** Options that a resumed session reuses: policies, limits, prompt slots. Plain data; never a key. */
  readonly options?: JsonObject
  /** Rules that a user approved for this session. */
  readonly rules?: readonly Rule[]
  readonly todos?: readonly Todo[]
  readonly mode?: string | null
  /** Messages from this one on are hidden (rewound); null shows them again. */
  readonly hiddenFrom?: string | null
  /** Usage of models outside of runs, per model: `{ model, usage, costUsd? }`. */
  readonly spending?: readonly JsonObject[]
  /** The digest of the instructions, stored once as a blob. */
  readonly instructions?: string
  readonly closedAtMs?: number
}

/** One message. Its content is in the part rows after it. */
export type MessageRow = {
  readonly id: string
  readonly sessionId: string
  readonly runId?: string
  readonly role: Message['role'] | 'compaction'
  /** The provider's id of an answer. */
  readonly providerId?: string
  readonly createdAtMs: number
  readonly usage?: JsonObject
  /** US dollars; absent when the price is not known. */
  readonly costUsd?: number
  readonly model?: { readonly provider: string; readonly id: string }
  /** For a compaction: the first message of the retained tail, or null when there is none. */
  readonly tailStart?: string | null
  /** For a compaction: the messages of the tail whose large outputs are hidden from the model. */
  readonly pruned?: readonly string[]
  readonly metadata?: JsonObject
}

/** One part of a message, with its position. */
export type PartRow = {
  readonly id: string
  readonly messageId: string
  readonly sessionId: string
  readonly index: number
  readonly content:
    | UserContent
    | AssistantContent
    | StoredToolResult
    | ToolIntent
    | ToolQuestion
    | ToolQuestionRefused
    | ToolOutcome
    | ToolStep
    | FileChangeNote
    | VerificationNote
    | OfferedChecksNote
    | TaskNote
    | QueueTaskNote
    | DeadLetterNote
    | LaneHandlerNote
    | BlobPart
}

/** Written before a call runs: after a crash it shows that the call had started. */
export type ToolIntent = {
  readonly type: 'tool_intent'
  /** The model's id of the call. */
  readonly callId: string
  readonly toolName: string
  readonly args: string
  readonly idempotent: boolean
  readonly startedAtMs: number
}

/**
 * Written before a call waits for an approval: after a crash it shows the question. It is never an approval itself; a
 * call that has started, or has a result, no longer waits.
 */
export type ToolQuestion = {
  readonly type: 'tool_question'
  /** The model's id of the call; for an inner call, that id, a slash and more. */
  readonly callId: string
  readonly toolName: string
  /** The arguments as JSON text, as the user sees them. */
  readonly args: string
  readonly reasons: readonly string[]
  readonly notes: readonly string[]
  /** The digest of what is asked: tool, whole arguments, workspace, session, agent. */
  readonly key: string
  /** The digest of why it is asked: an approval that was given under other rules does not answer it. */
  readonly policy: string
  /**
   * The digest of the arguments as the model wrote them. If the log has other arguments, the question does not apply.
   */
  readonly written: string
  readonly runId?: string
  readonly askedAtMs: number
  readonly expiresAtMs?: number
}

/** Written when a question was answered with no, or not in time. */
export type ToolQuestionRefused = {
  readonly type: 'tool_question_refused'
  readonly callId: string
  readonly message: string
  readonly atMs: number
}

/**
 * Written when a session is suspended: the result of a call whose round has not ended. The results of a finished round
 * are in its message, and replace this.
 */
export type ToolOutcome = {
  readonly type: 'tool_outcome'
  readonly callId: string
  readonly envelope: JsonObject
}

/** Written while a resumable call runs: what it has done so far. Not needed once it has a result. */
export type ToolStep = {
  readonly type: 'tool_step'
  readonly callId: string
  /** The inner call that ended with this step. */
  readonly ends?: string
  /** In the tool's own form; null when it is stored as a blob. */
  readonly step: JsonValue
  /** The call did more than is recorded. */
  readonly over?: boolean
}

/**
 * Written before a tool changes a file: the state of the file before and after the change. The first note of a run
 * about a file has its original state. The change may have failed; only the file itself shows that.
 */
export type FileChangeNote = {
  readonly type: 'file_change'
  /** The run that changes it, `host` for direct calls, or the id of an undo. */
  readonly runId: string
  /** For an undo: the run whose changes it reverts. */
  readonly undoes?: string
  /** Relative to the workspace root, or absolute if it is elsewhere. */
  readonly path: string
  readonly before?: FileImage
  /** The written version; null: the file is removed. */
  readonly after: string | null
  readonly atMs: number
}

/** Written when a task is given to another agent and when it ends: without an end, it was interrupted. */
export type TaskNote = {
  readonly type: 'task'
  readonly taskId: string
  /** The id of the session that does it, in the same store. */
  readonly childSessionId: string
  readonly agent: string
  readonly description: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  readonly background: boolean
  readonly startedAtMs: number
  readonly updatedAtMs: number
  readonly finishedAtMs?: number
  /** The beginning of the output; all of it is in the other log. */
  readonly output?: string
  readonly outputCut?: boolean
  readonly success?: boolean
  readonly error?: string
  readonly structured?: JsonValue
  readonly counters: JsonObject
  readonly usage?: JsonObject
  /** The workflow step that this task was, until the workflow ends. */
  readonly workflow?: { readonly id: string; readonly step: string; readonly digest: string } | null
}

/**
 * Written when a call is offered to workers, before a worker can begin it, and before its result is accepted. Later
 * notes of a task have only the fields that changed.
 */
export type QueueTaskNote = {
  readonly type: 'queue_task'
  readonly taskId: string
  readonly state: 'offered' | 'begun' | 'completed' | 'ended'
  /** The model's id of the call; absent for calls of the host and of subagents, which no run resumes. */
  readonly callId?: string
  readonly lane?: string
  readonly toolName?: string
  /** As JSON text; absent when they are too long, or contain a secret. */
  readonly args?: string
  /** The digest of the arguments. */
  readonly argsDigest?: string
  readonly timeoutMs?: number
  readonly attempt?: number
  readonly idempotent?: boolean
  /** The lease of the worker that may have begun. */
  readonly leaseId?: string
  readonly worker?: string
  readonly completion?: JsonObject
}

/** Written when a call of a lane has failed permanently, and when its dead letter is removed. */
export type DeadLetterNote = {
  readonly type: 'dead_letter'
  readonly commandId: string
  readonly removed?: boolean
  readonly toolName?: string
  readonly lane?: string
  /** As JSON text; absent when they are too long, or contain a secret. */
  readonly args?: string
  readonly error?: string
  readonly attempts?: number
  readonly failedAtMs?: number
  readonly mayHaveRun?: boolean
}

/** Written when the host changes how the calls of a lane are executed. */
export type LaneHandlerNote = {
  readonly type: 'lane_handler'
  readonly lane: string
  readonly mode: string
  readonly timeoutMs?: number
}

/** A verification report. */
export type VerificationNote = { readonly type: 'verification'; readonly report: VerificationReport }

/** The checks that the workspace defined before the model's first work: the model may have written later ones. */
export type OfferedChecksNote = { readonly type: 'offered_checks'; readonly checks: readonly JsonObject[] }

/** The state of a file. */
export type FileImage =
  /** There was no file; these directories did not exist either, the innermost last. */
  | { readonly kind: 'none'; readonly madeDirectories?: readonly string[] }
  | {
      readonly kind: 'file'
      readonly version: string
      readonly bytes: number
      readonly mode: number
      /** The digest of the content, stored as a blob; absent: it was not recorded. */
      readonly digest?: string
    }
  | { readonly kind: 'unknown'; readonly why: string }

/** Content that is stored as a blob: the digest of its JSON. */
export type BlobPart = {
  readonly type: 'blob'
  readonly digest: string
  readonly bytes: number
  /** The same part with its long texts cut, for readers of the log itself and in case the blob is lost. */
  readonly stub: UserContent | AssistantContent | StoredToolResult | ToolStep
}

/** What started a run without a user. It is saved in the row of the run, and in `metadata.trigger` of its prompt. */
export type RunTrigger = {
  readonly source: 'schedule' | 'api' | 'webhook' | 'file' | 'wake_up'
  /** When it was due, in milliseconds since the epoch; it can have started later. */
  readonly fired_at: number
  readonly schedule_id: string
  /** The id of the webhook request, when several nodes can have received it. */
  readonly delivery?: string
}

/** One run of a session. A later row with the same id updates it. */
export type RunRow = {
  readonly id: string
  readonly sessionId: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  readonly prompt: string
  /**
   * The prompt with its attachments, if `prompt` is not all of it. Until its message is in the log, a queued run can be
   * resumed from this. Large parts are stored as blobs.
   */
  readonly content?: readonly (UserContent | BlobPart)[]
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly resultText?: string
  readonly error?: string
  /** The run that this one resumes. */
  readonly resumedFrom?: string
  /** What started it, if that was not a user: with the lease of the session, this claims a fire. */
  readonly trigger?: RunTrigger
  /** Its span, if it was traced: a run that resumes it links to it. */
  readonly traceparent?: string
  /** Its goal with its limits, which also apply to a run that resumes it. */
  readonly goal?: JsonObject
  /** The usage in its result: for a resumed run, including what it had used before. */
  readonly usage?: JsonObject
  readonly costUsd?: number
  /** Its own usage, per model: `{ model, usage, costUsd? }`. Absent until it has ended. */
  readonly spending?: readonly JsonObject[]
}

/**
 * An event of a run, with the sequence number that readers of the run saw. Streamed text is in the messages and is not
 * written again, so the numbers of its deltas are gaps here.
 */
export type RunEventRow = {
  readonly runId: string
  readonly sequence: number
  readonly timestampMs: number
  readonly event: JsonValue
  /** At the end of an answer: the sequence numbers of the last deltas of its text and its reasoning. */
  readonly texts?: { readonly text?: number; readonly reasoning?: number }
}

/** A position in the log from which a run can be resumed: after a finished round. It contains no copy of the state. */
export type CheckpointRow = {
  readonly runId: string
  readonly sessionId: string
  readonly round: number
  /** The last message before it. */
  readonly messageId: string
  readonly toolCallsCount: number
  readonly usage: JsonObject
  readonly costUsd?: number
  readonly atMs: number
}
