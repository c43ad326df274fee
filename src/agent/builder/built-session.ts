import type { Message } from '../../tool/completion.js'
import type { ConversationContext, ConversationStore } from './prompt-memory.js'
import type { PromptInput, PromptRequest } from './prompt-request.js'

/** A stored conversation of a built agent. Created by `agent.session(id)`. */
export class BuiltSession {
  readonly #store: ConversationStore
  readonly #context: ConversationContext
  readonly #ask: (input: PromptInput) => PromptRequest

  constructor(
    store: ConversationStore,
    context: ConversationContext,
    ask: (input: PromptInput) => PromptRequest,
  ) {
    this.#store = store
    this.#context = context
    this.#ask = ask
  }

  get sessionId(): string {
    return this.#context.sessionId
  }

  /** Creates a prompt that continues the conversation. Its messages are saved. Send one prompt at a time. */
  prompt(input: string | Message): PromptRequest {
    if (Array.isArray(input))
      throw new TypeError(
        'A session has its own history: give it one message, or use agent.prompt() for a list.',
      )
    return this.#ask(input)
  }

  messages(): Promise<Message[]> {
    return this.#store.load(this.#context)
  }

  clear(): Promise<void> {
    return this.#store.clear(this.#context)
  }
}
