import type { Conversation, MessageFacts } from '../../loop/conversation.js'
import { messageRecords } from '../../store/message-records.js'
import type { MessageRow, SessionRecord } from '../../store/records.js'
import type { StoredMessage } from '../../store/session-state.js'
import type { Message } from '../../tool/completion.js'
import type { Journal } from './journal.js'
import { leaveOut } from './leave-out.js'

export type KeptMessage = { readonly id: string; readonly message: Message }

export interface KeptConversation extends Conversation {
  /** The messages with their ids, in order. */
  readonly kept: readonly KeptMessage[]
}

export type KeptConversationOptions = {
  readonly journal: Journal
  readonly sessionId: string
  readonly start: { readonly messages: readonly StoredMessage[]; readonly view: readonly StoredMessage[] }
  /** The run at work. */
  runId(): string | undefined
  newId(): string
  now(): number
}

/**
 * A conversation that is on disk: what was appended is there when the append resolves. Results of tools wait for the checkpoint
 * behind them, which is one write with them.
 */
export function keepConversation(options: KeptConversationOptions): KeptConversation {
  const { journal, sessionId, start } = options
  const kept: KeptMessage[] = start.messages
    .filter(({ hidden }) => !hidden)
    .map(({ id, message }) => ({ id, message }))
  const messages: Message[] = kept.map(({ message }) => message)
  let view: KeptMessage[] = start.view.map(({ id, message, pruned }) => ({
    id,
    message: pruned ? leaveOut(message) : message,
  }))
  let shown: Message[] = view.map(({ message }) => message)

  const rowFor = (id: string, facts: MessageFacts): Omit<MessageRow, 'role'> => {
    const runId = options.runId()
    return {
      id,
      sessionId,
      createdAtMs: options.now(),
      ...(runId !== undefined && { runId }),
      ...(facts.usage !== undefined && { usage: facts.usage }),
      ...(facts.model !== undefined && { model: facts.model }),
    }
  }
  const recordsFor = (
    message: Message,
    row: Omit<MessageRow, 'role'> & { role?: 'compaction' },
  ): Promise<SessionRecord[]> =>
    messageRecords(message, {
      row,
      partId: (index) => `${row.id}.${index}`,
      writeBlob: (bytes) => journal.writeBlob(bytes),
    })

  return {
    kept,
    get messages() {
      return messages
    },
    get view() {
      return shown
    },
    async append(message, facts = {}) {
      const entry = { id: options.newId(), message }
      kept.push(entry)
      messages.push(message)
      view.push(entry)
      shown.push(message)
      const written = journal.append(recordsFor(message, rowFor(entry.id, facts)))
      if (message.role !== 'tool') await written
    },
    async compact(next, summarised = false) {
      const id = options.newId()
      const { summary, tail, pruned } = comparedWith(view, next, summarised)
      view = [
        ...(summary === undefined ? [] : [{ id, message: summary }]),
        ...tail.map((entry, at) => ({
          ...entry,
          message: next[next.length - tail.length + at] ?? entry.message,
        })),
      ]
      shown = view.map(({ message }) => message)
      await journal.append(
        recordsFor(summary ?? { role: 'user', content: [] }, {
          ...rowFor(id, {}),
          role: 'compaction',
          tailStart: tail[0]?.id ?? null,
          pruned,
        }),
      )
    },
    clear() {
      const [first] = kept
      kept.length = 0
      messages.length = 0
      view = []
      shown = []
      if (first === undefined) return
      const data = { id: sessionId, schemaVersion: 1, updatedAtMs: options.now(), hiddenFrom: first.id }
      return journal.append([{ type: 'session', data }])
    },
  }
}

/** What a new view keeps of the old one: as many of its last messages as it has, some of them with their outputs left out. */
function comparedWith(
  view: readonly KeptMessage[],
  next: readonly Message[],
  summarised: boolean,
): { readonly summary?: Message; readonly tail: readonly KeptMessage[]; readonly pruned: string[] } {
  const summary = summarised ? next[0] : undefined
  const count = next.length - (summary === undefined ? 0 : 1)
  const tail = view.slice(view.length - count)
  const pruned = tail.flatMap(({ id, message }, at) =>
    next[next.length - count + at] === message ? [] : [id],
  )
  return { tail, pruned, ...(summary !== undefined && { summary }) }
}
