import { appendOnly } from '../model/append-only.js'
import type { Message } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import type { Usage } from './usage.js'

/** Facts about a message that are not part of its content. */
export type MessageFacts = {
  readonly usage?: Usage | undefined
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number | undefined
  readonly model?: { readonly provider: string; readonly id: string } | undefined
  readonly metadata?: JsonObject | undefined
  /** For results of tools: the envelope of each part of the message. */
  readonly envelopes?: readonly Envelope[] | undefined
}

/** The messages of a session. Messages are only appended, and never changed. */
export interface Conversation {
  /** All messages. */
  readonly messages: readonly Message[]
  /** The messages that a model gets: all of them, or a summary and the messages after it. Grows only at its end. */
  readonly view: readonly Message[]
  /** Resolves when the message is stored as durably as this conversation stores messages. */
  append(message: Message, facts?: MessageFacts): void | Promise<void>
  /**
   * Replaces `view`; `messages` is unchanged. The new view is the last messages of the old one, some without their
   * large contents, after a summary of the earlier ones when `summarised` is true.
   */
  compact(view: readonly Message[], summarised?: boolean): void | Promise<void>
  /** Removes all messages, from `messages` and `view`. */
  clear(): void | Promise<void>
}

export function createConversation(
  start: { readonly messages?: readonly Message[]; readonly view?: readonly Message[] } = {},
): Conversation {
  const messages: Message[] = [...(start.messages ?? [])]
  let view = appendOnly([...(start.view ?? messages)])
  return {
    get messages() {
      return messages
    },
    get view() {
      return view
    },
    append(message) {
      messages.push(message)
      view.push(message)
    },
    compact(next) {
      view = appendOnly([...next])
    },
    clear() {
      messages.length = 0
      view = appendOnly([])
    },
  }
}
