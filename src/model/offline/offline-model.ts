import type { Model, ModelFacts } from '../model.js'

export type OfflineModelOptions = {
  /** How a provider is set up here, in a sentence for people. */
  readonly howToConfigure?: string
}

/**
 * A model without a provider, for trying things out and for machines without a network. It understands a handful of requests by
 * rules, works on them with the tools it is offered, and says so plainly. The same conversation always gives the same answer.
 */
export function offlineModel(options: OfflineModelOptions = {}): Model {
  const howToConfigure =
    options.howToConfigure ?? 'To use a language model, configure a provider, a model and its API key.'
  return {
    provider: 'offline',
    id: 'rules',
    facts,
    async answer(request, call) {
      // Its rules are only loaded where nobody else answers.
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
