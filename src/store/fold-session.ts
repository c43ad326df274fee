import type { AssistantContent, Message, ToolResultPart, UserContent } from '../tool/completion.js'
import type { PieceOfMessage } from './message-records.js'
import type {
  BlobPart,
  CheckpointRow,
  MessageRow,
  PartRow,
  RunEventRow,
  RunRow,
  SessionRecord,
  SessionRow,
} from './records.js'
import type { OpenIntent, SessionState, StoredMessage, ViewedMessage } from './session-state.js'

export type FoldOptions = {
  /** Contents that lie beside the log, by digest (`SessionStore.readBlobSync`, or read before: see `blobDigests`). */
  readonly readBlob?: (digest: string) => Uint8Array | undefined
}

/** What a session is, from the records of its log. Nothing but the records decides; unknown types and fields do no harm. */
export function foldSession(records: readonly SessionRecord[], options: FoldOptions = {}): SessionState {
  const fold = new Fold(options)
  for (const record of records) fold.take(record)
  return fold.state()
}

/** The contents beside the log that its messages need. */
export function blobDigests(records: readonly SessionRecord[]): string[] {
  const digests = new Set<string>()
  for (const record of records)
    if (record.type === 'part' && record.data.content.type === 'blob') digests.add(record.data.content.digest)
  return [...digests]
}

type Kept = { row: MessageRow | undefined; parts: PartRow[]; hidden: boolean }

class Fold {
  readonly #readBlob: (digest: string) => Uint8Array | undefined
  #session: SessionRow | undefined
  readonly #byId = new Map<string, Kept>()
  /** Those with a row, in the order of their first rows. */
  readonly #order: Kept[] = []
  #rewound: Kept[] = []
  readonly #runs = new Map<string, RunRow>()
  readonly #events = new Map<string, RunEventRow[]>()
  readonly #checkpoints = new Map<string, CheckpointRow>()
  readonly #intents = new Map<string, OpenIntent>()
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
    else if (record.type === 'run') this.#runs.set(record.data.id, record.data)
    else if (record.type === 'session') this.#takeSession(record.data)
    else this.#unknownRecords++
  }

  state(): SessionState {
    const stored = this.#order.flatMap((kept) => this.#stored(kept))
    return {
      ...(this.#session !== undefined && { session: this.#session }),
      messages: stored.filter(({ row }) => row.role !== 'compaction'),
      compactions: stored.filter(({ row }) => row.role === 'compaction'),
      view: viewOf(stored),
      runs: this.#runs,
      events: this.#events,
      checkpoints: this.#checkpoints,
      openIntents: [...this.#intents.values()],
      missingBlobs: [...this.#missingBlobs],
      unknownRecords: this.#unknownRecords,
    }
  }

  #takeSession(row: SessionRow): void {
    const before = this.#session?.hiddenFrom ?? null
    this.#session = { ...this.#session, ...row }
    const after = this.#session.hiddenFrom ?? null
    // A row that only repeats it hides nothing of what was said since.
    if (after !== before) this.#rewind(after)
  }

  /** Hides what stands in the log by now from this message on, or shows again what the last rewind hid. */
  #rewind(from: string | null): void {
    if (from === null) {
      for (const kept of this.#rewound) kept.hidden = false
      this.#rewound = []
      return
    }
    const start = this.#order.findIndex(({ row }) => row?.id === from)
    if (start < 0) return
    this.#rewound = this.#order.slice(start).filter(({ hidden }) => !hidden)
    for (const kept of this.#rewound) kept.hidden = true
  }

  #takeMessage(row: MessageRow): void {
    const kept = this.#kept(row.id)
    if (kept.row === undefined) this.#order.push(kept)
    kept.row = row
  }

  #takePart(row: PartRow): void {
    const { content } = row
    if (content.type === 'tool_intent') {
      this.#intents.set(content.callId, { messageId: row.messageId, intent: content })
      return
    }
    const piece = content.type === 'blob' ? content.stub : content
    if (piece?.type === 'tool_result') this.#closeIntent(piece)
    const { parts } = this.#kept(row.messageId)
    const last = parts[parts.length - 1]
    if (last === undefined || last.index < row.index) parts.push(row)
    else replacePart(parts, row)
  }

  #closeIntent({ id, callId }: ToolResultPart): void {
    if (this.#intents.size === 0) return
    this.#intents.delete(id)
    if (callId !== undefined) this.#intents.delete(callId)
  }

  #takeEvent(row: RunEventRow): void {
    const events = this.#events.get(row.runId)
    if (events === undefined) this.#events.set(row.runId, [row])
    else events.push(row)
  }

  #kept(id: string): Kept {
    const found = this.#byId.get(id)
    if (found !== undefined) return found
    const kept: Kept = { row: undefined, parts: [], hidden: false }
    this.#byId.set(id, kept)
    return kept
  }

  #stored({ row, parts, hidden }: Kept): StoredMessage[] {
    if (row === undefined) return []
    const message = assembled(
      row,
      parts.map(({ content }) => this.#piece(content)),
    )
    return message === undefined ? [] : [{ id: row.id, row, message, hidden }]
  }

  #piece(content: PartRow['content']): unknown {
    return content.type === 'blob' ? this.#pieceBeside(content) : content
  }

  #pieceBeside({ digest, stub }: BlobPart): unknown {
    const bytes = this.#readBlob(digest)
    if (bytes !== undefined) return JSON.parse(new TextDecoder().decode(bytes))
    this.#missingBlobs.add(digest)
    return stub
  }
}

/** A piece again, or one that came out of order: there are few of either. */
function replacePart(parts: PartRow[], row: PartRow): void {
  const same = parts.findIndex(({ id, index }) => id === row.id || index === row.index)
  if (same >= 0) parts.splice(same, 1)
  const after = parts.findIndex(({ index }) => index > row.index)
  parts.splice(after < 0 ? parts.length : after, 0, row)
}

/** A row and its pieces as a message; undefined for a role that is not known. Rows are only ever written from messages. */
function assembled(row: MessageRow, pieces: readonly unknown[]): Message | undefined {
  switch (row.role) {
    case 'user':
    case 'compaction':
      return { role: 'user', content: pieces as UserContent[] }
    case 'assistant': {
      const content = pieces as AssistantContent[]
      return { role: 'assistant', ...(row.providerId !== undefined && { id: row.providerId }), content }
    }
    case 'tool':
      return { role: 'tool', content: pieces as ToolResultPart[] }
    case 'system':
      return { role: 'system', content: (pieces as PieceOfMessage[]).map(textOf).join('') }
    default:
      return undefined
  }
}

function textOf(piece: PieceOfMessage): string {
  return piece.type === 'text' ? piece.text : ''
}

/** Goes through the conversation as it went: messages are added at the end, and a compaction cuts what is in view to its tail. */
function viewOf(stored: readonly StoredMessage[]): ViewedMessage[] {
  let view: ViewedMessage[] = []
  for (const message of stored) {
    if (message.hidden) continue
    const added = { ...message, pruned: false }
    if (message.row.role !== 'compaction') view.push(added)
    else view = [...(isEmpty(message.message) ? [] : [added]), ...tailOf(view, message.row)]
  }
  return view
}

/** A compaction without a summary only leaves large outputs out. */
function isEmpty({ content }: Message): boolean {
  return content.length === 0
}

function tailOf(view: readonly ViewedMessage[], { tailStart, pruned }: MessageRow): ViewedMessage[] {
  if (tailStart === null || tailStart === undefined) return []
  const start = view.findIndex(({ id }) => id === tailStart)
  // Better too much than a conversation without its last turns: what is too long is found out at the next request.
  const tail = view.slice(Math.max(0, start))
  if (pruned === undefined || pruned.length === 0) return tail
  const ids = new Set(pruned)
  return tail.map((viewed) => (ids.has(viewed.id) ? { ...viewed, pruned: true } : viewed))
}
