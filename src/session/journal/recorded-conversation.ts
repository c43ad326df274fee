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
import type { Journal } from './journal.js'

/** A conversation whose messages have ids, so that it can be gone back in. */
export interface RecordedConversation extends Conversation {
  /** The messages with their ids, in order. */
  readonly kept: readonly StoredMessage[]
  /** The same with compactions, and with what is hidden. */
  readonly order: readonly StoredMessage[]
  /** How many messages of the beginning are only in the log. */
  readonly trimmed: number
  /** What the last rewind hid, as long as nothing was said since. */
  readonly rewound: readonly string[]
  /**
   * Removes the oldest messages from memory until `maxMessages` are left, except those that the model is shown. The log
   * has them. Never while a run is active.
   */
  trim(maxMessages: number): void
  /** Reads what was trimmed back into memory, before the conversation is gone back in. Never while a run is active. */
  fill(): Promise<void>
  /** `order` with what was trimmed. */
  readAll(): Promise<readonly StoredMessage[]>
  /** The same without waiting; without what was trimmed where the store cannot be read synchronously. */
  readAllNow(): readonly StoredMessage[]
  /** Hides this message and everything after it. The caller checked that it exists. */
  rewind(messageId: string): Promise<void>
  /** Shows again what was hidden since something was last said. */
  unrewind(): Promise<void>
}

export type RecordedConversationOptions = {
  /** Absent: it lives in memory alone. */
  readonly journal?: Journal | undefined
  readonly sessionId: string
  readonly start?: Pick<SessionState, 'order' | 'view' | 'rewound'> | undefined
  /** Reads `order` from the log. Absent: nothing is trimmed. */
  readonly log?: SavedOrder | undefined
  /** Redacts content that is saved next to the log. The journal redacts what is saved in it. */
  readonly clean?: (<Value>(value: Value) => Value) | undefined
  /**
   * Takes out of a message what must not be in the conversation at all, not even in memory: the keys of the
   * configuration.
   */
  readonly hide?: (<Value>(value: Value) => Value) | undefined
  /** The active run. */
  runId(): string | undefined
  newId(): string
  now(): number
}

/** The messages of the log, with compactions and with what is hidden. */
export type SavedOrder = {
  read(): Promise<readonly StoredMessage[]>
  /** Undefined where the store cannot be read synchronously. */
  readNow(): readonly StoredMessage[] | undefined
}

/**
 * A conversation that is kept: what was appended is written when the append resolves, and on disk before anything is
 * done because of it that cannot be done again, and before the run ends. Results of tools wait for the checkpoint
 * after them, which is one write with them, and an answer that calls tools for the first of its calls to begin.
 */
export function createRecordedConversation(options: RecordedConversationOptions): RecordedConversation {
  const { journal, sessionId, start } = options
  let order: StoredMessage[] = [...(start?.order ?? [])]
  let rewound: readonly string[] = start?.rewound ?? []
  let kept: StoredMessage[] = []
  let messages: Message[] = []
  let view: StoredMessage[] = []
  let shown: Message[] = []
  let trimmed = 0
  /** Whether the log has entries before those in memory, shown or not. */
  let isCut = false
  const list = (): void => {
    kept = order.filter(isShown)
    messages = kept.map(({ message }) => message)
  }
  /** The order of the log up to what is in memory, and then that. */
  const joined = (saved: readonly StoredMessage[]): StoredMessage[] => {
    const [first] = order
    const at = saved.findIndex(({ id }) => id === first?.id)
    if (at < 0) throw damagedLog(sessionId, 'messages that were written are missing in its log')
    return [...saved.slice(0, at), ...order]
  }
  const fill = async (): Promise<void> => {
    if (!isCut || options.log === undefined) return
    order = joined(await options.log.read())
    trimmed = 0
    isCut = false
    list()
  }
  const look = (from: readonly StoredMessage[]): void => {
    list()
    view = from.map((one) => (one.pruned ? { ...one, message: leaveOut(one.message) } : one))
    shown = appendOnly(view.map(({ message }) => message))
  }
  look(start?.view ?? [])

  const rowFor = (id: string, facts: MessageFacts): Omit<MessageRow, 'role'> => {
    const runId = options.runId()
    return {
      id,
      sessionId,
      createdAtMs: options.now(),
      ...omitUndefined({
        runId,
        usage: facts.usage,
        costUsd: facts.costUsd,
        model: facts.model,
        metadata: facts.metadata,
      }),
    }
  }
  const write = (
    message: Message,
    row: Omit<MessageRow, 'role'> & { role?: 'compaction' },
    envelopes?: StoredMessage['envelopes'],
  ): Promise<void> | undefined => {
    if (journal === undefined) return undefined
    // The journal redacts every record: only what is stored next to the log is redacted here.
    const records = messageRecords(message, {
      row,
      envelopes,
      partId: (index) => `${row.id}.${index}`,
      writeBlob: (bytes) => journal.writeBlob(bytes),
      clean: options.clean,
    })
    if (!isFollowed(message)) return journal.put(records)
    journal.note(records)
    return undefined
  }
  const hide = (from: string): Promise<void> | undefined => {
    const at = order.findIndex(({ id }) => id === from)
    const hidden = order.slice(at).filter((one) => !one.hidden)
    order = order.map((one, index) => (index < at || one.hidden ? one : { ...one, hidden: true }))
    rewound = [...hidden.map(({ id }) => id), ...rewound]
    look(viewOf(order))
    return tell(from)
  }
  const tell = (hiddenFrom: string | null): Promise<void> | undefined =>
    journal?.append([
      { type: 'session', data: { id: sessionId, schemaVersion, updatedAtMs: options.now(), hiddenFrom } },
    ])

  return {
    get kept() {
      return kept
    },
    get order() {
      return order
    },
    get rewound() {
      return rewound
    },
    get messages() {
      return messages
    },
    get trimmed() {
      return trimmed
    },
    get view() {
      return shown
    },
    async append(given, facts = {}) {
      const message = options.hide?.(given) ?? given
      const row = rowFor(options.newId(), facts)
      const envelopes = options.hide?.(facts.envelopes) ?? facts.envelopes
      const entry: StoredMessage = {
        id: row.id,
        row: { ...row, role: message.role },
        message,
        hidden: false,
        pruned: false,
        ...omitUndefined({ envelopes }),
      }
      // Models are handed the very list; one that changed it has not changed what was said.
      if (shown.length !== view.length) shown = appendOnly(view.map((one) => one.message))
      order.push(entry)
      kept.push(entry)
      messages.push(message)
      view.push(entry)
      shown.push(message)
      if (rewound.length > 0) rewound = []
      await write(message, row, envelopes)
    },
    async compact(next, summarised = false) {
      const { summary, tail, pruned } = comparedWith(view, next, summarised)
      const message: Message = summary ?? { role: 'user', content: [] }
      const row = {
        ...rowFor(options.newId(), {}),
        role: 'compaction' as const,
        tailStart: tail[0]?.id ?? null,
        pruned,
      }
      const entry = { id: row.id, row, message, hidden: false, pruned: false }
      order.push(entry)
      rewound = []
      view = [
        ...(summary === undefined ? [] : [entry]),
        ...tail.map((one, at) => ({ ...one, message: next[next.length - tail.length + at] ?? one.message })),
      ]
      shown = appendOnly(view.map((one) => one.message))
      await write(message, row)
    },
    async clear() {
      await fill()
      const [first] = kept
      if (first !== undefined) await hide(first.id)
    },
    trim(maxMessages) {
      // What was rewound can be shown again: all of it stays until something new is said.
      const first = kept[kept.length - maxMessages]
      if (options.log === undefined || rewound.length > 0 || first === undefined) return
      const needed = new Set(view.map(({ id }) => id))
      const at = order.findIndex((one) => one === first || needed.has(one.id))
      const before = kept.length
      isCut ||= at > 0
      order = order.slice(at)
      list()
      trimmed += before - kept.length
    },
    fill,
    readAll: async () => (!isCut || options.log === undefined ? order : joined(await options.log.read())),
    readAllNow() {
      const saved = isCut ? options.log?.readNow() : undefined
      return saved === undefined ? order : joined(saved)
    },
    async rewind(messageId) {
      await fill()
      await hide(messageId)
    },
    async unrewind() {
      const back = new Set(rewound)
      order = order.map((one) => (back.has(one.id) ? { ...one, hidden: false } : one))
      rewound = []
      look(viewOf(order))
      await tell(null)
    },
  }
}

/** Whether a message is part of the conversation: it is not hidden, and no compaction. */
export function isShown({ hidden, row }: StoredMessage): boolean {
  return !hidden && row.role !== 'compaction'
}

/** Whether a record that a caller waits for comes after it, and takes it along. */
function isFollowed({ role, content }: Message): boolean {
  if (role === 'assistant') return content.some(({ type }) => type === 'tool_call')
  return role === 'tool'
}

/**
 * What a new view keeps of the old one: as many of its last messages as it has, some of them with their outputs left
 * out.
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
 * A message as a model was shown it after its large contents had been left out: outputs of tools, images, documents.
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
