import type { ModelFacts } from '../model.js'

/** Differences between servers that implement chat completions. */
export type ChatDialect = {
  /** The name of the output limit. Default: `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Whether usage is requested with `stream_options`. Default: true. Some servers reject unknown fields. */
  readonly streamUsage?: boolean
  /** The field in which earlier reasoning is sent back. Default: it is not sent. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning'
  /** Whether ids of tool calls must be nine letters or digits; otherwise any text up to 40 characters. */
  readonly shortCallIds?: boolean
}

/** Returns the known differences by the provider's name and the model's id. */
export function dialectOf(provider: string, id: string, facts: Pick<ModelFacts, 'reasoning'>): ChatDialect {
  const name = provider.toLowerCase()
  return {
    ...(/^(openai|gpt|azure)/.test(name) &&
      /^(o\d|gpt-[5-9])/.test(id) && {
        maxTokensField: 'max_completion_tokens',
      }),
    ...(name === 'mistral' && { streamUsage: false, shortCallIds: true }),
    // These two reject a tool round without its reasoning.
    ...(/deepseek|kimi|moonshot/.test(`${name} ${id.toLowerCase()}`) &&
      facts.reasoning && {
        reasoningField: 'reasoning_content',
      }),
  }
}
