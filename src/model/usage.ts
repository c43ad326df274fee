import type { ModelPrice, ModelUsage, PriceTier } from './model.js'

/**
 * Returns the cost of a usage in US dollars. `inputTokens` includes tokens read from and written to the provider's
 * cache, and `outputTokens` includes reasoning. Without separate prices, cached tokens cost as much as others. The
 * usage is that of one request: its size decides the tier of the prices.
 */
export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { cachedInputTokens: read = 0, cacheCreationInputTokens, cacheWriteTokens } = usage
  const written = cacheWriteTokens ?? cacheCreationInputTokens ?? 0
  const plain = Math.max(0, usage.inputTokens - read - written)
  const { input, output, cacheRead = input, cacheWrite = input } = pricesFor(usage.inputTokens, price)
  return (plain * input + read * cacheRead + written * cacheWrite + usage.outputTokens * output) / 1_000_000
}

function pricesFor(inputTokens: number, price: ModelPrice): Omit<ModelPrice, 'tiers'> {
  const reached = (price.tiers ?? []).filter(({ aboveInputTokens }) => inputTokens > aboveInputTokens)
  return (
    reached.reduce<PriceTier | undefined>(
      (highest, tier) => (highest && highest.aboveInputTokens > tier.aboveInputTokens ? highest : tier),
      undefined,
    ) ?? price
  )
}
