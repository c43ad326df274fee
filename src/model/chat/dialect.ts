import type { ModelFacts } from '../model.js'

/** Where servers that speak chat completions differ. */
export type ChatDialect = {
  /** How the limit of the answer is called; `max_tokens` unless told. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Whether usage is asked for with `stream_options`; yes unless told. Some servers refuse what they do not know. */
  readonly streamUsage?: boolean
  /** Where earlier reasoning goes back to the model; not at all unless told. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning'
  /** Whether ids of tool calls must be nine letters or digits; else they may be of any kind up to 40 characters. */
  readonly shortCallIds?: boolean
}

/** What is known of servers by the provider's name and the model's id. */
export function dialectOf(provider: string, id: string, facts: Pick<ModelFacts, 'reasoning'>): ChatDialect {
  const name = provider.toLowerCase()
  return {
    ...(/^(openai|gpt|azure)/.test(name) &&
      /^(o\d|gpt-[5-9])/.test(id) && {
        maxTokensField: 'max_completion_tokens',
      }),
    ...(name === 'mistral' && { streamUsage: false, shortCallIds: true }),
    // These two refuse a tool round whose reasoning is missing.
    ...(/deepseek|kimi|moonshot/.test(`${name} ${id.toLowerCase()}`) &&
      facts.reasoning && {
        reasoningField: 'reasoning_content',
      }),
  }
}
