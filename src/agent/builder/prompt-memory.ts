import type { Conversation } from '../../loop/conversation.js'
import type { Message } from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'

/** Identifies a conversation in a store. */
export type ConversationContext = {
  readonly sessionId: string
  readonly userId?: string
  readonly metadata?: JsonObject
}

/** The store for the messages of a built agent's sessions. */
export interface ConversationStore {
  /** Loads the messages of the conversation, oldest first; none for a new one. */
  load(context: ConversationContext): Promise<Message[]>
  append(input: {
    readonly context: ConversationContext
    readonly runId: string
    readonly turn: number
    readonly messages: Message[]
  }): Promise<void>
  clear(context: ConversationContext): Promise<void>
  /** Called when a run failed, with the messages of that run. */
  recordError?(input: {
    readonly context: ConversationContext
    readonly runId: string
    readonly error: unknown
    readonly messages: Message[]
  }): Promise<void>
}

/** Options of stored conversations. */
export type ConversationOptions = {
  /** When messages are saved: each at once, at the end of each turn, or at the end of the run (default: `message`). */
  readonly savePolicy?: 'message' | 'turn' | 'run'
}

export type PromptMemory = ConversationOptions & {
  readonly store: ConversationStore
  readonly context: ConversationContext
}

/** The conversation of a run whose messages go to a store. */
export type SavedConversation = Conversation & {
  /** Saves the remaining messages at the end of a run. */
  finish(): Promise<void>
}

/** Saves the messages of a run. Throws if that fails, so that a run that cannot be saved does not continue. */
export function saveConversation(
  conversation: Conversation,
  { store, context, savePolicy = 'message' }: PromptMemory,
  run: { readonly runId: string; turn(): number },
): SavedConversation {
  let unsaved: Message[] = []
  const save = async (): Promise<void> => {
    if (unsaved.length === 0) return
    const messages = unsaved
    unsaved = []
    await store.append({ context, runId: run.runId, turn: run.turn(), messages })
  }
  return {
    get messages() {
      return conversation.messages
    },
    get view() {
      return conversation.view
    },
    async append(message, facts) {
      await conversation.append(message, facts)
      unsaved.push(message)
      // A turn ends with the results of its calls. The last turn has no calls and ends with the run.
      if (savePolicy === 'message' || (savePolicy === 'turn' && message.role === 'tool')) await save()
    },
    compact: (view, summarised) => conversation.compact(view, summarised),
    clear: () => conversation.clear(),
    finish: save,
  }
}
