import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { Message, UserMessage } from '../../tool/completion.js'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { JsonObject } from '../../tool/json.js'
import { Message as make } from '../../tool/message.js'
import { mergeMetadata } from '../../tool/metadata.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
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

/** The input of a prompt: a text, a message, or a conversation whose last message is the prompt. */
export type PromptInput = string | Message | readonly Message[]

/** Options of a streamed prompt. */
export type PromptStreamOptions = {
  /** Whether to emit deltas of tool calls (default: true). */
  readonly includeToolCallDeltas?: boolean
}

/** A prompt can be sent only once. */
export class PromptUsedError extends CapstanError {
  constructor() {
    super('prompt_used', 'This prompt was already sent or streamed. Create a new one with agent.prompt().')
  }
}

markErrorClass(PromptUsedError, 'PromptUsedError')

/**
 * One prompt to an agent, with its options. `send` returns the result, `stream` the events; there is no other
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

  /** Sets the maximum number of turns with tool calls; one more answer without calls is always allowed. */
  maxTurns(turns: number): this {
    this.#maxTurns = wholeNumber('maxTurns', turns, 0)
    return this
  }

  /** Replaces the approvals handler of the agent. */
  approvals(options: ToolApprovalsOptions): this {
    this.#approvals = options
    return this
  }

  /** Sets how many calls of one answer can run at the same time (default: 1). */
  withToolConcurrency(calls: number): this {
    this.#toolConcurrency = wholeNumber('withToolConcurrency', calls, 1)
    return this
  }

  /** Adds middleware after that of the agent. */
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

  /** Replaces the hook of the agent. */
  withHook(hook: AgentHook): this {
    this.#hook = hook
    return this
  }

  /** Sets metadata that approval policies and tools read as `run.metadata`. Overrides that of agent and session. */
  metadata(metadata: JsonObject): this {
    this.#metadata = mergeMetadata(this.#metadata, metadata)
    return this
  }

  /**
   * Retries requests that failed for a temporary reason (a broken connection, HTTP 408, 409, 425, 429 or 5xx), or for
   * which `shouldRetry` returns true. Without it, a completion model of the host gets one attempt.
   */
  withCompletionRetries(options: CompletionRetryOptions = {}): this {
    this.#retries = readRetries(options)
    return this
  }

  /** Stops the run and its running tools when the signal is aborted. */
  withSignal(signal: AbortSignal): this {
    this.#signal = signal
    return this
  }

  /**
   * Sends a message to the running prompt. The model reads it after the current answer or calls. Returns false if the
   * run accepts no more messages.
   */
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

  /** Streams the events. The run starts when the first event is read; leaving the loop early stops it. */
  stream({
    includeToolCallDeltas = true,
  }: PromptStreamOptions = {}): AsyncIterableIterator<AgentStreamEvent, undefined> {
    return this.#begin(true, includeToolCallDeltas)
  }

  /** Streams the events as lines of JSON, for the body of a response. */
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
      ...omitUndefined({
        maxTurns: this.#maxTurns,
        retries: this.#retries,
        hook: this.#hook,
        metadata: this.#metadata,
        memory: this.#memory,
        approvals: this.#approvals,
      }),
    }
    return new PromptStream((emit, left) =>
      runPrompt(
        this.#settings,
        options,
        { streaming, includeToolCallDeltas, emit },
        signal === undefined ? left : AbortSignal.any([signal, left]),
      ),
    )
  }
}

/** Converts the input of a prompt to messages. */
export function messagesOf(input: PromptInput): readonly Message[] {
  if (typeof input === 'string') return [make.user(input)]
  const messages = isList(input) ? [...input] : [input]
  if (messages.length === 0) throw new TypeError('A prompt needs at least one message.')
  return messages
}

/** `Array.isArray` does not narrow readonly arrays. */
function isList(input: Message | readonly Message[]): input is readonly Message[] {
  return Array.isArray(input)
}

function userMessage(message: Message): UserMessage {
  if (message.role === 'user') return message
  throw new TypeError(`Only user messages can be sent to a run, not messages of the role "${message.role}".`)
}
