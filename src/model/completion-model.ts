import type {
  CompletionRequest,
  CompletionResponse,
  Message,
  ReasoningPart,
  ToolCallContent,
} from '../tool/completion.js'
import { toolResultContentToText } from '../tool/content.js'
import { AnswerBuilder } from './answer-builder.js'
import { type AttemptWatch, watchAttempt } from './attempt-watch.js'
import { assertCompletionRequestSupported } from './completion-capability.js'
import { CompletionReader } from './completion-reader.js'
import { hostFailure } from './host-failure.js'
import { lowerHistory } from './lower-history.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts } from './model.js'
import { watchError } from './provider-error.js'
import { type RetryTiming, retryPolicy, withRetries } from './retry.js'
import { unlessAborted } from './unless-aborted.js'

/** What a completion model can do. */
export type CompletionModelCapabilities = {
  readonly streaming: boolean
  readonly tools: boolean
  readonly toolChoice: boolean
  readonly imageInput: boolean
  readonly documentInput: boolean
  readonly outputSchema: boolean
  readonly reasoning: boolean
}

/** A model that gives its whole answer at once. The simplest thing a host can write to bring a model of its own. */
export interface CompletionModel<Raw = unknown, ModelName extends string = string> {
  readonly provider: string
  readonly defaultModel: ModelName
  readonly capabilities: CompletionModelCapabilities
  completion(request: CompletionRequest<ModelName>): Promise<CompletionResponse<Raw>>
}

/** A completion model that can also give its answer in pieces. */
export interface StreamingCompletionModel<Raw = unknown, ModelName extends string = string>
  extends CompletionModel<Raw, ModelName> {
  streamCompletion(request: CompletionRequest<ModelName>): AsyncIterable<CompletionStreamEvent<Raw>>
}

/** `tool_call` is what counts; the deltas before it are a preview. `final` may be left out. */
export type CompletionStreamEvent<Raw = unknown> =
  | { type: 'text_delta'; delta: string }
  /** `encrypted` and `redacted` pieces go back to the provider with the history, and are not shown. */
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

export type FromCompletionModelOptions = {
  readonly facts?: Partial<ModelFacts>
  readonly retry?: RetryTiming
}

/**
 * A completion model as a model of ours. It streams when it can. Such a model knows no abort signal: when a request is aborted,
 * nobody listens to it any more, whatever it still does.
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

/** Whether a value is a completion model, as opposed to a model of ours. */
export function isCompletionModel(value: unknown): value is CompletionModel {
  return (
    typeof value === 'object' &&
    value !== null &&
    'completion' in value &&
    typeof value.completion === 'function'
  )
}

/** A result of a tool for a model that takes no images: each is named by a placeholder. */
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
    // Not awaited: a generator that is stuck would never give its word.
    if (!finished) iterator.return?.().catch(() => undefined)
  }
}
