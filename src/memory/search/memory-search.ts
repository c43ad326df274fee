import type { EmbeddingModel } from '../../tool/search/embedding.js'
import { selectTop } from '../../tool/search/select-top.js'
import { inSlices } from '../in-slices.js'
import type { MemoryItem } from '../memory-item.js'
import type { MemoryStore } from '../memory-store.js'
import { ItemVectors } from './item-vectors.js'
import { type RelevanceWeights, relevanceOf } from './relevance.js'
import { termsOf, WordIndex } from './word-index.js'

export type MemoryQuery = {
  readonly text: string
  readonly limit: number
  readonly now: number
  readonly weights?: RelevanceWeights | undefined
  readonly embedder?: EmbeddingModel | undefined
  /** Called when the embedder fails; the search then uses only words. */
  readonly onEmbedderFailure?: (error: unknown) => void
  readonly fits?: (item: MemoryItem) => boolean
}

export type MemoryHit = {
  readonly item: MemoryItem
  /** From 0 to 1, by words, meaning, importance and age. */
  readonly relevance: number
  /** The number of different words that it shares with the query. */
  readonly sharedWords: number
  /** Its similarity in meaning, if there is an embedder. */
  readonly similarity?: number | undefined
}

/** Returns the index of a store, shared by all sessions that use the store. */
export function searchOf(store: MemoryStore): MemorySearch {
  const search = searches.get(store) ?? new MemorySearch(store)
  searches.set(store, search)
  return search
}

const searches = new WeakMap<MemoryStore, MemorySearch>()

/** Finds memories by words, and by meaning if there is an embedding model. Unchanged items are not read again. */
class MemorySearch {
  readonly #store: MemoryStore
  #items: ReadonlyMap<string, MemoryItem> = new Map()
  #index = new WordIndex()
  #slots = new Map<string, number>()
  /** Items by their slot in the index; undefined for a removed item. */
  #bySlot: (MemoryItem | undefined)[] = []
  readonly #vectors = new WeakMap<EmbeddingModel, ItemVectors>()
  #working: Promise<unknown> = Promise.resolve()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** Searches run one after the other: the index must not change during a search. */
  similar(query: MemoryQuery): Promise<MemoryHit[]> {
    const found = this.#working.then(() => this.#similar(query))
    this.#working = found.catch(() => undefined)
    return found
  }

  async #similar(query: MemoryQuery): Promise<MemoryHit[]> {
    for (let attempt = 1; ; attempt++) {
      await this.#follow(await this.#store.list())
      const hits = this.#rank(query, await this.#near(query))
      const stale = await this.#store.changed?.(hits.map(({ item }) => item.id))
      if (!stale || attempt === maxAttempts) return hits
    }
  }

  async #follow(items: ReadonlyMap<string, MemoryItem>): Promise<void> {
    if (items === this.#items) return
    for (const [id, item] of this.#items) if (items.get(id) !== item) this.#remove(item)
    if (this.#bySlot.length > 2 * items.size + spareSlots) this.#reset()
    this.#items = items
    const added: MemoryItem[] = []
    for (const item of items.values()) if (!this.#slots.has(item.id)) added.push(item)
    await inSlices(added, (item) => this.#add(item))
  }

  #add(item: MemoryItem): void {
    const slot = this.#index.add(wordsIn(item))
    this.#slots.set(item.id, slot)
    this.#bySlot[slot] = item
  }

  #remove(item: MemoryItem): void {
    const slot = this.#slots.get(item.id)
    if (slot === undefined) return
    this.#index.remove(slot, wordsIn(item))
    this.#slots.delete(item.id)
    this.#bySlot[slot] = undefined
  }

  #reset(): void {
    this.#index = new WordIndex()
    this.#slots = new Map()
    this.#bySlot = []
  }

  async #near(query: MemoryQuery): Promise<ReadonlyMap<MemoryItem, number> | undefined> {
    const { embedder, text } = query
    if (embedder === undefined) return undefined
    const vectors = this.#vectors.get(embedder) ?? new ItemVectors(embedder)
    this.#vectors.set(embedder, vectors)
    try {
      return await vectors.near(text, this.#items)
    } catch (error) {
      // A failing model must not make the memories unavailable.
      query.onEmbedderFailure?.(error)
      return undefined
    }
  }

  #rank(query: MemoryQuery, near: ReadonlyMap<MemoryItem, number> | undefined): MemoryHit[] {
    const words = new Set(termsOf(query.text).slice(0, maxWords))
    const scores = this.#index.scores(words)
    let best = 0
    for (const score of scores) if (score > best) best = score
    const matchOf = (at: number, item: MemoryItem): number => {
      const byWords = best === 0 ? 0 : (scores[at] ?? 0) / best
      return near === undefined ? byWords : (byWords + (near.get(item) ?? 0)) / 2
    }
    const top = selectTop(scores.length, query.limit, (at) => {
      const item = this.#bySlot[at]
      if (item === undefined || (near === undefined && scores[at] === 0)) return undefined
      const match = matchOf(at, item)
      if (match === 0 || query.fits?.(item) === false) return undefined
      return match * (1 + relevanceOf(item, query.now, query.weights)) * 0.5
    })
    return top.flatMap(({ at, score }) => {
      const item = this.#bySlot[at]
      if (item === undefined) return []
      const similarity = near?.get(item)
      const sharedWords = new Set(wordsIn(item).filter((word) => words.has(word))).size
      return [{ item, relevance: score, sharedWords, similarity }]
    })
  }
}

/** The query may be a whole message; its first words are enough. */
const maxWords = 256
const maxAttempts = 3
const spareSlots = 1000

function wordsIn({ content, tags }: MemoryItem): string[] {
  return termsOf(`${content}\n${tags.join('\n')}`)
}
