import type { StoredMessage } from '../../store/session-state.js'
import type { Message } from '../../tool/completion.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { addedPart } from '../added-part.js'
import { type HistoryMessage, toHistory } from '../history-blocks.js'
import { isShown } from '../journal/recorded-conversation.js'
import type { SessionKernel } from '../kernel.js'
import { HistoryError } from './errors.js'

/** One message of a session, in a list to choose from. */
export type MessageInfo = {
  readonly id: string
  readonly role: Message['role']
  /** The first words; for calls and results the names of the tools. */
  readonly text: string
  readonly createdAtMs: number
  readonly runId?: string
}

/** The outcome of a rewind. */
export type RewindOutcome = {
  /** The message that the session was rewound to, to be edited and sent again. */
  readonly prompt: string
  /** How many messages are hidden, including that one. */
  readonly hidden: number
}

/** Returns the visible messages of the conversation in the form for hosts. */
export function historyOf(order: readonly StoredMessage[]): HistoryMessage[] {
  return toHistory(order.filter(isShown).map(({ message }) => message))
}

/** Returns the messages of the conversation, including those that a summary replaced. */
export function listMessages(order: readonly StoredMessage[]): MessageInfo[] {
  return order.filter(isShown).map(({ id, row, message }) => ({
    id,
    role: message.role,
    text: firstWords(message),
    createdAtMs: row.createdAtMs,
    ...omitUndefined({ runId: row.runId }),
  }))
}

/**
 * Rewinds to before a message of the user: it and everything after it are hidden from the history and the model, and
 * stay in the log. Files do not change; `undo` restores them.
 */
export function rewind(kernel: SessionKernel, messageId: string): Promise<RewindOutcome> {
  return kernel.alone('rewinding', async () => {
    await kernel.log.conversation.fill()
    refuseUnlessUser(kernel, messageId)
    await kernel.log.recorder?.open()
    // An interrupted call gets a result before it can be hidden: when it is shown again, it must have one.
    await kernel.log.interrupted.close()
    const { conversation } = kernel.log
    const before = conversation.kept.length
    const target = conversation.kept.find(({ id }) => id === messageId)
    await conversation.rewind(messageId)
    return {
      prompt: target === undefined ? '' : textOf(target.message),
      hidden: before - conversation.kept.length,
    }
  })
}

/** Shows all messages again that were hidden since the last new message, in one step. Returns their number. */
export function unrewind(kernel: SessionKernel): Promise<number> {
  return kernel.alone('un-rewinding', async () => {
    const { conversation } = kernel.log
    if (conversation.rewound.length === 0)
      throw new HistoryError(
        'nothing_rewound',
        'There is no rewind to undo: nothing was rewound, or a message was added since. Fork the session to continue from both.',
      )
    await kernel.log.recorder?.open()
    const before = conversation.kept.length
    await conversation.unrewind()
    return conversation.kept.length - before
  })
}

function refuseUnlessUser({ log: { conversation } }: SessionKernel, messageId: string): void {
  const target: StoredMessage | undefined = conversation.kept.find(({ id }) => id === messageId)
  if (target === undefined)
    throw new HistoryError(
      'message_not_found',
      `The session has no message '${messageId}', or it is hidden. See session.messages().`,
    )
  if (target.message.role !== 'user')
    throw new HistoryError(
      'not_a_user_message',
      `Message '${messageId}' is of the role ${target.message.role}. A session can be rewound only to a message of the user; see session.messages().`,
    )
}

/** Returns the text of a message; other content is represented by its type. */
function textOf(message: Message): string {
  if (message.role === 'system') return message.content
  const texts: string[] = []
  for (const part of message.content)
    if (part.type === 'text' && addedPart(part.text) === undefined) texts.push(part.text)
  return texts.join('\n')
}

function firstWords(message: Message): string {
  const text = textOf(message).replace(/\s+/g, ' ').trim()
  const said = text === '' ? namesIn(message) : text
  return said.length <= maxCharacters ? said : `${said.slice(0, maxCharacters)}…`
}

const maxCharacters = 80

function namesIn(message: Message): string {
  if (message.role === 'system') return ''
  return message.content
    .map((part) => {
      if (part.type === 'tool_call') return part.function.name
      return part.type === 'tool_result' ? (part.toolName ?? 'result') : part.type
    })
    .join(', ')
}
