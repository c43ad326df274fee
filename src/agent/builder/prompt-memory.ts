import type { Conversation } from '../../loop/conversation.js'
import type { Message } from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'

/** Which conversation a store is asked about. */
export type ConversationContext = {
  readonly sessionId: string
  readonly userId?: string
  readonly metadata?: JsonObject
}

/** Where the sessions of a built agent keep their messages. */
export interface ConversationStore {
  /** The messages of the conversation, oldest first; none for one that is new. */
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

export type ConversationOptions = {
  /** When messages are saved: each at once, with the end of each turn, or with the end of the run. Default: `message`. */
  readonly savePolicy?: 'message' | 'turn' | 'run'
}

export type PromptMemory = ConversationOptions & {
  readonly store: ConversationStore
  readonly context: ConversationContext
}

/** The conversation of a run whose messages go to a store. */
export type SavedConversation = Conversation & {
  /** Saves what is left, at the end of a run. */
  finish(): Promise<void>
}

/** A failure to save is thrown: a run that cannot be saved does not continue. */
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
      // A turn ends with the results of its calls; the last one, which has none, with the run.
      if (savePolicy === 'message' || (savePolicy === 'turn' && message.role === 'tool')) await save()
    },
    compact: (view, summarised) => conversation.compact(view, summarised),
    clear: () => conversation.clear(),
    finish: save,
  }
}
