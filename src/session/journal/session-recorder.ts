import type { AskRequest } from '../../loop/ask.js'
import { type AgentEvent, isTerminal } from '../../loop/events.js'
import type { StartingCall } from '../../loop/gate-parts.js'
import type { RoundDone } from '../../loop/run-parts.js'
import { blobIfLarge } from '../../store/message-records.js'
import { contentProblem } from '../../store/record-problem.js'
import {
  type CheckpointRow,
  type FileChangeNote,
  type PartRow,
  type RunEventRow,
  type RunRow,
  type SessionRecord,
  type SessionRow,
  schemaVersion,
  type ToolQuestion,
} from '../../store/records.js'
import type { StoredMessage } from '../../store/session-state.js'
import type { Durability, SessionStore } from '../../store/session-store.js'
import type { UserContent, UserMessage } from '../../tool/completion.js'
import type { Envelope } from '../../tool/envelope.js'
import { isRecord, type JsonObject, type JsonValue } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { CallSteps } from '../../tool/session-services.js'
import { SessionClosedError } from '../errors.js'
import type { RunSnapshot } from '../runs.js'
import { redactValue } from '../security/index.js'
import { keepSteps } from './call-steps.js'
import { Journal, type JournalOptions } from './journal.js'
import { questionFrom, shownOf } from './questions.js'
import {
  createRecordedConversation,
  type RecordedConversation,
  type RecordedConversationOptions,
  type SavedOrder,
} from './recorded-conversation.js'
import { endsAnswer, withoutTexts } from './recorded-event.js'
import { load, loadNow, type RestoredSession } from './restore.js'
import { isWhole, shorten } from './shorten.js'

export type SessionRecorderOptions = {
  readonly store: SessionStore
  readonly sessionId: string
  readonly holder: string
  readonly durability?: Durability | undefined
  readonly redact?: ((text: string) => string) | undefined
  readonly isClean?: JournalOptions['isClean'] | undefined
  readonly hide?: RecordedConversationOptions['hide'] | undefined
  /** Returns the properties of the session for its first row. */
  row(): Omit<SessionRow, 'id' | 'schemaVersion' | 'updatedAtMs'>
  /** The session as it was read from the store. */
  readonly restored?: RestoredSession | undefined
  runId(): string | undefined
  onDamage(words: string): void
  now(): number
  newId(): string
}

/** Records what happens in a session, so that another process can resume it. */
export class SessionRecorder {
  readonly conversation: RecordedConversation
  readonly #options: SessionRecorderOptions
  readonly #journal: Journal
  #opened = false
  /** The ended calls of the last answer. */
  #round: { readonly messageId: string; readonly ended: Map<string, Envelope> } | undefined
  /** For each active run: the sequence numbers of the last pieces of text since the last complete answer. */
  #texts: Map<string, { text?: number; reasoning?: number }> | undefined
  /** The sequence numbers of run ends that are written with the row of the run, before they are emitted. */
  #ends: Map<string, number> | undefined

  constructor(options: SessionRecorderOptions) {
    this.#options = options
    const { store, sessionId, holder, durability, redact, isClean, restored, now } = options
    this.#journal = new Journal({
      store,
      sessionId,
      holder,
      now,
      known: { records: restored?.recordCount ?? 0, whole: restored?.damage === undefined },
      first: (damage) => this.#first(damage),
      ...omitUndefined({ durability, redact, isClean }),
    })
    this.conversation = createRecordedConversation(new ConversationOptions(this, this.#journal, options))
  }

  /** Creates a new session in the store, before its first message. */
  create(): void {
    this.#journal.create()
  }

  /**
   * Acquires the lease to write the session, before its first message. Rejects when another process has continued the
   * session.
   */
  async open(): Promise<void> {
    await this.#journal.open()
    this.#opened = true
  }

  /** Whether the session was opened for writing. */
  get isOpen(): boolean {
    return this.#opened
  }

  /** Whether this process has the lease of the session. */
  get isHeld(): boolean {
    return this.#journal.isHeld
  }

  /** Whether another process has written to the session since it was read here. */
  isStale(): Promise<boolean> {
    return this.#journal.isStale()
  }

  /** Reads the current state of the log; undefined when there is none. */
  async state(): Promise<RestoredSession | undefined> {
    const { store, sessionId, restored } = this.#options
    if (!this.#opened) return restored
    await this.#journal.flush()
    return load(store, sessionId)
  }

  /** Records changed properties of the session. */
  session(fields: Partial<Omit<SessionRow, 'id' | 'schemaVersion'>>): Promise<void> {
    return this.#journal.append([{ type: 'session', data: { ...this.#base(), ...fields } }])
  }

  /** Like `session`, with the next record, without waiting. */
  noteSession(fields: Partial<Omit<SessionRow, 'id' | 'schemaVersion'>>): void {
    this.#journal.note([{ type: 'session', data: { ...this.#base(), ...fields } }])
  }

  /**
   * Records that a run begins, or how it ended. Only an end has an event: `end` is the last event, which is emitted
   * afterwards. `prompt` is written if the row would not have all of it.
   */
  run(
    snapshot: RunSnapshot,
    more: Pick<RunRow, 'usage' | 'costUsd' | 'spending' | 'trigger' | 'traceparent' | 'goal'> = {},
    { end, prompt }: { readonly end?: AgentEvent; readonly prompt?: UserMessage | undefined } = {},
  ): Promise<void> {
    const { eventCount, usage: __, costUsd: ___, ...row } = snapshot
    const data = { ...shorten(row), ...more }
    const records: SessionRecord[] = [{ type: 'run', data }]
    if (end !== undefined) {
      const place = { runId: row.id, sequence: eventCount + 1, timestampMs: row.updatedAtMs }
      records.push({ type: 'run_event', data: this.#eventRow(place, withoutTexts(end)) })
      this.#ends ??= new Map()
      this.#ends.set(row.id, place.sequence)
    }
    if (!isOpen(row.status)) return this.#journal.append(records)
    const isShort = prompt === undefined || (prompt.content.length === 1 && isWhole(row.prompt))
    return this.#journal.put(isShort ? records : this.#withContent(data, prompt))
  }

  async #withContent(data: RunRow, { content }: UserMessage): Promise<SessionRecord[]> {
    const { redact } = this.#options
    const clean = redact === undefined ? content : redactValue(content, redact)
    const stored: NonNullable<RunRow['content']>[number][] = []
    for (const piece of clean)
      stored.push(await blobIfLarge(piece, (bytes) => this.#journal.writeBlob(bytes)))
    return [{ type: 'run', data: { ...data, content: stored } }]
  }

  /** Returns the prompt of a run from its row; undefined when a part of it is missing. */
  async promptOf({ prompt, content }: RunRow): Promise<UserMessage | undefined> {
    if (content === undefined)
      return isWhole(prompt) ? { role: 'user', content: [{ type: 'text', text: prompt }] } : undefined
    const pieces: UserContent[] = []
    for (const piece of content) {
      const read = piece.type === 'blob' ? await this.#readPiece(piece.digest) : piece
      if (read === undefined) return undefined
      pieces.push(read)
    }
    return { role: 'user', content: pieces }
  }

  async #readPiece(digest: string): Promise<UserContent | undefined> {
    const bytes = await this.readImage(digest)
    if (bytes === undefined) return undefined
    const piece: unknown = JSON.parse(new TextDecoder().decode(bytes))
    // Content with the right digest can still be invalid: imported lines can contain anything.
    return isUserContent(piece) ? piece : undefined
  }

  /**
   * Records an event with its sequence number. Streamed text is in the messages and is not written twice: only the
   * number of its last piece is written, with the end of the answer, so that a later process can put the whole text in
   * its position.
   */
  event(place: EventPlace, event: AgentEvent): void {
    const { runId, sequence } = place
    const isText = event.type === 'text_delta' || event.type === 'reasoning_delta'
    if (isText) {
      this.#texts ??= new Map()
      const before = this.#texts.get(runId)
      const texts = before ?? {}
      if (event.type === 'text_delta') texts.text = sequence
      else texts.reasoning = sequence
      if (before === undefined) this.#texts.set(runId, texts)
    } else if (event.type === 'turn_start' || event.type === 'answer_restarted') this.#texts?.delete(runId)
    const wanted = withoutTexts(event)
    if (wanted === undefined) return
    // The end of a run is written with its row. A run that never got the lease leaves nothing in the log.
    const written = isTerminal(event) && (this.#ends?.get(runId) === sequence || !this.isOpen)
    if (!written) this.#journal.note([{ type: 'run_event', data: this.#eventRow(place, wanted) }])
    if (isTerminal(event) || event.type === 'turn_end') this.#texts?.delete(runId)
    if (isTerminal(event)) this.#ends?.delete(runId)
  }

  #eventRow(place: EventPlace, event: unknown): RunEventRow {
    const { runId, sequence, timestampMs } = place
    const texts = isRecord(event) && endsAnswer(event['type']) ? this.#texts?.get(runId) : undefined
    // Events are plain data, and are serialized to JSON immediately.
    const row: RunEventRow = { runId, sequence, timestampMs, event: shorten(event) as JsonValue }
    return texts === undefined ? row : { ...row, texts: { ...texts } }
  }

  /** Records that a call begins: if it has no result later, a reader can see that it had begun. */
  async starting(call: StartingCall): Promise<void> {
    const { toolCallId, toolName, args, idempotent, inside } = call
    const message = this.conversation.kept.at(-1)
    this.#refuseWhenSealed()
    if (toolCallId === undefined || message === undefined) return Promise.resolve()
    // When an outer call is resumed, its idempotent inner calls are repeated: only their results are saved.
    if (inside && idempotent) return Promise.resolve()
    const startedAtMs = this.#options.now()
    const content = {
      type: 'tool_intent',
      callId: toolCallId,
      toolName,
      args: shorten(args),
      idempotent,
      startedAtMs,
    } as const
    const id = `${message.id}.${toolCallId}`
    const data = { id, messageId: message.id, sessionId: this.#options.sessionId, index: -1, content }
    // After a power failure, repeating an idempotent call whose start was not recorded does no harm.
    return idempotent
      ? this.#journal.put([{ type: 'part', data }])
      : this.#journal.append([{ type: 'part', data }])
  }

  /** Holds the result of a call until its round has ended. */
  ended(callId: string, envelope: Envelope): void {
    const messageId = this.conversation.kept.at(-1)?.id ?? ''
    if (this.#round?.messageId !== messageId) this.#round = { messageId, ended: new Map() }
    this.#round.ended.set(callId, envelope)
  }

  /** The results of the last answer's calls, until its round has ended. */
  get endedCalls(): ReadonlyMap<string, Envelope> {
    const round = this.#round
    return round !== undefined && round.messageId === this.conversation.kept.at(-1)?.id
      ? round.ended
      : new Map()
  }

  /** Records a question before a call waits for approval; undefined when no later process could ask it again. */
  asked(request: AskRequest, expiresAtMs: number | undefined): Promise<void> | undefined {
    const message = this.conversation.kept.at(-1)
    const question = questionFrom(request, message?.message, {
      askedAtMs: this.#options.now(),
      ...omitUndefined({ expiresAtMs }),
    })
    return question && this.#lateFeature(`${question.callId}.asked`, question)
  }

  /** Records a rejection. An approval is not written; the start of the call is. */
  refused(callId: string, text: string): void {
    const content = {
      type: 'tool_question_refused',
      callId,
      message: shorten(text),
      atMs: this.#options.now(),
    } as const
    // Written before the result, so a caller that waits for the result waits for this too.
    void this.#lateFeature(`${callId}.refused`, content)
  }

  /** Whether a question of an earlier process is the same as this one, in everything that the user sees. */
  isSame(kept: ToolQuestion, request: AskRequest): boolean {
    const { redact } = this.#options
    const now = redact === undefined ? shownOf(request) : redactValue(shownOf(request), redact)
    return Object.entries(now).every(
      ([name, value]) => JSON.stringify(value) === JSON.stringify(kept[name as keyof typeof now]),
    )
  }

  #lateFeature(id: string, content: PartRow['content']): Promise<void> {
    const messageId = this.conversation.kept.at(-1)?.id ?? ''
    const data = {
      id: `${messageId}.${id}`,
      messageId,
      sessionId: this.#options.sessionId,
      index: -1,
      content,
    }
    return this.#journal.append([{ type: 'part', data }])
  }

  /** Returns the recorded steps of a call, including those from an earlier process. */
  stepsOf(callId: string): CallSteps {
    const messageId = this.conversation.kept.at(-1)?.id ?? ''
    return keepSteps({
      callId,
      messageId,
      sessionId: this.#options.sessionId,
      journal: this.#journal,
      restored: this.#options.restored,
    })
  }

  /** Records a file change before a tool makes it. */
  async change(note: FileChangeNote): Promise<void> {
    this.#refuseWhenSealed()
    return this.note(note)
  }

  /** Records content that belongs to no message, after the last message. */
  note(content: PartRow['content']): Promise<void> {
    const { sessionId } = this.#options
    const messageId = this.conversation.kept.at(-1)?.id ?? ''
    return this.#journal.append([
      { type: 'part', data: { id: this.#options.newId(), messageId, sessionId, index: -1, content } },
    ])
  }

  /** Saves content next to the log unchanged, and returns its digest. */
  writeImage(bytes: Uint8Array): Promise<string> {
    return this.#journal.writeBlob(bytes)
  }

  readImage(digest: string): Promise<Uint8Array | undefined> {
    const { store, sessionId } = this.#options
    return store.readBlob(sessionId, digest)
  }

  /** Records a finished round. The next step is a request to the model, which can be repeated. */
  checkpoint(
    runId: string,
    { round, toolCallsCount, usage, costUsd }: RoundDone & { readonly costUsd?: number },
  ): Promise<void> {
    const message = this.conversation.kept.at(-1)
    if (message === undefined) return Promise.resolve()
    const data: CheckpointRow = {
      runId,
      sessionId: this.#options.sessionId,
      round,
      messageId: message.id,
      toolCallsCount,
      usage,
      ...omitUndefined({ costUsd }),
      atMs: this.#options.now(),
    }
    return this.#journal.put([{ type: 'checkpoint', data }])
  }

  /** Seals the log, with the results of calls whose round has not ended. Nothing is written from now on. */
  seal(): void {
    if (this.#opened && !this.#journal.isSealed)
      for (const [callId, envelope] of this.endedCalls) this.#noteOutcome(callId, envelope)
    this.#journal.seal()
  }

  #noteOutcome(callId: string, envelope: Envelope): void {
    const messageId = this.#round?.messageId ?? ''
    // A result is JSON: the same text is written with the message of its round.
    const content = { type: 'tool_outcome', callId, envelope: asJson(envelope) } as const
    const id = `${messageId}.${callId}.outcome`
    const { sessionId } = this.#options
    this.#journal.note([{ type: 'part', data: { id, messageId, sessionId, index: -1, content } }])
  }

  /** Drops what only an active run needs. Called when a run has completed. */
  rest(): void {
    this.#round = undefined
    this.#texts = undefined
    this.#ends = undefined
  }

  /** Notes the error that the caller of a run gets. A failed write that no caller gets is reported by `close`. */
  runFailed(error: unknown): void {
    this.#journal.runFailed(error)
  }

  flush(): Promise<void> {
    return this.#journal.flush()
  }

  close(): Promise<void> {
    return this.#journal.close()
  }

  #refuseWhenSealed(): void {
    if (this.#journal.isSealed) throw new SessionClosedError(this.#options.sessionId)
  }

  #base(): Pick<SessionRow, 'id' | 'schemaVersion' | 'updatedAtMs'> {
    return { id: this.#options.sessionId, schemaVersion, updatedAtMs: this.#options.now() }
  }

  /**
   * Returns the first records: the session's properties, and the runs that ended with their process, without a record
   * of it.
   */
  #first(damage: string | undefined): SessionRecord[] {
    const { restored, now } = this.#options
    if (damage !== undefined) this.#options.onDamage(damage)
    const createdAtMs = restored?.session?.createdAtMs ?? now()
    const session: SessionRecord = {
      type: 'session',
      data: { ...this.#base(), createdAtMs, ...this.#options.row() },
    }
    const lost = [...(restored?.runs.values() ?? [])]
      .filter(({ status }) => isOpen(status))
      .map(
        (row): SessionRecord => ({
          type: 'run',
          data: { ...row, status: 'interrupted', updatedAtMs: now() },
        }),
      )
    return [session, ...lost]
  }
}

/** The options of a recorded conversation. Copies nothing, because every waiting session has one. */
class ConversationOptions implements RecordedConversationOptions, SavedOrder {
  readonly #recorder: SessionRecorder
  readonly #options: SessionRecorderOptions
  readonly journal: Journal

  constructor(recorder: SessionRecorder, journal: Journal, options: SessionRecorderOptions) {
    this.#recorder = recorder
    this.#options = options
    this.journal = journal
  }

  get sessionId(): string {
    return this.#options.sessionId
  }

  get start(): RestoredSession | undefined {
    return this.#options.restored
  }

  get log(): SavedOrder {
    return this
  }

  get clean(): RecordedConversationOptions['clean'] {
    const { redact } = this.#options
    return redact && ((value) => redactValue(value, redact))
  }

  get hide(): RecordedConversationOptions['hide'] {
    return this.#options.hide
  }

  runId(): string | undefined {
    return this.#options.runId()
  }

  newId(): string {
    return this.#options.newId()
  }

  now(): number {
    return this.#options.now()
  }

  async read(): Promise<readonly StoredMessage[]> {
    return (await this.#recorder.state())?.order ?? []
  }

  readNow(): readonly StoredMessage[] | undefined {
    const { store, sessionId } = this.#options
    return loadNow(store, sessionId)?.order
  }
}

function asJson(envelope: Envelope): JsonObject {
  return JSON.parse(JSON.stringify(envelope))
}

function isOpen(status: RunSnapshot['status']): boolean {
  return status === 'running' || status === 'queued'
}

function isUserContent(piece: unknown): piece is UserContent {
  const isOfUser = isRecord(piece) && ['text', 'image', 'document'].includes(String(piece['type']))
  return isOfUser && contentProblem(piece) === undefined
}

type EventPlace = Pick<RunEventRow, 'runId' | 'sequence' | 'timestampMs'>
