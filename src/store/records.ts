import type { Rule } from '../authority/rule.js'
import type { AssistantContent, Message, UserContent } from '../tool/completion.js'
import type { JsonObject, JsonValue } from '../tool/json.js'
import type { Todo } from '../tool/runtime.js'
import type { VerificationReport } from '../tool/verification.js'
import type { StoredToolResult } from './stored-result.js'

/** The version of these shapes. A log of a later one is refused by name. */
export const schemaVersion = 1

/**
 * One line of a session's log. Rows with an id that is there already replace what they say about it (the latest counts), so a log is
 * only ever appended to.
 */
export type SessionRecord =
  | { readonly type: 'session'; readonly data: SessionRow }
  | { readonly type: 'message'; readonly data: MessageRow }
  | { readonly type: 'part'; readonly data: PartRow }
  | { readonly type: 'run'; readonly data: RunRow }
  | { readonly type: 'run_event'; readonly data: RunEventRow }
  | { readonly type: 'checkpoint'; readonly data: CheckpointRow }

export type SessionRecordType = SessionRecord['type']

/** The session itself. What is written later replaces only the fields it has. */
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
  /** For the session of a subagent: the task of its parent that it does, and whether people look at it by itself. */
  readonly task?: { readonly id: string; readonly inspectable: boolean }
  readonly labels?: Readonly<Record<string, string>>
  /** Options that a resumed session takes over: policies, limits, prompt slots. Plain data; never a key. */
  readonly options?: JsonObject
  /** Rules that a person agreed to for this session. */
  readonly rules?: readonly Rule[]
  readonly todos?: readonly Todo[]
  readonly mode?: string | null
  /** Messages from this one on are hidden (rewound); null shows them again. */
  readonly hiddenFrom?: string | null
  /** What was asked of models outside of runs, for each model: `{ model, usage, costUsd? }`. */
  readonly spending?: readonly JsonObject[]
  /** The digest of the instructions, kept once as a blob. */
  readonly instructions?: string
  readonly closedAtMs?: number
}

/** One message. Its content stands in the parts behind it. */
export type MessageRow = {
  readonly id: string
  readonly sessionId: string
  readonly runId?: string
  readonly role: Message['role'] | 'compaction'
  /** The provider's id, for an answer. */
  readonly providerId?: string
  readonly createdAtMs: number
  readonly usage?: JsonObject
  /** US dollars; absent when the price is not known. */
  readonly costUsd?: number
  readonly model?: { readonly provider: string; readonly id: string }
  /** For a compaction: the message of the kept tail's beginning, or null when there is none. */
  readonly tailStart?: string | null
  /** For a compaction: the messages of the tail whose large outputs are left out of the model's view. */
  readonly pruned?: readonly string[]
  readonly metadata?: JsonObject
}

/** One piece of a message, in its order. */
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
    | ToolStep
    | FileChangeNote
    | VerificationNote
    | OfferedChecksNote
    | TaskNote
    | BlobPart
}

/** Written before a call runs: after a crash it tells whether the call had begun. */
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
 * Written before a call waits for a yes: after a crash it tells what was asked. It is never a yes itself; a call that was begun, or has
 * a result, waits no more.
 */
export type ToolQuestion = {
  readonly type: 'tool_question'
  /** The model's id of the call; for one made inside it, that id, a slash and more. */
  readonly callId: string
  readonly toolName: string
  /** As JSON text, as a person is shown them. */
  readonly args: string
  readonly reasons: readonly string[]
  readonly notes: readonly string[]
  /** The digest of what is asked about: tool, whole arguments, workspace, session, agent. */
  readonly key: string
  /** The digest of why it is asked: a yes under other rules is no answer. */
  readonly policy: string
  /** The digest of the arguments as the model wrote them: a log that has others is not what was asked about. */
  readonly written: string
  readonly runId?: string
  readonly askedAtMs: number
  readonly expiresAtMs?: number
}

/** Written when the answer was a no, or none came in time. */
export type ToolQuestionRefused = {
  readonly type: 'tool_question_refused'
  readonly callId: string
  readonly message: string
  readonly atMs: number
}

/** Written while a call runs that can be gone on with: what it has done so far. Of no more use once it has a result. */
export type ToolStep = {
  readonly type: 'tool_step'
  readonly callId: string
  /** The call inside it that has ended with this. */
  readonly ends?: string
  /** In the words of the tool; null where it stands beside the log. */
  readonly step: JsonValue
  /** It did more than is kept. */
  readonly over?: boolean
}

/**
 * Written before a tool changes a file: what the file was, and what it is going to be. The first note of a run about a file has what
 * it was. A note may speak of a change that failed; the file itself tells.
 */
export type FileChangeNote = {
  readonly type: 'file_change'
  /** The run that changes it, `host` for direct calls, or the id of an undo. */
  readonly runId: string
  /** For an undo: the run whose changes it takes back. */
  readonly undoes?: string
  /** From the workspace root, or absolute where it lies elsewhere. */
  readonly path: string
  readonly before?: FileImage
  /** The version that is written; null: the file is removed. */
  readonly after: string | null
  readonly atMs: number
}

/** Written when work is handed to another agent, and when that has ended: a task that never ended was cut off with its process. */
export type TaskNote = {
  readonly type: 'task'
  readonly taskId: string
  /** The log of the session that does it, in the same store. */
  readonly childSessionId: string
  readonly agent: string
  readonly description: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  readonly background: boolean
  readonly startedAtMs: number
  readonly updatedAtMs: number
  readonly finishedAtMs?: number
  /** The beginning of it; the whole stands in the other log. */
  readonly output?: string
  readonly outputCut?: boolean
  readonly success?: boolean
  readonly error?: string
  readonly structured?: JsonValue
  readonly counters: JsonObject
  readonly usage?: JsonObject
  /** The step of a workflow that it was, until the workflow has ended. */
  readonly workflow?: { readonly id: string; readonly step: string; readonly digest: string } | null
}

/** Something was verified. */
export type VerificationNote = { readonly type: 'verification'; readonly report: VerificationReport }

/** Which checks the workspace offered before the model's first work: what came later may be its own. */
export type OfferedChecksNote = { readonly type: 'offered_checks'; readonly checks: readonly JsonObject[] }

/** A file as it was. */
export type FileImage =
  /** There was none; these directories were not there either, the innermost last. */
  | { readonly kind: 'none'; readonly madeDirectories?: readonly string[] }
  | {
      readonly kind: 'file'
      readonly version: string
      readonly bytes: number
      readonly mode: number
      /** Of the content beside the log; absent: it was not written down. */
      readonly digest?: string
    }
  | { readonly kind: 'unknown'; readonly why: string }

/** Content that lies beside the log: what it would be as JSON, by digest. */
export type BlobPart = {
  readonly type: 'blob'
  readonly digest: string
  readonly bytes: number
  /** The same piece with its long texts cut: for those who read the log itself, and in case the blob is lost. */
  readonly stub: UserContent | AssistantContent | StoredToolResult | ToolStep
}

/** What began a run that no person did. It stands in its row, and in `metadata.trigger` of its prompt. */
export type RunTrigger = {
  readonly source: 'schedule' | 'api'
  /** In milliseconds: when it was due, whenever it began. */
  readonly fired_at: number
  readonly schedule_id: string
}

export type RunRow = {
  readonly id: string
  readonly sessionId: string
  readonly status: 'queued' | 'running' | 'completed' | 'failed' | 'cancelled' | 'interrupted'
  readonly prompt: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly resultText?: string
  readonly error?: string
  /** The run that this one goes on from. */
  readonly resumedFrom?: string
  /** What began it, when that was no person: with the lease of the session, this is the claim of a fire. */
  readonly trigger?: RunTrigger
  /** What its result says: for a run that was resumed, with what it had used before. */
  readonly usage?: JsonObject
  readonly costUsd?: number
  /** What it spent itself, for each model: `{ model, usage, costUsd? }`. Absent until it has ended. */
  readonly spending?: readonly JsonObject[]
}

/**
 * An event of a run, under the sequence number that readers of the run saw. Streamed text is in the messages and is not written again, so
 * the numbers of its pieces are gaps here.
 */
export type RunEventRow = {
  readonly runId: string
  readonly sequence: number
  readonly timestampMs: number
  readonly event: JsonValue
  /** At the end of an answer: the numbers of the last pieces of its text and its reasoning. */
  readonly texts?: { readonly text?: number; readonly reasoning?: number }
}

/** A place in the log from which a run can go on: after a finished round, never inside one. It copies nothing. */
export type CheckpointRow = {
  readonly runId: string
  readonly sessionId: string
  readonly round: number
  /** The last message that belongs to it. */
  readonly messageId: string
  readonly toolCallsCount: number
  readonly usage: JsonObject
  readonly costUsd?: number
  readonly atMs: number
}
