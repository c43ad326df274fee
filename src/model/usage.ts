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
  const own = pricesFor(inputTokens, price)
  checkAmounts(own)
  const { input, output, cacheRead = input, cacheWrite = input } = own
  return (plain * input + read * cacheRead + written * cacheWrite + outputTokens * output) / 1_000_000
}

/** Throws a `RangeError` for a price that is not a number of at least 0: a budget would never be reached with it. */
export function checkPrice(price: ModelPrice): void {
  for (const each of [price, ...(price.tiers ?? [])]) checkAmounts(each)
}

function checkAmounts({ input, output, cacheRead = 0, cacheWrite = 0 }: Omit<ModelPrice, 'tiers'>): void {
  for (const amount of [input, output, cacheRead, cacheWrite])
    if (!Number.isFinite(amount) || amount < 0)
      throw new RangeError(`The price of a model must be a number of at least 0, not ${amount}.`)
}

/**
 * Returns a valid token count. A server can report any number, and an invalid one must not lower a cost or make a sum
 * unusable.
 */
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
