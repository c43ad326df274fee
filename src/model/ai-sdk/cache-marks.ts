import { omitUndefined } from '../../tool/omit-undefined.js'
import type { PromptCache } from '../model.js'
import type { AiSdkCallOptions, AiSdkMessage, AiSdkProviderOptions } from './ai-sdk-model.js'

/** Returns whether a provider caches only up to marks that the caller sets. */
export function takesCacheMarks(provider: string): boolean {
  return provider.toLowerCase().includes('anthropic')
}

/**
 * Sets at most four cache marks: after the last tool, after the last system message, at the end of the request, and
 * where the previous request ended. Without the last one, a round with many results would put two marks further apart
 * than the provider searches backwards.
 */
export function markForCache(options: AiSdkCallOptions, wanted?: PromptCache | undefined): AiSdkCallOptions {
  // Five minutes is the provider's own default.
  const ttl = wanted === '1h' || wanted === '24h' ? ({ ttl: '1h' } as const) : {}
  const mark = <Marked extends Markable>(thing: Marked): Marked => {
    const cacheControl = { type: 'ephemeral', ...ttl }
    const anthropic = { ...thing.providerOptions?.['anthropic'], cacheControl }
    return { ...thing, providerOptions: { ...thing.providerOptions, anthropic } }
  }
  const { prompt, tools } = options
  const system = prompt.findLastIndex(({ role }) => role === 'system')
  const ends = [prompt.length - 1, endBeforeAnswer(prompt)].filter((at) => isEnd(prompt[at]))
  const marked = new Set([system, ...ends])
  return {
    ...options,
    prompt: prompt.map((message, index) => (marked.has(index) ? mark(message) : message)),
    ...omitUndefined({
      tools: tools?.map((tool, index) => (index === tools.length - 1 ? mark(tool) : tool)),
    }),
  }
}

/** Returns the index of the last message before the model's latest answer. */
function endBeforeAnswer(prompt: readonly AiSdkMessage[]): number {
  return prompt.findLastIndex(({ role }) => role === 'assistant') - 1
}

function isEnd(message: AiSdkMessage | undefined): boolean {
  return message?.role === 'user' || message?.role === 'tool'
}

type Markable = { readonly providerOptions?: AiSdkProviderOptions }
