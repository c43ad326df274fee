import type { Rule } from '../authority/rule.js'
import type { AssistantContent, Message, ToolResultPart, UserContent } from '../tool/completion.js'
import type { JsonObject, JsonValue } from '../tool/json.js'
import type { Todo } from '../tool/runtime.js'

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
  readonly labels?: Readonly<Record<string, string>>
  /** Options that a resumed session takes over: policies, limits, prompt slots. Plain data; never a key. */
  readonly options?: JsonObject
  /** Rules that a person agreed to for this session. */
  readonly rules?: readonly Rule[]
  readonly todos?: readonly Todo[]
  readonly mode?: string | null
  /** Messages from this one on are hidden (rewound); null shows them again. */
  readonly hiddenFrom?: string | null
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
  readonly content: UserContent | AssistantContent | ToolResultPart | ToolIntent | FileChangeNote | BlobPart
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
  readonly stub: UserContent | AssistantContent | ToolResultPart
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
  readonly usage?: JsonObject
}

/** An event of a run; text that was streamed is in the messages and not kept again. Those that are kept are numbered from 1. */
export type RunEventRow = {
  readonly runId: string
  readonly sequence: number
  readonly timestampMs: number
  readonly event: JsonValue
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
  readonly atMs: number
}
