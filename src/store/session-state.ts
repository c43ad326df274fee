import type { Message } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import type { CallStep } from '../tool/runtime.js'
import type { VerificationReport } from '../tool/verification.js'
import type {
  CheckpointRow,
  FileChangeNote,
  MessageRow,
  RunEventRow,
  RunRow,
  SessionRow,
  TaskNote,
  ToolIntent,
  ToolQuestion,
} from './records.js'

/** One message of a session as its records tell it. */
export type StoredMessage = {
  readonly id: string
  readonly row: MessageRow
  /** For a compaction: its summary, as the message of a user that stands for what it sums up. */
  readonly message: Message
  /** For results of tools: the envelope of each, where the log has it. */
  readonly envelopes?: readonly (Envelope | undefined)[]
  /** Rewound: still there, but no longer part of the conversation. */
  readonly hidden: boolean
  /** In the view: its large outputs are left out. */
  readonly pruned: boolean
}

/** A call that had begun when the log ends, or whose end nobody wrote down. */
export type OpenIntent = { readonly messageId: string; readonly intent: ToolIntent }

/** A call that was asked about and neither began nor has a result. */
export type OpenQuestion = {
  readonly messageId: string
  readonly question: ToolQuestion
  /** The no that it was answered with. */
  readonly refused?: string
}

/** What a call had done that has no result. */
export type OpenSteps = {
  readonly messageId: string
  readonly steps: readonly CallStep[]
  /** They are not all there: it did too much, or content beside the log is lost. */
  readonly over: boolean
}

/** A session as its log tells it. */
export type SessionState = {
  /** All its rows, the later fields over the earlier ones. */
  readonly session?: SessionRow
  /** In order, the hidden ones too; compactions are not among them. */
  readonly messages: readonly StoredMessage[]
  /** The same with the compactions among them. */
  readonly order: readonly StoredMessage[]
  /** What the last rewind hid, as long as nothing was said since: it can be shown again. */
  readonly rewound: readonly string[]
  /** Compactions in order. */
  readonly compactions: readonly StoredMessage[]
  /** What a model is shown: after a compaction its summary, the kept tail and what came later. */
  readonly view: readonly StoredMessage[]
  readonly runs: ReadonlyMap<string, RunRow>
  /** Of each run, in order of their sequence as written. */
  readonly events: ReadonlyMap<string, readonly RunEventRow[]>
  /** The latest of each run. */
  readonly checkpoints: ReadonlyMap<string, CheckpointRow>
  readonly openIntents: readonly OpenIntent[]
  readonly openQuestions: readonly OpenQuestion[]
  /** What calls without a result have done, by their ids. */
  readonly openSteps: ReadonlyMap<string, OpenSteps>
  /** What was done to files, in order. */
  readonly changes: readonly FileChangeNote[]
  /** Work that was handed to other agents, each as it was last written down. */
  readonly tasks: ReadonlyMap<string, TaskNote>
  /** What was verified, in order, as it was written down. */
  readonly reports: readonly VerificationReport[]
  /** The checks that the workspace offered before the model's first work, where they were written down. */
  readonly offered?: readonly JsonObject[]
  /** Digests of contents that could not be had; the messages show their stubs. */
  readonly missingBlobs: readonly string[]
  /** Records of types that are not known here. */
  readonly unknownRecords: number
}
