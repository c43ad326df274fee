import { appendOnly } from '../model/append-only.js'
import type { Message } from '../tool/completion.js'
import type { Envelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import type { Usage } from './usage.js'

/** What is known of a message beside what it says. */
export type MessageFacts = {
  readonly usage?: Usage | undefined
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number | undefined
  readonly model?: { readonly provider: string; readonly id: string } | undefined
  readonly metadata?: JsonObject | undefined
  /** For results of tools: what each part of the message was made from. */
  readonly envelopes?: readonly Envelope[] | undefined
}

/** What was said so far. Messages are only ever appended, and none is changed once it is there. */
export interface Conversation {
  /** All of it. */
  readonly messages: readonly Message[]
  /** What a model is shown: all of it, or a summary and what came after. Grows at its end between compactions. */
  readonly view: readonly Message[]
  /** Resolves once the message is as safe as this conversation keeps messages. */
  append(message: Message, facts?: MessageFacts): void | Promise<void>
  /**
   * Shows these to the model from now on; the whole stays. They are the last messages of the old view, some without their large
   * contents, behind a summary of those before them when `summarised` says so.
   */
  compact(view: readonly Message[], summarised?: boolean): void | Promise<void>
  /** Begins anew; what was said is gone from both. */
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
