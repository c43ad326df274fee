import { MemoryError } from './errors.js'
import { checkMemoryItem, type MemoryItem } from './memory-item.js'
import type { MemoryStore } from './memory-store.js'

/** Stores memories until the process ends. Sessions that use the same instance share them. */
export class InProcessMemoryStore implements MemoryStore {
  readonly backend = 'memory'
  readonly #items = new Map<string, MemoryItem>()
  /** The map that was last returned, until something changes: a copy at each change would cost more with every item. */
  #listed: ReadonlyMap<string, MemoryItem> | undefined

  async add(item: MemoryItem): Promise<void> {
    const checked = checkMemoryItem(item)
    if (this.#items.has(checked.id)) throw idTaken(checked.id)
    this.#items.set(checked.id, checked)
    this.#listed = undefined
  }

  async list(): Promise<ReadonlyMap<string, MemoryItem>> {
    this.#listed ??= new Map(this.#items)
    return this.#listed
  }

  async delete(id: string): Promise<boolean> {
    if (!this.#items.delete(id)) return false
    this.#listed = undefined
    return true
  }
}

export function idTaken(id: string): MemoryError {
  return new MemoryError('memory_exists', `A memory with the id '${id}' already exists.`)
}
