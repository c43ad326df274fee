import { MemoryError } from './errors.js'
import { checkMemoryItem, type MemoryItem } from './memory-item.js'
import type { MemoryStore } from './memory-store.js'

/** Memories that end with the process. Sessions that are given one instance share them. */
export class InProcessMemoryStore implements MemoryStore {
  readonly backend = 'memory'
  #items: ReadonlyMap<string, MemoryItem> = new Map()

  async add(item: MemoryItem): Promise<void> {
    const checked = checkMemoryItem(item)
    if (this.#items.has(checked.id)) throw idTaken(checked.id)
    this.#items = new Map(this.#items).set(checked.id, checked)
  }

  async list(): Promise<ReadonlyMap<string, MemoryItem>> {
    return this.#items
  }

  async delete(id: string): Promise<boolean> {
    if (!this.#items.has(id)) return false
    const items = new Map(this.#items)
    items.delete(id)
    this.#items = items
    return true
  }
}

export function idTaken(id: string): MemoryError {
  return new MemoryError('memory_exists', `There is a memory with the id '${id}' already, and it stays.`)
}
