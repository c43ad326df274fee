import type { MemoryItem } from './memory-item.js'

/**
 * Stores memories. Sessions share a store, even across processes; none of them may lose what another wrote. A store
 * does not search: recall has its own index of what `list` returns.
 */
export interface MemoryStore {
  readonly backend: string
  /** Resolves when the item is durable. Rejects with `memory_exists` for an existing id, and changes nothing. */
  add(item: MemoryItem): Promise<void>
  /**
   * Returns all items by id, with the changes of other processes. An unchanged item is the same object as before, and
   * so is an unchanged map: this keeps recall cheap.
   */
  list(): Promise<ReadonlyMap<string, MemoryItem>>
  /** Returns false when there is no such item. */
  delete(id: string): Promise<boolean>
  /** Reads these items again. Returns true when one of them differs from what `list` last returned. */
  changed?(ids: readonly string[]): Promise<boolean>
  /** Returns what could not be read, one sentence each. */
  problems?(): readonly string[]
}
