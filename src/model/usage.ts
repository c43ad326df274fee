import type { ModelPrice, ModelUsage, PriceTier } from './model.js'

/**
 * Returns the cost of a usage in US dollars. `inputTokens` includes tokens read from and written to the provider's
 * cache, and `outputTokens` includes reasoning. Without separate prices, cached tokens cost as much as others. The
 * usage is that of one request: its size decides the tier of the prices.
 */
export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const [inputTokens, outputTokens] = [count(usage.inputTokens), count(usage.outputTokens)]
  const read = count(usage.cachedInputTokens)
  const written = count(usage.cacheWriteTokens ?? usage.cacheCreationInputTokens)
  const plain = Math.max(0, inputTokens - read - written)
  const { input, output, cacheRead = input, cacheWrite = input } = pricesFor(inputTokens, price)
  return (plain * input + read * cacheRead + written * cacheWrite + outputTokens * output) / 1_000_000
}

/** A server can report any number. One that is not a count must not lower a cost, or make a sum unusable. */
function count(tokens: number | undefined): number {
  return typeof tokens === 'number' && Number.isFinite(tokens) && tokens > 0 ? tokens : 0
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
