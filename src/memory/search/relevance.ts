import type { MemoryItem } from '../memory-item.js'

/** The weights of importance and age in addition to the words. */
export type RelevanceWeights = {
  /** The number of days after which the weight of recency has fallen to about a third (1/e). */
  readonly decayDays?: number
  readonly importanceWeight?: number
  readonly recencyWeight?: number
}

/** Returns the relevance of an item independent of the query, from 0 to 1. */
export function relevanceOf(item: MemoryItem, now: number, weights: RelevanceWeights = {}): number {
  const { decayDays = 30, importanceWeight = 0.7, recencyWeight = 0.3 } = weights
  const sum = importanceWeight + recencyWeight
  if (sum <= 0) return 0
  const days = Math.max(0, now - item.createdAtMs) / dayMs
  const recency = decayDays > 0 ? Math.exp(-days / decayDays) : 0
  return (importanceWeight * item.importance + recencyWeight * recency) / sum
}

export const dayMs = 24 * 60 * 60 * 1000
