import type { Message } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import type { CallStep } from '../tool/session-services.js'
import type {
  CheckpointRow,
  DeadLetterNote,
  FileChangeNote,
  LaneHandlerNote,
  MessageRow,
  QueueTaskNote,
  RunEventRow,
  RunRow,
  SessionRow,
  TaskNote,
  ToolIntent,
  ToolQuestion,
} from './records.js'
import type { VerificationReport } from './verification.js'

/** One message of a session, from its records. */
export type StoredMessage = {
  readonly id: string
  readonly row: MessageRow
  /** For a compaction: its summary, as a user message in place of what it summarizes. */
  readonly message: Message
  /** For tool results: the envelope of each, if the log has it. */
  readonly envelopes?: readonly (Envelope | undefined)[]
  /** Rewound: still stored, but no longer part of the conversation. */
  readonly hidden: boolean
  /** In the view: its large outputs are omitted. */
  readonly pruned: boolean
}

/** A call that had started when the log ended, without a recorded end. */
export type OpenIntent = { readonly messageId: string; readonly intent: ToolIntent }

/** A call that waited for an approval, has not started and has no result. */
export type OpenQuestion = {
  readonly messageId: string
  readonly question: ToolQuestion
  /** The reason, if it was answered with no. */
  readonly refused?: string
}

/** The steps of a call without a result. */
export type OpenSteps = {
  readonly messageId: string
  readonly steps: readonly CallStep[]
  /** The steps are incomplete: there were too many, or a blob is lost. */
  readonly over: boolean
}

/** The lane queue of a session, from its log. */
export type QueueState = {
  /** Tasks of workers whose calls have no result, by id: all notes of a task merged. */
  readonly tasks: ReadonlyMap<string, OpenTask>
  /** The leases of the tasks that workers completed last, by task id. */
  readonly completed: ReadonlyMap<string, string>
  /** Dead letters by id, the oldest first. */
  readonly letters: ReadonlyMap<string, DeadLetterNote>
  /** The last handler that the host has set for each lane. */
  readonly handlers: ReadonlyMap<string, LaneHandlerNote>
  /** The highest number in the id of a task or a dead letter: ids are not reused. */
  readonly ids: number
}
export type OpenTask = { readonly messageId: string; readonly task: QueueTaskNote }

/** The state of a session, computed from its log. */
export type SessionState = {
  /** All its rows merged; later fields override earlier ones. */
  readonly session?: SessionRow | undefined
  /** In order, including hidden ones, without compactions. */
  readonly messages: readonly StoredMessage[]
  /** All messages in order, including hidden ones and compactions. */
  readonly order: readonly StoredMessage[]
  /** What the last rewind hid, as long as no message followed: it can be shown again. */
  readonly rewound: readonly string[]
  /** Compactions in order. */
  readonly compactions: readonly StoredMessage[]
  /** What a model sees: after a compaction its summary, the retained tail and later messages. */
  readonly view: readonly StoredMessage[]
  readonly runs: ReadonlyMap<string, RunRow>
  /** The events of each run, in the order of their sequence numbers. */
  readonly events: ReadonlyMap<string, readonly RunEventRow[]>
  /** The latest checkpoint of each run. */
  readonly checkpoints: ReadonlyMap<string, CheckpointRow>
  readonly openIntents: readonly OpenIntent[]
  readonly openQuestions: readonly OpenQuestion[]
  /** The results of calls that ended in an unfinished round, by call id. */
  readonly openOutcomes: ReadonlyMap<string, Envelope>
  /** The steps of calls without a result, by call id. */
  readonly openSteps: ReadonlyMap<string, OpenSteps>
  /** Changes of files, in order. */
  readonly changes: readonly FileChangeNote[]
  /** Tasks of other agents, each in its last recorded state. */
  readonly tasks: ReadonlyMap<string, TaskNote>
  /** The state of the lane queue. Absent when the session has had none, or there is nothing to restore. */
  readonly queue?: QueueState | undefined
  /** Verification reports, in the order in which they were recorded. */
  readonly reports: readonly VerificationReport[]
  /** The checks that the workspace defined before the model's first work, if they were recorded. */
  readonly offered?: readonly JsonObject[] | undefined
  /** Digests of blobs that could not be read; the messages show their stubs. */
  readonly missingBlobs: readonly string[]
  /** The number of records of unknown types. */
  readonly unknownRecords: number
}
