import { prune } from '../../loop/compaction/prune.js'
import type { Conversation, MessageFacts } from '../../loop/conversation.js'
import { appendOnly } from '../../model/append-only.js'
import { damagedLog } from '../../store/errors.js'
import { messageRecords } from '../../store/message-records.js'
import { type MessageRow, schemaVersion } from '../../store/records.js'
import type { SessionState, StoredMessage } from '../../store/session-state.js'
import { viewOf } from '../../store/view-of.js'
import type { Message } from '../../tool/completion.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { type FlatValue, flatten, unflatten } from '../flat-value.js'
import type { Journal } from './journal.js'

/** A conversation whose messages have ids, so that it can be rewound. */
export interface RecordedConversation extends Conversation {
  /** The messages with their ids, in order. */
  readonly kept: readonly StoredMessage[]
  /** All messages in order, including compactions and hidden messages. */
  readonly order: readonly StoredMessage[]
  /** The number of messages at the beginning that are only in the log. */
  readonly trimmed: number
  /** The ids that the last rewind hid, until a new message is added. */
  readonly rewound: readonly string[]
  /**
   * Removes the oldest messages from memory until `maxMessages` are left, except those that the model is shown. The log
   * has them. Never while a run is active.
   */
  trim(maxMessages: number): void
  /** Reads trimmed messages back into memory, before a rewind. Never while a run is active. */
  fill(): Promise<void>
  /** Whether there are no messages. */
  readonly isEmpty: boolean
  /**
   * Stores the messages in a smaller form until they are next read, unless there are more than `maxMessages`, or some
   * are hidden or left out. Never while a run is active.
   */
  rest(maxMessages: number): void
  /** Returns `order` including trimmed messages. */
  readAll(): Promise<readonly StoredMessage[]>
  /** Like `readAll`, but synchronous; without trimmed messages if the store cannot be read synchronously. */
  readAllNow(): readonly StoredMessage[]
  /** Hides this message and everything after it. The caller has checked that it exists. */
  rewind(messageId: string): Promise<void>
  /** Shows all messages again that were hidden since the last new message. */
  unrewind(): Promise<void>
}

export type RecordedConversationOptions = {
  /** Absent: the conversation is only in memory. */
  readonly journal?: Journal | undefined
  readonly sessionId: string
  readonly start?: Pick<SessionState, 'order' | 'view' | 'rewound'> | undefined
  /** Reads `order` from the log. Absent: nothing is trimmed. */
  readonly log?: SavedOrder | undefined
  /** Redacts content that is saved next to the log. The journal redacts what is saved in it. */
  readonly clean?: (<Value>(value: Value) => Value) | undefined
  /**
   * Removes what must not be in the conversation at all, not even in memory, from a message: the keys of the
   * configuration.
   */
  readonly hide?: (<Value>(value: Value) => Value) | undefined
  /** The active run. */
  runId(): string | undefined
  newId(): string
  now(): number
}

/** Reads the messages of the log, including compactions and hidden messages. */
export type SavedOrder = {
  read(): Promise<readonly StoredMessage[]>
  /** Undefined if the store cannot be read synchronously. */
  readNow(): readonly StoredMessage[] | undefined
}

export function createRecordedConversation(options: RecordedConversationOptions): RecordedConversation {
  return new KeptConversation(options)
}

/**
 * A recorded conversation. An appended message is written when `append` resolves, and is on disk before the run ends
 * and before any irreversible action that follows from it. Tool results are written together with the checkpoint after
 * them, and an answer with tool calls when the first of its calls begins.
 */
class KeptConversation implements RecordedConversation {
  readonly #options: RecordedConversationOptions
  #lists: Lists
  /** All messages in a smaller form instead of the lists, while the session waits. */
  #flat: FlatValue | undefined
  #rewound: readonly string[]
  #trimmed = 0
  /** Whether the log has entries before those in memory, visible or hidden. */
  #isCut = false

  constructor(options: RecordedConversationOptions) {
    const { start } = options
    this.#options = options
    this.#rewound = start?.rewound ?? []
    this.#lists = listsOf([...(start?.order ?? [])], start?.view ?? [])
  }

  get #now(): Lists {
    if (this.#flat !== undefined) {
      const order = unflatten(this.#flat) as StoredMessage[]
      this.#lists = listsOf(order, order)
      this.#flat = undefined
    }
    return this.#lists
  }

  get isEmpty(): boolean {
    return this.#flat === undefined && this.#lists.order.length === 0
  }

  get kept(): readonly StoredMessage[] {
    return this.#now.kept
  }

  get order(): readonly StoredMessage[] {
    return this.#now.order
  }

  get rewound(): readonly string[] {
    return this.#rewound
  }

  get messages(): readonly Message[] {
    return this.#now.messages
  }

  get trimmed(): number {
    return this.#trimmed
  }

  get view(): readonly Message[] {
    return this.#now.shown
  }

  async append(given: Message, facts: MessageFacts = {}): Promise<void> {
    const options = this.#options
    const message = options.hide?.(given) ?? given
    const row = this.#rowFor(options.newId(), facts)
    const envelopes = options.hide?.(facts.envelopes) ?? facts.envelopes
    const entry: StoredMessage = {
      id: row.id,
      row: { ...row, role: message.role },
      message,
      hidden: false,
      pruned: false,
      ...omitUndefined({ envelopes }),
    }
    const lists = this.#now
    // Models get this list itself; if a model changed it, the list is rebuilt from the conversation.
    if (lists.shown.length !== lists.view.length)
      lists.shown = appendOnly(lists.view.map((one) => one.message))
    add(lists.order, entry)
    add(lists.kept, entry)
    add(lists.messages, message)
    add(lists.view, entry)
    add(lists.shown, message)
    if (this.#rewound.length > 0) this.#rewound = []
    await this.#write(message, row, envelopes)
  }

  async compact(next: readonly Message[], summarised = false): Promise<void> {
    const lists = this.#now
    const { summary, tail, pruned } = comparedWith(lists.view, next, summarised)
    const message: Message = summary ?? { role: 'user', content: [] }
    const row = {
      ...this.#rowFor(this.#options.newId(), {}),
      role: 'compaction' as const,
      tailStart: tail[0]?.id ?? null,
      pruned,
    }
    const entry = { id: row.id, row, message, hidden: false, pruned: false }
    lists.order.push(entry)
    this.#rewound = []
    lists.view = [
      ...(summary === undefined ? [] : [entry]),
      ...tail.map((one, at) => ({ ...one, message: next[next.length - tail.length + at] ?? one.message })),
    ]
    lists.shown = appendOnly(lists.view.map((one) => one.message))
    await this.#write(message, row)
  }

  async clear(): Promise<void> {
    await this.fill()
    const [first] = this.kept
    if (first !== undefined) await this.#hide(first.id)
  }

  trim(maxMessages: number): void {
    const lists = this.#now
    // Rewound messages can be shown again, so nothing is trimmed until a new message is added.
    const first = lists.kept[lists.kept.length - maxMessages]
    if (this.#options.log === undefined || this.#rewound.length > 0 || first === undefined) return
    const needed = new Set(lists.view.map(({ id }) => id))
    const at = lists.order.findIndex((one) => one === first || needed.has(one.id))
    const before = lists.kept.length
    this.#isCut ||= at > 0
    this.#setOrder(lists.order.slice(at))
    this.#trimmed += before - lists.kept.length
  }

  rest(maxMessages: number): void {
    const { order, view, kept } = this.#lists
    const isPlain = order.length === kept.length && view.every((one, at) => one === order[at])
    if (order.length === 0 || order.length > maxMessages || view.length !== order.length || !isPlain) return
    this.#flat = flatten(order)
    if (this.#flat !== undefined) this.#lists = noLists
  }

  async fill(): Promise<void> {
    const { log } = this.#options
    if (!this.#isCut || log === undefined) return
    const order = this.#joined(await log.read())
    this.#trimmed = 0
    this.#isCut = false
    this.#setOrder(order)
  }

  async readAll(): Promise<readonly StoredMessage[]> {
    const { log } = this.#options
    return !this.#isCut || log === undefined ? this.order : this.#joined(await log.read())
  }

  readAllNow(): readonly StoredMessage[] {
    const saved = this.#isCut ? this.#options.log?.readNow() : undefined
    return saved === undefined ? this.order : this.#joined(saved)
  }

  async rewind(messageId: string): Promise<void> {
    await this.fill()
    await this.#hide(messageId)
  }

  async unrewind(): Promise<void> {
    const back = new Set(this.#rewound)
    const order = this.order.map((one) => (back.has(one.id) ? { ...one, hidden: false } : one))
    this.#rewound = []
    this.#lists = listsOf(order, viewOf(order))
    await this.#reportHidden(null)
  }

  #setOrder(order: StoredMessage[]): void {
    const lists = this.#now
    lists.order = order
    lists.kept = order.filter(isShown)
    lists.messages = lists.kept.map(({ message }) => message)
  }

  /** Returns the saved order up to the first message in memory, followed by the messages in memory. */
  #joined(saved: readonly StoredMessage[]): StoredMessage[] {
    const { order } = this
    const [first] = order
    const at = saved.findIndex(({ id }) => id === first?.id)
    if (at < 0) throw damagedLog(this.#options.sessionId, 'messages that were written are missing in its log')
    return [...saved.slice(0, at), ...order]
  }

  #rowFor(id: string, facts: MessageFacts): Omit<MessageRow, 'role'> {
    const { sessionId } = this.#options
    const runId = this.#options.runId()
    return {
      id,
      sessionId,
      createdAtMs: this.#options.now(),
      ...omitUndefined({
        runId,
        usage: facts.usage,
        costUsd: facts.costUsd,
        model: facts.model,
        metadata: facts.metadata,
      }),
    }
  }

  #write(
    message: Message,
    row: Omit<MessageRow, 'role'> & { role?: 'compaction' },
    envelopes?: StoredMessage['envelopes'],
  ): Promise<void> | undefined {
    const { journal, clean } = this.#options
    if (journal === undefined) return undefined
    // The journal redacts every record: only what is stored next to the log is redacted here.
    const records = messageRecords(message, {
      row,
      envelopes,
      partId: (index) => `${row.id}.${index}`,
      writeBlob: (bytes) => journal.writeBlob(bytes),
      clean,
    })
    if (!isFollowed(message)) return journal.put(records)
    journal.note(records)
    return undefined
  }

  #hide(from: string): Promise<void> | undefined {
    const { order } = this
    const at = order.findIndex(({ id }) => id === from)
    const hidden = order.slice(at).filter((one) => !one.hidden)
    const next = order.map((one, index) => (index < at || one.hidden ? one : { ...one, hidden: true }))
    this.#rewound = [...hidden.map(({ id }) => id), ...this.#rewound]
    this.#lists = listsOf(next, viewOf(next))
    return this.#reportHidden(from)
  }

  #reportHidden(hiddenFrom: string | null): Promise<void> | undefined {
    const { journal, sessionId } = this.#options
    const updatedAtMs = this.#options.now()
    return journal?.append([
      { type: 'session', data: { id: sessionId, schemaVersion, updatedAtMs, hiddenFrom } },
    ])
  }
}

/** The messages of a conversation, and lists derived from them. */
type Lists = {
  order: StoredMessage[]
  kept: StoredMessage[]
  messages: Message[]
  view: StoredMessage[]
  shown: Message[]
}

/**
 * One `push` call site for all lists. V8 optimizes `push` for lists that had objects before, and deoptimizes its caller
 * at the first list that was empty: five calls in a row made it compile `append` six times.
 */
function add<Item>(list: Item[], item: Item): void {
  list.push(item)
}

const noLists: Lists = { order: [], kept: [], messages: [], view: [], shown: [] }

function listsOf(order: StoredMessage[], shown: readonly StoredMessage[]): Lists {
  const kept = order.filter(isShown)
  const view = shown.map((one) => (one.pruned ? { ...one, message: leaveOut(one.message) } : one))
  return {
    order,
    kept,
    messages: kept.map(({ message }) => message),
    view,
    shown: appendOnly(view.map(({ message }) => message)),
  }
}

/** Whether a message is part of the conversation: it is neither hidden nor a compaction. */
export function isShown({ hidden, row }: StoredMessage): boolean {
  return !hidden && row.role !== 'compaction'
}

/** Whether the message is written together with a later record that a caller waits for. */
function isFollowed({ role, content }: Message): boolean {
  if (role === 'assistant') return content.some(({ type }) => type === 'tool_call')
  return role === 'tool'
}

/**
 * Compares a new view with the old one: `tail` are the last messages of the old view that the new one still has,
 * `pruned` those of them whose outputs are left out.
 */
function comparedWith(
  view: readonly StoredMessage[],
  next: readonly Message[],
  summarised: boolean,
): { readonly summary?: Message; readonly tail: readonly StoredMessage[]; readonly pruned: string[] } {
  const summary = summarised ? next[0] : undefined
  const count = next.length - (summary === undefined ? 0 : 1)
  const tail = view.slice(view.length - count)
  const pruned = tail.flatMap(({ id, message }, at) =>
    next[next.length - count + at] === message ? [] : [id],
  )
  return { tail, pruned, ...omitUndefined({ summary }) }
}

/**
 * Returns a message as the model sees it after its large contents were left out: outputs of tools, images, documents.
 */
function leaveOut(message: Message): Message {
  const [pruned = message] = prune([message], 0)
  if (pruned.role !== 'user' || pruned.content.every(({ type }) => type === 'text')) return pruned
  return {
    ...pruned,
    content: pruned.content.map((part) =>
      part.type === 'text' ? part : { type: 'text', text: '[left out]' },
    ),
  }
}
