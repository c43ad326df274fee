import { type EmbeddingModel, embedInBatches } from '../../tool/search/embedding.js'
import { VectorBlock } from '../../tool/search/vector-block.js'
import { withTimeout } from '../../workspace/shell/with-timeout.js'
import type { MemoryItem } from '../memory-item.js'

/** The similarity of items to a query, from 0 (unrelated) to 1. */
export type Nearness = ReadonlyMap<MemoryItem, number>

/** The vectors of items, each computed once per process. */
export class ItemVectors {
  readonly #model: EmbeddingModel
  readonly #block = new VectorBlock()
  readonly #rows: MemoryItem[] = []
  #followed: ReadonlyMap<string, MemoryItem> | undefined
  #busy = false

  constructor(model: EmbeddingModel) {
    this.#model = model
  }

  /**
   * Returns the similarity of each item. Rejects when the model fails or takes too long; vectors that arrive later
   * are used by the next query.
   */
  async near(query: string, items: ReadonlyMap<string, MemoryItem>): Promise<Nearness> {
    if (this.#busy) throw new Error('it is still busy')
    this.#busy = true
    const near = this.#near(query, items).finally(() => {
      this.#busy = false
    })
    // An error after the timeout has no caller to report to.
    near.catch(() => undefined)
    const found = await withTimeout(near, maxMs)
    if (found === undefined) throw new Error(`it took longer than ${maxMs} ms`)
    return found
  }

  async #near(query: string, items: ReadonlyMap<string, MemoryItem>): Promise<Nearness> {
    await this.#follow(items)
    const near = new Map<MemoryItem, number>()
    if (this.#rows.length === 0) return near
    const [embedding] = await embedInBatches(this.#model, [query])
    const scores = this.#block.scores(embedding?.vector ?? [])
    for (const [at, item] of this.#rows.entries()) near.set(item, Math.min(1, Math.max(0, scores[at] ?? 0)))
    return near
  }

  async #follow(items: ReadonlyMap<string, MemoryItem>): Promise<void> {
    if (items === this.#followed) return
    for (let at = this.#rows.length - 1; at >= 0; at--) {
      const item = this.#rows[at]
      if (item === undefined || items.get(item.id) === item) continue
      this.#block.remove(at, 1)
      this.#rows.splice(at, 1)
    }
    const known = new Set(this.#rows)
    const missing = [...items.values()].filter((item) => !known.has(item))
    // In portions: vectors that exist are not computed again when a later portion fails.
    for (let from = 0; from < missing.length; from += portion) {
      const some = missing.slice(from, from + portion)
      const texts = some.map(({ content }) => content)
      const embeddings = await embedInBatches(this.#model, texts, concurrency)
      for (const [at, item] of some.entries()) {
        this.#block.push(embeddings[at]?.vector ?? [], `the memory '${item.id}'`)
        this.#rows.push(item)
      }
    }
    this.#followed = items
  }
}

const portion = 256
const concurrency = 2
const maxMs = 10_000
