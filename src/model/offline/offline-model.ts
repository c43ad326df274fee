import type { Model, ModelFacts } from '../model.js'

/** The settings of {@link offlineModel}. */
export type OfflineModelOptions = {
  /** How to configure a provider, as a sentence for users. */
  readonly howToConfigure?: string
}

/**
 * Creates a model without a provider, for experiments and for machines without a network. It understands a few requests
 * by rules, executes them with the available tools, and says that it is not a language model. The same conversation
 * always has the same answer.
 */
export function offlineModel(options: OfflineModelOptions = {}): Model {
  const howToConfigure =
    options.howToConfigure ?? 'To use a language model, configure a provider, a model and its API key.'
  return {
    provider: 'offline',
    id: 'rules',
    facts,
    async answer(request, call) {
      // The rules are only loaded on first use.
      const { answerByRules } = await import('./answer-by-rules.js')
      return answerByRules(request, call, howToConfigure)
    },
  }
}

const facts: ModelFacts = {
  contextTokens: 200_000,
  tools: true,
  images: false,
  documents: false,
  reasoning: false,
  temperature: false,
  structuredOutput: false,
}
