import { catalogueEntry, factsOfEntry, unknownFacts } from '../catalogue/catalogue.js'
import { ModelError } from '../errors.js'
import type { Model, ModelFacts } from '../model.js'
import { Pacer, type RateLimit } from '../pacer.js'
import type { RetryTiming } from '../retry.js'
import { type AiSdkModel, isAiSdkModel } from './ai-sdk-model.js'
import type { AiSdkParts } from './attempt.js'

/** The settings of {@link fromAiSdk}. */
export type FromAiSdkOptions = {
  /** The name shown for the provider. Default: the first word of the model object's provider. */
  readonly provider?: string
  readonly facts?: Partial<ModelFacts>
  readonly sessionIdHeader?: string | undefined
  readonly retry?: RetryTiming
  /** The rate limits for the model. */
  readonly rateLimit?: RateLimit
}

/**
 * Converts a model object of the AI SDK (specification v2, v3 or v4) to a model. Its `doStream` is called directly;
 * retries, time limits and errors are those of every other model.
 *
 * @example
 * ```ts
 * import { createMistral } from '@ai-sdk/mistral'
 * const model = fromAiSdk(createMistral({ apiKey })('mistral-large-latest'))
 * ```
 */
export function fromAiSdk(model: AiSdkModel, options: FromAiSdkOptions = {}): Model {
  if (!isAiSdkModel(model)) {
    throw new ModelError(
      'model_unavailable',
      'fromAiSdk needs a language model object of the AI SDK, with specificationVersion, provider, modelId and doStream.',
    )
  }
  const provider = options.provider ?? model.provider.split('.')[0] ?? model.provider
  const entry = catalogueEntry(provider, model.modelId)
  return aiSdkModel({
    place: { provider, id: model.modelId, url: '' },
    // Only the model object itself knows which media it can encode.
    facts: {
      ...unknownFacts,
      audio: true,
      video: true,
      ...(entry && factsOfEntry(entry)),
      ...options.facts,
    },
    load: async () => model,
    sessionIdHeader: options.sessionIdHeader,
    retry: options.retry,
    pacer: new Pacer(options.rateLimit),
  })
}

/** Creates the model; its code is loaded with the first request. */
export function aiSdkModel(parts: AiSdkParts): Model {
  return {
    provider: parts.place.provider,
    id: parts.place.id,
    facts: parts.facts,
    async answer(request, call) {
      const { answerWith } = await import('./attempt.js')
      return answerWith(parts, request, call)
    },
  }
}
