import type { MemoryItem } from './memory-item.js'

/**
 * Where memories live. Sessions share a store, also across processes; none of them may lose what another wrote.
 * Searching is not its business: the code that recalls has an index of what `list` returns.
 */
export interface MemoryStore {
  readonly backend: string
  /** Resolves when the item is safe. An id that is taken is refused with `memory_exists`, and what is there stays. */
  add(item: MemoryItem): Promise<void>
  /**
   * Everything there is, by id, with what others changed meanwhile. An item that did not change is the same object as
   * before, and so is the map when nothing did: that is what makes recalling cheap.
   */
  list(): Promise<ReadonlyMap<string, MemoryItem>>
  /** False when there is no such item. */
  delete(id: string): Promise<boolean>
  /** Looks closely at these items. True when one of them is not what `list` last gave. */
  changed?(ids: readonly string[]): Promise<boolean>
  /** What could not be read, one sentence each. */
  problems?(): readonly string[]
}
