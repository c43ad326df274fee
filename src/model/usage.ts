import type { ModelPrice, ModelUsage } from './model.js'

export const noUsage: ModelUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }

/** The sum of two usages. It is an estimate as soon as one of them is. */
export function addUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    ...optional('cachedInputTokens', a, b),
    ...optional('cacheWriteTokens', a, b),
    ...optional('reasoningTokens', a, b),
    ...((a.estimated || b.estimated) && { estimated: true }),
  }
}

/**
 * What a usage costs in US dollars. `inputTokens` includes what was read from and written to the provider's cache, as
 * `outputTokens` includes reasoning. Without prices of their own cached tokens cost as much as others.
 */
export function costOf(usage: ModelUsage, price: ModelPrice): number {
  const { cachedInputTokens: read = 0, cacheWriteTokens: written = 0 } = usage
  const plain = Math.max(0, usage.inputTokens - read - written)
  const { input, output, cacheRead = input, cacheWrite = input } = price
  return (plain * input + read * cacheRead + written * cacheWrite + usage.outputTokens * output) / 1_000_000
}

type OptionalCount = 'cachedInputTokens' | 'cacheWriteTokens' | 'reasoningTokens'

function optional(name: OptionalCount, a: ModelUsage, b: ModelUsage): Partial<Record<OptionalCount, number>> {
  if (a[name] === undefined && b[name] === undefined) return {}
  return { [name]: (a[name] ?? 0) + (b[name] ?? 0) }
}
