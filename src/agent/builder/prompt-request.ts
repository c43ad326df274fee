import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { Message, UserMessage } from '../../tool/completion.js'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { JsonObject } from '../../tool/json.js'
import { Message as make } from '../../tool/message.js'
import { mergeMetadata } from '../../tool/metadata.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { type CompletionRetries, type CompletionRetryOptions, readRetries } from './completion-retries.js'
import type { AgentHook } from './hook.js'
import type { AgentStreamEvent, PromptResponse } from './prompt-events.js'
import type { PromptMemory } from './prompt-memory.js'
import { PromptStream } from './prompt-stream.js'
import { toReadableStream } from './readable-stream.js'
import { type PromptOptions, runPrompt } from './run-prompt.js'
import type { AgentSettings } from './settings.js'
import { createSteering } from './steering.js'
import { wholeNumber } from './whole-number.js'

/** What an agent is asked: a text, a message, or a conversation whose last message is the question. */
export type PromptInput = string | Message | readonly Message[]

export type PromptStreamOptions = {
  /** Whether pieces of calls that the model is still writing are told too. Default: true. */
  readonly includeToolCallDeltas?: boolean
}

/** A prompt runs once. */
export class PromptUsedError extends CapstanError {
  constructor() {
    super(
      'prompt_used',
      'This prompt was sent or streamed already. Ask the agent for a new one with agent.prompt().',
    )
  }
}

markErrorClass(PromptUsedError, 'PromptUsedError')

/**
 * One question to an agent, and how it is to be run. `send` gives the result, `stream` the events on the way to it; there is no other
 * difference.
 *
 * @example
 * const { output } = await agent.prompt('Is order 42 paid?').maxTurns(5).send()
 */
export class PromptRequest {
  readonly #settings: AgentSettings
  readonly #messages: readonly Message[]
  readonly #memory: PromptMemory | undefined
  readonly #steering = createSteering()
  readonly #middleware: AgentMiddleware[] = []
  #maxTurns: number | undefined
  #retries: CompletionRetries | undefined
  #toolConcurrency = 1
  #approvals: ToolApprovalsOptions | undefined
  #hook: AgentHook | undefined
  #metadata: JsonObject | undefined
  #signal: AbortSignal | undefined
  #isUsed = false

  constructor(settings: AgentSettings, input: PromptInput, memory?: PromptMemory) {
    this.#settings = settings
    this.#memory = memory
    this.#messages = messagesOf(input)
  }

  /** How often the model may call tools; one more answer without any is always allowed. */
  maxTurns(turns: number): this {
    this.#maxTurns = wholeNumber('maxTurns', turns, 0)
    return this
  }

  /** In place of the agent's own handler. */
  approvals(options: ToolApprovalsOptions): this {
    this.#approvals = options
    return this
  }

  /** How many calls of one answer may run at the same time; one by one unless told. */
  withToolConcurrency(calls: number): this {
    this.#toolConcurrency = wholeNumber('withToolConcurrency', calls, 1)
    return this
  }

  /** Behind the agent's own. */
  withMiddleware(middleware: AgentMiddleware): this {
    this.#middleware.push(middleware)
    return this
  }

  withMiddlewares(middlewares: readonly AgentMiddleware[]): this {
    this.#middleware.push(...middlewares)
    return this
  }

  /** @deprecated Use withMiddleware instead. */
  withToolMiddleware(middleware: AgentMiddleware): this {
    return this.withMiddleware(middleware)
  }

  /** @deprecated Use withMiddlewares instead. */
  withToolMiddlewares(middlewares: readonly AgentMiddleware[]): this {
    return this.withMiddlewares(middlewares)
  }

  /** In place of the agent's own hook. */
  withHook(hook: AgentHook): this {
    this.#hook = hook
    return this
  }

  /** What approval policies and tools find in `run.metadata`, over that of the agent and the session. */
  metadata(metadata: JsonObject): this {
    this.#metadata = mergeMetadata(this.#metadata, metadata)
    return this
  }

  /**
   * Sends a request again that failed for a passing reason (a broken connection, HTTP 408, 409, 425, 429 or 5xx) or that `shouldRetry`
   * accepts. Without this call a host's completion model is asked once.
   */
  withCompletionRetries(options: CompletionRetryOptions = {}): this {
    this.#retries = readRetries(options)
    return this
  }

  /** Stops the run, and whatever tools are at work in it, when it is aborted. */
  withSignal(signal: AbortSignal): this {
    this.#signal = signal
    return this
  }

  /** Says something to the run while it works; it is heard after the answer or the calls under way. False when that is too late. */
  steer(input: PromptInput): boolean {
    return this.#steering.add(messagesOf(input).map(userMessage))
  }

  async send(): Promise<PromptResponse> {
    for await (const event of this.#begin(false, false)) {
      if (event.type !== 'final') continue
      const { type: _, ...response } = event
      return response
    }
    throw new Error('A run ended without a result.')
  }

  /** Begins with the first event that is asked for. Leaving the loop early stops the run. */
  stream({
    includeToolCallDeltas = true,
  }: PromptStreamOptions = {}): AsyncIterableIterator<AgentStreamEvent, undefined> {
    return this.#begin(true, includeToolCallDeltas)
  }

  /** The events as lines of JSON, for the body of a response. */
  readableStream(options?: PromptStreamOptions): ReadableStream<Uint8Array> {
    return toReadableStream(this.stream(options))
  }

  #begin(streaming: boolean, includeToolCallDeltas: boolean): PromptStream {
    if (this.#isUsed) throw new PromptUsedError()
    this.#isUsed = true
    const signal = this.#signal
    const options: PromptOptions = {
      messages: this.#messages,
      steering: this.#steering,
      toolConcurrency: this.#toolConcurrency,
      middleware: this.#middleware,
      ...(this.#maxTurns !== undefined && { maxTurns: this.#maxTurns }),
      ...(this.#retries !== undefined && { retries: this.#retries }),
      ...(this.#hook !== undefined && { hook: this.#hook }),
      ...(this.#metadata !== undefined && { metadata: this.#metadata }),
      ...(this.#memory !== undefined && { memory: this.#memory }),
      ...(this.#approvals !== undefined && { approvals: this.#approvals }),
    }
    return new PromptStream((tell, left) =>
      runPrompt(
        this.#settings,
        options,
        { streaming, includeToolCallDeltas, tell },
        signal === undefined ? left : AbortSignal.any([signal, left]),
      ),
    )
  }
}

/** The messages that a prompt, or a question to a model, is made of. */
export function messagesOf(input: PromptInput): readonly Message[] {
  if (typeof input === 'string') return [make.user(input)]
  const messages = isList(input) ? [...input] : [input]
  if (messages.length === 0) throw new TypeError('A prompt needs at least one message.')
  return messages
}

/** `Array.isArray` knows no readonly lists. */
function isList(input: Message | readonly Message[]): input is readonly Message[] {
  return Array.isArray(input)
}

function userMessage(message: Message): UserMessage {
  if (message.role === 'user') return message
  throw new TypeError(`A run can be steered by messages of the user, not of the role "${message.role}".`)
}
