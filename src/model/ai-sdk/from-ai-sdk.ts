import type { CompletionRequest } from '../../tool/completion.js'
import { AnswerBuilder } from '../answer-builder.js'
import { type AttemptWatch, watchAttempt } from '../attempt-watch.js'
import { ModelError } from '../errors.js'
import type { Model, ModelAnswer, ModelCall, ModelFacts } from '../model.js'
import { type ModelPlace, watchError } from '../provider-error.js'
import { type RetryTiming, withRetries } from '../retry.js'
import { unlessAborted } from '../unless-aborted.js'
import { type AiSdkModel, isAiSdkModel, specificationOf } from './ai-sdk-model.js'
import { StreamReader } from './read-stream.js'
import { toCallOptions } from './to-call-options.js'
import { endError, toModelError } from './to-model-error.js'

export type FromAiSdkOptions = {
  /** The name shown for the provider; the first word of the model object's own unless told. */
  readonly provider?: string
  readonly facts?: Partial<ModelFacts>
  readonly sessionIdHeader?: string
  readonly retry?: RetryTiming
}

/**
 * A model object of the AI SDK (specification v2, v3 or v4) as a model of ours. The object's `doStream` is called directly;
 * retries, time limits and errors are the same as for every other model.
 *
 * ```ts
 * import { createMistral } from '@ai-sdk/mistral'
 * const model = fromAiSdk(createMistral({ apiKey })('mistral-large-latest'))
 * ```
 */
export function fromAiSdk(model: AiSdkModel, options: FromAiSdkOptions = {}): Model {
  if (!isAiSdkModel(model)) {
    throw new ModelError(
      'model_unavailable',
      'fromAiSdk takes a language model object of the AI SDK, with specificationVersion, provider, modelId and doStream.',
    )
  }
  const provider = options.provider ?? model.provider.split('.')[0] ?? model.provider
  return aiSdkModel({
    place: { provider, id: model.modelId, url: '' },
    facts: { ...unknownFacts, ...options.facts },
    load: async () => model,
    ...(options.sessionIdHeader !== undefined && { sessionIdHeader: options.sessionIdHeader }),
    ...(options.retry !== undefined && { retry: options.retry }),
  })
}

/** What is assumed of a model that nobody described. */
export const unknownFacts: ModelFacts = {
  contextTokens: 128_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: false,
  temperature: true,
  structuredOutput: true,
}

type AiSdkParts = {
  readonly place: ModelPlace
  readonly facts: ModelFacts
  /** Gives the model object, at every attempt. */
  load(): Promise<AiSdkModel>
  readonly sessionIdHeader?: string
  readonly retry?: RetryTiming
  /** Whether an answer that ends without a reason was cut off. */
  readonly mustSayWhy?: boolean
}

export function aiSdkModel(parts: AiSdkParts): Model {
  const { place, facts } = parts
  return {
    provider: place.provider,
    id: place.id,
    facts,
    answer: (request, call) =>
      withRetries(() => attempt(parts, request, call), {
        ...parts.retry,
        signal: call.signal,
        on: (event) => call.on(event),
        maxAttempts: call.maxAttempts,
      }),
  }
}

async function attempt(parts: AiSdkParts, request: CompletionRequest, call: ModelCall): Promise<ModelAnswer> {
  const { place, facts, sessionIdHeader } = parts
  const model = await parts.load()
  const target = {
    specification: specificationOf(model),
    provider: model.provider,
    facts,
    ...(sessionIdHeader !== undefined && { sessionIdHeader }),
  }
  const builder = new AnswerBuilder(request, call)
  const watch = watchAttempt(call)
  try {
    // A model object that ignores the signal must not hold the run.
    const { stream } = await unlessAborted(
      model.doStream(toCallOptions(request, target, call, watch.signal)),
      watch.signal,
    )
    const reader = new StreamReader(builder)
    await readAll(stream, reader, builder, watch, call)
    const { end } = reader
    const failed = endError(place, end, builder.emitted, parts.mustSayWhy === true)
    if (failed !== undefined || end === undefined || end.finish === 'error') throw failed
    const { raw: _, finish, ...rest } = end
    return builder.finish({ ...rest, finish })
  } catch (error) {
    call.signal.throwIfAborted()
    throw watchError(place, watch.ended, call, builder.emitted) ?? toModelError(place, error, builder.emitted)
  } finally {
    watch.stop()
  }
}

async function readAll(
  stream: ReadableStream<unknown>,
  into: StreamReader,
  builder: AnswerBuilder,
  watch: AttemptWatch,
  call: ModelCall,
): Promise<void> {
  const reader = stream.getReader()
  let pieces = 0
  try {
    for (;;) {
      const { done, value } = await unlessAborted(reader.read(), watch.signal)
      if (done) return
      into.read(value)
      if (builder.pieces === pieces) continue
      pieces = builder.pieces
      watch.alive()
      const full = call.drain?.()
      if (full !== undefined) await watch.pause(full)
    }
  } finally {
    // Ends the connection when the stream was left early; what it answers is of no more interest.
    reader.cancel().catch(() => undefined)
  }
}
