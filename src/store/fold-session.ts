import type { AssistantContent, Message, ToolResultPart, UserContent } from '../tool/completion.js'
import { type Envelope, isEnvelope } from '../tool/envelope.js'
import { tryOr } from '../tool/errors.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { QueueFold } from './queue-fold.js'
import { contentProblem } from './record-problem.js'
import type {
  BlobPart,
  CheckpointRow,
  FileChangeNote,
  MessageRow,
  PartRow,
  RunEventRow,
  RunRow,
  SessionRecord,
  SessionRow,
  TaskNote,
  ToolStep,
} from './records.js'
import type { OpenIntent, OpenQuestion, SessionState, StoredMessage } from './session-state.js'
import { type StoredToolResult, takeEnvelope } from './stored-result.js'
import type { VerificationReport } from './verification.js'
import { viewOf } from './view-of.js'

/** The settings of {@link foldSession}. */
export type FoldOptions = {
  /**
   * Reads blobs by digest. Pass `SessionStore.readBlobSync`, or a function for blobs that were read before; see
   * `blobDigests`.
   */
  readonly readBlob?: (digest: string) => Uint8Array | undefined
}

/** Computes the state of a session from the records of its log alone; unknown types and fields are ignored. */
export function foldSession(records: readonly SessionRecord[], options: FoldOptions = {}): SessionState {
  const fold = new Fold(options)
  for (const record of records) fold.take(record)
  return fold.state()
}

/** Returns the digests of the blobs that the messages of a log need. */
export function blobDigests(records: readonly SessionRecord[]): string[] {
  const digests = new Set<string>()
  for (const record of records)
    if (record.type === 'part' && record.data.content.type === 'blob') digests.add(record.data.content.digest)
  return [...digests]
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }
type Folded = Mutable<StoredMessage>

class Fold {
  readonly #readBlob: (digest: string) => Uint8Array | undefined
  #session: SessionRow | undefined
  readonly #byId = new Map<string, Folded>()
  readonly #order: Folded[] = []
  #last: Folded | undefined
  /** Parts whose message, or an earlier part of the same message, has not been read yet. */
  #early: PartRow[] = []
  readonly #withBlobs = new Set<Folded>()
  #rewound: Folded[] = []
  /** The number of messages at the last rewind. */
  #rewoundAt = 0
  readonly #changes: FileChangeNote[] = []
  readonly #reports: VerificationReport[] = []
  #offered: readonly JsonObject[] | undefined
  readonly #tasks = new Map<string, TaskNote>()
  readonly #runs = new Map<string, RunRow>()
  readonly #events = new Map<string, RunEventRow[]>()
  readonly #checkpoints = new Map<string, CheckpointRow>()
  readonly #intents = new Map<string, OpenIntent>()
  readonly #questions = new Map<string, OpenQuestion>()
  readonly #outcomes = new Map<string, Envelope>()
  readonly #steps = new Map<string, { readonly messageId: string; readonly steps: (ToolStep | BlobPart)[] }>()
  #queue: QueueFold | undefined
  readonly #missingBlobs = new Set<string>()
  #unknownRecords = 0

  constructor({ readBlob = () => undefined }: FoldOptions) {
    this.#readBlob = readBlob
  }

  take(record: SessionRecord): void {
    if (record.type === 'part') this.#takePart(record.data)
    else if (record.type === 'message') this.#takeMessage(record.data)
    else if (record.type === 'run_event') this.#takeEvent(record.data)
    else if (record.type === 'checkpoint') this.#checkpoints.set(record.data.runId, record.data)
    else if (record.type === 'run') this.#takeRun(record.data)
    else if (record.type === 'session') this.#takeSession(record.data)
    else this.#unknownRecords++
  }

  state(): SessionState {
    this.#placeEarly()
    for (const { message } of this.#withBlobs) this.#fetchBlobs(message)
    const messages: StoredMessage[] = []
    const compactions: StoredMessage[] = []
    for (const message of this.#order) {
      takeEnvelopes(message)
      if (message.row.role === 'compaction') compactions.push(message)
      else messages.push(message)
    }
    return {
      session: this.#session,
      messages,
      compactions,
      order: this.#order,
      rewound: this.#rewoundAt === this.#order.length ? this.#rewound.map(({ id }) => id) : [],
      view: viewOf(this.#order),
      runs: this.#runs,
      events: this.#events,
      checkpoints: this.#checkpoints,
      openIntents: [...this.#intents.values()],
      openQuestions: [...this.#questions.values()],
      openOutcomes: this.#outcomes,
      openSteps: this.#openSteps(),
      changes: this.#changes,
      reports: this.#reports,
      offered: this.#offered,
      tasks: this.#tasks,
      queue: this.#queue,
      missingBlobs: [...this.#missingBlobs],
      unknownRecords: this.#unknownRecords,
    }
  }

  #takeSession(row: SessionRow): void {
    const before = this.#session?.hiddenFrom ?? null
    this.#session = { ...this.#session, ...row }
    const after = this.#session.hiddenFrom ?? null
    // A row that only repeats the current value must not hide later messages.
    if (after !== before) this.#rewind(after)
  }

  /** Hides the messages from this one on, or shows again what the last rewind hid. */
  #rewind(from: string | null): void {
    if (from === null) {
      for (const message of this.#rewound) message.hidden = false
      this.#rewound = []
      return
    }
    const start = this.#order.findIndex(({ id }) => id === from)
    if (start < 0) return
    const now = this.#order.slice(start).filter(({ hidden }) => !hidden)
    for (const message of now) message.hidden = true
    // Two rewinds without a message in between are reverted together.
    this.#rewound = this.#rewoundAt === this.#order.length ? [...now, ...this.#rewound] : now
    this.#rewoundAt = this.#order.length
  }

  #takeMessage(row: MessageRow): void {
    const known = this.#byId.get(row.id)
    const message = messageWith(row, known?.message)
    if (message === undefined) return
    if (known !== undefined) {
      known.row = row
      known.message = message
      return
    }
    const folded: Folded = { id: row.id, row, message, hidden: false, pruned: false }
    this.#byId.set(row.id, folded)
    this.#order.push(folded)
    this.#last = folded
  }

  #takePart(row: PartRow): void {
    const { content } = row
    if (content.type === 'tool_intent') {
      this.#intents.set(content.callId, { messageId: row.messageId, intent: content })
      this.#questions.delete(content.callId)
      return
    }
    if (content.type === 'tool_question') {
      this.#questions.set(content.callId, { messageId: row.messageId, question: content })
      return
    }
    if (content.type === 'tool_question_refused') {
      const asked = this.#questions.get(content.callId)
      if (asked !== undefined) this.#questions.set(content.callId, { ...asked, refused: content.message })
      return
    }
    if (content.type === 'tool_outcome') {
      if (!isEnvelope(content.envelope)) return
      this.#outcomes.set(content.callId, content.envelope)
      this.#intents.delete(content.callId)
      return
    }
    if (content.type === 'file_change') {
      this.#changes.push(content)
      return
    }
    if (content.type === 'verification') {
      this.#reports.push(content.report)
      return
    }
    if (content.type === 'offered_checks') {
      this.#offered ??= content.checks
      return
    }
    if (content.type === 'task') {
      this.#tasks.set(content.taskId, content)
      return
    }
    if (content.type === 'queue_task' || content.type === 'dead_letter' || content.type === 'lane_handler') {
      this.#queue ??= new QueueFold()
      this.#queue.take(row.messageId, content)
      return
    }
    if (content.type === 'tool_step') {
      this.#takeStep(row.messageId, content)
      return
    }
    if (content.type === 'blob' && content.stub.type === 'tool_step') {
      // Most calls have their result by the end of the log, and then their steps are not needed, so the blob is read
      // later.
      this.#takeStep(row.messageId, content.stub, content)
      return
    }
    if (content.type === 'tool_result') this.#closeCall(content)
    else if (content.type === 'blob' && content.stub.type === 'tool_result') this.#closeCall(content.stub)
    if (!this.#place(row)) this.#early.push(row)
  }

  /** Removes the open notes of a call that has its result, and of all calls made inside it. */
  #closeCall({ id, callId }: ToolResultPart): void {
    for (const open of [this.#intents, this.#questions, this.#outcomes, this.#steps])
      for (const known of open.keys()) if (closes(known, id, callId)) open.delete(known)
    this.#queue?.closeCalls((known) => closes(known, id, callId))
  }

  #takeStep(messageId: string, step: ToolStep, blob?: BlobPart): void {
    const { callId, ends } = step
    const known = this.#steps.get(callId)
    if (known?.messageId === messageId) known.steps.push(blob ?? step)
    else this.#steps.set(callId, { messageId, steps: [blob ?? step] })
    if (ends === undefined) return
    this.#intents.delete(`${callId}/${ends}`)
    this.#questions.delete(`${callId}/${ends}`)
  }

  #openSteps(): SessionState['openSteps'] {
    return new Map(
      [...this.#steps].map(([callId, { messageId, steps }]) => {
        const all = steps.map((step) => (step.type === 'blob' ? (this.#fetched(step) as ToolStep) : step))
        const over = all.some((step) => step.over || step.step === null)
        return [
          callId,
          {
            messageId,
            steps: all.map(({ ends, step }) => ({ step, ...omitUndefined({ ends }) })),
            over,
          },
        ]
      }),
    )
  }

  /** Puts a part at its index; returns false when its message, or an earlier part, does not exist yet. */
  #place({ messageId, index, content }: PartRow, anywhere = false): boolean {
    // Fast path: parts nearly always follow their message.
    const folded = this.#last?.id === messageId ? this.#last : this.#byId.get(messageId)
    if (folded === undefined) return false
    const { message } = folded
    if (message.role === 'system') message.content = content.type === 'text' ? content.text : ''
    else {
      const pieces: unknown[] = message.content
      if (index > pieces.length && !anywhere) return false
      if (pieces.length === 0) setPieces(message, [content])
      else if (pieces.length === 1 && index === 1) setPieces(message, [pieces[0], content])
      else pieces[Math.min(index, pieces.length)] = content
    }
    if (content.type === 'blob') this.#withBlobs.add(folded)
    return true
  }

  #placeEarly(): void {
    for (const row of this.#early.toSorted((a, b) => a.index - b.index)) this.#place(row, true)
    this.#early = []
  }

  /** Merges the rows of a run: the row of its end does not remove its trigger and origin. */
  #takeRun(row: RunRow): void {
    const known = this.#runs.get(row.id)
    this.#runs.set(row.id, known === undefined ? row : { ...known, ...row })
  }

  #takeEvent(row: RunEventRow): void {
    const events = this.#events.get(row.runId)
    if (events === undefined) this.#events.set(row.runId, [row])
    else events.push(row)
  }

  #fetchBlobs(message: Message): void {
    if (message.role === 'system') return
    const pieces: unknown[] = message.content
    for (const [at, piece] of pieces.entries()) if (isBlob(piece)) pieces[at] = this.#fetched(piece)
  }

  #fetched({ digest, stub }: BlobPart): unknown {
    const bytes = this.#readBlob(digest)
    const content = bytes && jsonIn(bytes)
    // Content with the right digest may still have the wrong type: imported lines can contain anything.
    if (isRecord(content) && content['type'] === stub.type && contentProblem(content) === undefined)
      return content
    this.#missingBlobs.add(digest)
    return stub
  }
}

/** Whether the result of a call closes this one: the same call, or a call made inside it. */
function closes(known: string, id: string, callId: string | undefined): boolean {
  return known === id || known === callId || known.startsWith(`${id}/`)
}

/** Moves the envelopes of results to the stored message. The message that a model reads has none. */
function takeEnvelopes(folded: Folded): void {
  if (folded.message.role !== 'tool') return
  const pieces: StoredToolResult[] = folded.message.content
  const found: (Envelope | undefined)[] = []
  for (const [at, stored] of pieces.entries()) {
    if (stored.envelope === undefined) continue
    const { piece, envelope } = takeEnvelope(stored)
    pieces[at] = piece
    found[at] = envelope
  }
  if (found.length > 0) folded.envelopes = found
}

/** Returns an empty message for a row, or the existing message with the newer row; undefined for an unknown role. */
function messageWith(row: MessageRow, known: Message | undefined): Message | undefined {
  const pieces: unknown[] = known === undefined || known.role === 'system' ? [] : known.content
  switch (row.role) {
    case 'user':
    case 'compaction':
      return { role: 'user', content: pieces as UserContent[] }
    case 'assistant':
      return row.providerId === undefined
        ? { role: 'assistant', content: pieces as AssistantContent[] }
        : { role: 'assistant', id: row.providerId, content: pieces as AssistantContent[] }
    case 'tool':
      return { role: 'tool', content: pieces as ToolResultPart[] }
    case 'system':
      return { role: 'system', content: known?.role === 'system' ? known.content : '' }
    default:
      return undefined
  }
}

/** Sets the array of parts. `push` would allocate space for seventeen, and most messages have one or two. */
function setPieces(message: { content: unknown }, pieces: unknown[]): void {
  message.content = pieces
}

function jsonIn(bytes: Uint8Array): unknown {
  return tryOr(() => JSON.parse(new TextDecoder().decode(bytes)), undefined)
}

function isBlob(piece: unknown): piece is BlobPart {
  return isRecord(piece) && piece['type'] === 'blob'
}
