import type { ModelPrice, ModelUsage } from './model.js'

/**
 * Returns the cost of a usage in US dollars. `inputTokens` includes tokens read from and written to the provider's
 * cache, and `outputTokens` includes reasoning. Without separate prices, cached tokens cost as much as others.
 */
export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { cachedInputTokens: read = 0, cacheCreationInputTokens, cacheWriteTokens } = usage
  const written = cacheWriteTokens ?? cacheCreationInputTokens ?? 0
  const plain = Math.max(0, usage.inputTokens - read - written)
  const { input, output, cacheRead = input, cacheWrite = input } = price
  return (plain * input + read * cacheRead + written * cacheWrite + usage.outputTokens * output) / 1_000_000
}
