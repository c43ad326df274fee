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
  readonly weights?: RelevanceWeights
  readonly embedder?: EmbeddingModel
  /** Told when the embedder fails; words alone count then. */
  readonly onEmbedderFailure?: (error: unknown) => void
  readonly fits?: (item: MemoryItem) => boolean
}

export type MemoryHit = {
  readonly item: MemoryItem
  /** From 0 to 1, by words, meaning, importance and age. */
  readonly relevance: number
  /** How many different words it has in common with the query. */
  readonly sharedWords: number
  /** How near it is in meaning, when there is an embedder. */
  readonly similarity?: number
}

/** One index a store, for all sessions that use it. */
export function searchOf(store: MemoryStore): MemorySearch {
  const search = searches.get(store) ?? new MemorySearch(store)
  searches.set(store, search)
  return search
}

const searches = new WeakMap<MemoryStore, MemorySearch>()

/** Finds memories by their words, and by meaning where a model is given. Follows the store: what did not change is not read again. */
class MemorySearch {
  readonly #store: MemoryStore
  #items: ReadonlyMap<string, MemoryItem> = new Map()
  #index = new WordIndex()
  #slots = new Map<string, number>()
  /** By number of the index; undefined for one that is gone. */
  #bySlot: (MemoryItem | undefined)[] = []
  readonly #vectors = new WeakMap<EmbeddingModel, ItemVectors>()
  #working: Promise<unknown> = Promise.resolve()

  constructor(store: MemoryStore) {
    this.#store = store
  }

  /** One after the other: an index is not asked while it is being changed. */
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
      // A model that is away must not take the memories with it.
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
      return [{ item, relevance: score, sharedWords, ...(similarity !== undefined && { similarity }) }]
    })
  }
}

/** A whole message may be the query; its first words say enough. */
const maxWords = 256
const maxAttempts = 3
const spareSlots = 1000

function wordsIn({ content, tags }: MemoryItem): string[] {
  return termsOf(`${content}\n${tags.join('\n')}`)
}
