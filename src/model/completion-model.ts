import type {
  CompletionRequest,
  CompletionResponse,
  Message,
  ReasoningPart,
  ToolCallContent,
} from '../tool/completion.js'
import { toolResultContentToText } from '../tool/content.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import { AnswerBuilder } from './answer-builder.js'
import { type AttemptWatch, watchAttempt } from './attempt-watch.js'
import { assertCompletionRequestSupported } from './completion-capability.js'
import { CompletionReader } from './completion-reader.js'
import { hostFailure } from './host-failure.js'
import { lowerHistory } from './lower-history.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts } from './model.js'
import { watchError } from './provider-error.js'
import { type RetryTiming, retryPolicy, withRetries } from './retry.js'

/** The capabilities of a completion model. */
export type CompletionModelCapabilities = {
  readonly streaming: boolean
  readonly tools: boolean
  readonly toolChoice: boolean
  readonly imageInput: boolean
  readonly documentInput: boolean
  readonly outputSchema: boolean
  readonly reasoning: boolean
}

/** A model that returns its whole answer at once: the simplest way for a host to provide its own model. */
export interface CompletionModel<Raw = unknown, ModelName extends string = string> {
  readonly provider: string
  readonly defaultModel: ModelName
  readonly capabilities: CompletionModelCapabilities
  completion(request: CompletionRequest<ModelName>): Promise<CompletionResponse<Raw>>
}

/** A completion model that can also stream its answer. */
export interface StreamingCompletionModel<Raw = unknown, ModelName extends string = string>
  extends CompletionModel<Raw, ModelName> {
  streamCompletion(request: CompletionRequest<ModelName>): AsyncIterable<CompletionStreamEvent<Raw>>
}

/**
 * An event of a streaming completion model. Only `tool_call` is used for the call; the deltas before it are a preview.
 * `final` is optional.
 */
export type CompletionStreamEvent<Raw = unknown> =
  | { type: 'text_delta'; delta: string }
  /** `encrypted` and `redacted` pieces are returned to the provider with the history, and are not shown. */
  | {
      type: 'reasoning_delta'
      delta: string
      id?: string
      contentType?: ReasoningPart['type']
      signature?: string
    }
  | {
      type: 'tool_call_delta'
      id: string
      callId?: string
      name?: string
      argumentsDelta?: string
      argumentsMode?: 'append' | 'replace'
      signature?: string
    }
  | { type: 'tool_call'; toolCall: ToolCallContent }
  | { type: 'message_id'; id: string }
  | { type: 'final'; response: CompletionResponse<Raw> }
  | { type: 'error'; error: unknown }

/** The settings of {@link fromCompletionModel}. */
export type FromCompletionModelOptions = {
  readonly facts?: Partial<ModelFacts>
  readonly retry?: RetryTiming
}

/**
 * Converts a completion model to a model. It streams if it can. Such a model has no abort signal: when a request is
 * aborted, its further output is ignored.
 */
export function fromCompletionModel(
  model: CompletionModel | StreamingCompletionModel,
  options: FromCompletionModelOptions = {},
): Model {
  return {
    provider: model.provider,
    id: model.defaultModel,
    facts: { ...factsOf(model), ...options.facts },
    async answer(request, call) {
      assertCompletionRequestSupported(model, request)
      const history = lowerHistory(request.chatHistory)
      const chatHistory = model.capabilities?.imageInput === false ? history.map(withoutImages) : [...history]
      const lowered = { ...request, chatHistory }
      return withRetries(() => attempt(model, lowered, call), retryPolicy(call, options.retry))
    },
  }
}

/** Returns whether a value is a completion model, in contrast to a {@link Model}. */
export function isCompletionModel(value: unknown): value is CompletionModel {
  return (
    typeof value === 'object' &&
    value !== null &&
    'completion' in value &&
    typeof value.completion === 'function'
  )
}

/** Replaces the images of a tool result by placeholders, for a model that accepts no images. */
function withoutImages(message: Message): Message {
  if (message.role !== 'tool') return message
  if (!message.content.some(({ content }) => content.some(({ type }) => type === 'image'))) return message
  return {
    ...message,
    content: message.content.map((part) => ({
      ...part,
      content: [{ type: 'text', text: toolResultContentToText(part.content) }],
    })),
  }
}

function factsOf({ capabilities }: { readonly capabilities?: CompletionModelCapabilities }): ModelFacts {
  return {
    contextTokens: 200_000,
    tools: capabilities?.tools ?? true,
    images: capabilities?.imageInput ?? true,
    documents: capabilities?.documentInput ?? true,
    reasoning: capabilities?.reasoning ?? false,
    temperature: true,
    ...(capabilities?.outputSchema !== undefined && { structuredOutput: capabilities.outputSchema }),
  }
}

async function attempt(
  model: CompletionModel,
  request: CompletionRequest,
  call: ModelCall,
): Promise<ModelAnswer> {
  const builder = new AnswerBuilder(request, call)
  const watch = watchAttempt(call)
  const place = { provider: model.provider, id: model.defaultModel, url: '' }
  try {
    const reader = new CompletionReader(builder)
    if (isStreaming(model)) await readStream(model.streamCompletion(request), reader, builder, watch, call)
    else reader.response(await unlessAborted(model.completion(request), watch.signal))
    return builder.finish(reader.end())
  } catch (error) {
    call.signal.throwIfAborted()
    throw watchError(place, watch.ended, call, builder.emitted) ?? hostFailure(place, error, builder.emitted)
  } finally {
    watch.stop()
  }
}

function isStreaming(model: CompletionModel): model is StreamingCompletionModel {
  const { capabilities }: { readonly capabilities?: CompletionModelCapabilities } = model
  return capabilities?.streaming !== false && 'streamCompletion' in model
}

async function readStream(
  events: AsyncIterable<CompletionStreamEvent>,
  reader: CompletionReader,
  builder: AnswerBuilder,
  watch: AttemptWatch,
  call: ModelCall,
): Promise<void> {
  const iterator = events[Symbol.asyncIterator]()
  let pieces = 0
  let finished = false
  try {
    for (;;) {
      const { done, value } = await unlessAborted(iterator.next(), watch.signal)
      finished = done === true
      if (finished) return
      reader.event(value)
      if (builder.pieces === pieces) continue
      pieces = builder.pieces
      watch.alive()
      const full = call.drain?.()
      if (full !== undefined) await watch.pause(full)
    }
  } finally {
    // Not awaited: the promise of a generator that hangs would never settle.
    if (!finished) iterator.return?.().catch(() => undefined)
  }
}
