import type { MemoryItem } from './memory-item.js'
import { dayMs, type RelevanceWeights, relevanceOf } from './search/relevance.js'

/** The limits for the removal of memories. Without a policy nothing is removed. */
export type PrunePolicy = {
  /** Removes memories older than this, in days. */
  readonly maxAgeDays?: number
  /** Keeps memories of at least this importance, whatever their age. */
  readonly minImportanceToKeep?: number
  /** The maximum number of memories: the most valuable ones by importance and age are kept. */
  readonly maxItems?: number
}

/** Returns the ids of the items that a policy removes. */
export function toPrune(
  items: Iterable<MemoryItem>,
  { maxAgeDays, minImportanceToKeep, maxItems }: PrunePolicy,
  now: number,
  weights?: RelevanceWeights,
): string[] {
  const oldest = maxAgeDays === undefined ? Number.NEGATIVE_INFINITY : now - maxAgeDays * dayMs
  const isOld = ({ createdAtMs, importance }: MemoryItem): boolean =>
    createdAtMs < oldest && !(importance >= (minImportanceToKeep ?? Number.POSITIVE_INFINITY))
  const all = [...items]
  const old = all.filter(isOld)
  const young = all.filter((item) => !isOld(item))
  const over = maxItems === undefined ? 0 : Math.max(0, young.length - maxItems)
  const least = over === 0 ? [] : young.toSorted(byWorth(now, weights)).slice(0, over)
  return [...old, ...least].map(({ id }) => id)
}

function byWorth(now: number, weights?: RelevanceWeights): (a: MemoryItem, b: MemoryItem) => number {
  return (a, b) =>
    relevanceOf(a, now, weights) - relevanceOf(b, now, weights) ||
    a.createdAtMs - b.createdAtMs ||
    (a.id < b.id ? -1 : 1)
}
