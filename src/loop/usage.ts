import type { ModelUsage } from '../model/model.js'

/** Tokens of a round or a run. `promptTokens` counts what was read from a cache too. */
export type Usage = {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly totalTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
}

export const noUsage: Usage = {
  promptTokens: 0,
  completionTokens: 0,
  totalTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
}

/** Returns the usage that a provider reported. Missing and invalid figures count as 0. */
export function usageOf(reported: ModelUsage): Usage {
  const promptTokens = count(reported.inputTokens)
  const completionTokens = count(reported.outputTokens)
  return {
    promptTokens,
    completionTokens,
    totalTokens: count(reported.totalTokens) || promptTokens + completionTokens,
    cacheReadTokens: count(reported.cachedInputTokens),
    cacheWriteTokens: count(reported.cacheWriteTokens ?? reported.cacheCreationInputTokens),
    reasoningTokens: count(reported.reasoningTokens),
  }
}

export function addUsage(one: Usage, other: Usage): Usage {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    totalTokens: one.totalTokens + other.totalTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
  }
}

function count(tokens: number | undefined): number {
  return typeof tokens === 'number' && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0
}

/** Returns usage with the field names that hooks and guards get. */
export function snakeUsage(usage: Usage): {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
} {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  }
}
