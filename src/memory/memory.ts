import type { MemoryEvent } from '../loop/events.js'
import { messageOf } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import { selectTop } from '../tool/search/select-top.js'
import { MemoryError } from './errors.js'
import type { MemoryItem } from './memory-item.js'
import type { MemoryStore } from './memory-store.js'
import { failureNote, modelNote, type Note, type RunToRemember, runNote, successNote } from './note.js'
import { defaultMemory, type MemoryOptions } from './options.js'
import { toPrune } from './prune.js'
import { defaultSection, type RecalledSection, recalledSection, shownId } from './recalled-section.js'
import { type MemoryHit, searchOf } from './search/memory-search.js'
import { relevanceOf } from './search/relevance.js'
import { termsOf } from './search/word-index.js'

export type MemoryParts = {
  readonly store: MemoryStore
  readonly options: MemoryOptions
  now(): number
  newId(): string
  /** Returns the kind of secret that a text contains, if any. */
  secretIn(text: string): string | undefined
  /** Redacts a text for the model. */
  redact(text: string): string
  emit(event: MemoryEvent): void
  /** Reports a problem that does not stop anything. */
  notice(message: string): void
}

/** A found item, with its relevance from 0 to 1. */
export type RecalledMemory = MemoryItem & { readonly relevance: number }

/** The number of memories, in the store and in the views of this session. */
export type MemoryStats = {
  readonly longTermCount: number
  readonly shortTermCount: number
  readonly workingCount: number
}

/** The memory of one session: the long-term store, and two views that end with the session. */
export class Memory {
  readonly #parts: MemoryParts
  /** The memories that this session saved, newest first. */
  #shortTerm: readonly MemoryItem[] = []
  /** The memories that the model was last shown, newest first. */
  #working: readonly MemoryItem[] = []
  #prunedAt: number | undefined
  readonly #reported = new Set<string>()

  constructor(parts: MemoryParts) {
    this.#parts = parts
  }

  async rememberSuccess(task: string, tools: readonly string[], result: string): Promise<MemoryItem> {
    return this.#remember(successNote(task, tools, result))
  }

  async rememberFailure(task: string, error: string, tools: readonly string[]): Promise<MemoryItem> {
    return this.#remember(failureNote(task, error, tools))
  }

  /** Saves a memory of a run, if the option is set. A failure is reported and does not stop anything. */
  async rememberRun(run: RunToRemember): Promise<void> {
    if (this.#parts.options.rememberRuns !== true) return
    try {
      await this.#remember(runNote(run), { runId: run.runId })
    } catch (error) {
      this.#parts.notice(`The run is not remembered: ${messageOf(error)}`)
    }
  }

  async recallSimilar(query: string, limit: number): Promise<RecalledMemory[]> {
    if (typeof query !== 'string') throw invalid('recallSimilar takes a text to look for')
    const hits = await this.#search(query, readLimit(limit))
    this.#parts.emit({ type: 'memories_searched', query, tags: [], resultCount: hits.length })
    return hits.map(({ item, relevance }) => ({ ...item, relevance }))
  }

  /** Returns the items with any of the tags, ordered by the number of matching tags, then importance and age. */
  async recallByTags(tags: readonly string[], limit: number): Promise<RecalledMemory[]> {
    if (!isTexts(tags)) throw invalid('recallByTags takes a list of tags')
    const wanted = new Set(tags.map((tag) => tag.trim().toLowerCase()))
    const { options } = this.#parts
    const now = this.#parts.now()
    const found = await this.#best(limit, (item) => {
      const shared = item.tags.filter((tag) => wanted.has(tag.toLowerCase())).length
      return shared === 0
        ? undefined
        : (shared + relevanceOf(item, now, options.relevance)) / (wanted.size + 1)
    })
    this.#parts.emit({ type: 'memories_searched', tags: [...tags], resultCount: found.length })
    return found
  }

  async recent(limit: number): Promise<MemoryItem[]> {
    const newest = await this.#best(limit, ({ createdAtMs }) => createdAtMs)
    return newest.map(({ relevance: _, ...item }) => item)
  }

  /** Saves a note of the model, with its origin. */
  async rememberForModel(
    text: string,
    tags: readonly string[],
    by: { readonly sessionId: string; readonly runId: string },
  ): Promise<MemoryItem> {
    const max = maxModelNotes(this.#parts.options)
    const items = await this.#parts.store.list()
    let count = 0
    for (const item of items.values()) if (isModelNote(item)) count++
    if (count >= max)
      throw new MemoryError(
        'memory_full',
        `The memory was not saved: there are ${count} notes of models, and ${max} is the limit. Delete one with forget first.`,
      )
    return this.#remember(modelNote(text, tags), { source: 'model', ...by })
  }

  /** Returns the best matching memories as quoted data, in the form that prompts have. */
  async section(query: string, limit: number): Promise<string | undefined> {
    const found = await this.recallSimilar(query, limit)
    const limits = { maxItems: limit, maxBytes: maxSectionBytes }
    return recalledSection(found, limits, this.#parts.redact)?.text
  }

  /** Deletes a memory. A model can delete only memories that a model saved. */
  async forget(id: string, by: 'host' | 'model'): Promise<boolean> {
    const { store } = this.#parts
    const item = (await store.list()).get(id)
    if (item === undefined || (by === 'model' && !isModelNote(item))) return false
    if (!(await store.delete(id))) return false
    this.#shortTerm = this.#shortTerm.filter((each) => each.id !== id)
    this.#working = this.#working.filter((each) => each.id !== id)
    this.#parts.emit({ type: 'memory_cleared', tier: 'long_term', count: 1 })
    return true
  }

  async stats(): Promise<MemoryStats> {
    const { size } = await this.#parts.store.list()
    return { longTermCount: size, shortTermCount: this.#shortTerm.length, workingCount: this.#working.length }
  }

  /**
   * Returns the memories to show with a prompt: those that share words with it or are similar in meaning, and that the
   * model does not already see. Undefined when there are none. If they cannot be read, that is reported and the prompt
   * is sent without them.
   */
  async offer(prompt: string, shown: ReadonlySet<string>): Promise<RecalledSection | undefined> {
    const { recall } = this.#parts.options
    if (recall === false) return undefined
    try {
      await this.#pruneWhenDue()
      const limits = { ...defaultSection, ...recall }
      const needed = Math.min(sharedWords, new Set(termsOf(prompt)).size)
      const hits = (await this.#search(prompt, limits.maxItems * 2, shown)).filter((hit) =>
        isNear(hit, needed),
      )
      const section = recalledSection(
        hits.map(({ item }) => item),
        limits,
        this.#parts.redact,
      )
      this.#tellProblems()
      if (section !== undefined) this.#noteShown(section, hits)
      return section
    } catch (error) {
      this.#parts.notice(`No memories are offered: ${messageOf(error)}`)
      return undefined
    }
  }

  shortTerm(): readonly MemoryItem[] {
    return this.#shortTerm
  }

  working(): readonly MemoryItem[] {
    return this.#working
  }

  clearShortTerm(): number {
    const count = this.#shortTerm.length
    this.#shortTerm = []
    this.#parts.emit({ type: 'memory_cleared', tier: 'short_term', count })
    return count
  }

  clearWorking(): number {
    const count = this.#working.length
    this.#working = []
    this.#parts.emit({ type: 'memory_cleared', tier: 'working', count })
    return count
  }

  async #remember(note: Note, metadata: JsonObject = {}): Promise<MemoryItem> {
    const createdAtMs = this.#parts.now()
    const item = { ...note, createdAtMs, metadata }
    this.#refuseSecrets(item)
    const kept = await this.#add(item, nameFor(note.title, createdAtMs, this.#parts.newId()))
    const { id: memoryId, memoryType, importance, tags } = kept
    this.#shortTerm = [kept, ...this.#shortTerm].slice(0, this.#setting('maxShortTerm'))
    this.#parts.emit({ type: 'memory_stored', memoryId, memoryType, importance, tags })
    await this.#pruneWhenDue()
    return kept
  }

  /** Adds an item. Two hosts may generate the same ids: the second one uses the next free id. */
  async #add({ title: _, ...rest }: Note & Omit<MemoryItem, 'id'>, name: string): Promise<MemoryItem> {
    for (let attempt = 1; ; attempt++) {
      const item: MemoryItem = { id: attempt === 1 ? name : `${name}-${attempt}`, ...rest }
      try {
        await this.#parts.store.add(item)
        return item
      } catch (error) {
        const taken = error instanceof MemoryError && error.code === 'memory_exists'
        if (!taken || attempt === maxAttempts) throw error
      }
    }
  }

  #refuseSecrets({ title, content, tags, metadata }: Note & Omit<MemoryItem, 'id'>): void {
    for (const text of [content, title, ...tags, JSON.stringify(metadata)]) {
      const kind = this.#parts.secretIn(text)
      if (kind === undefined) continue
      throw new MemoryError(
        'memory_secret',
        `The memory was not saved: it contains text that looks like a secret (${kind}). Remove it, and save the rest.`,
      )
    }
  }

  #search(text: string, limit: number, shown?: ReadonlySet<string>): Promise<MemoryHit[]> {
    const { options, store, notice, now } = this.#parts
    return searchOf(store).similar({
      text,
      limit,
      now: now(),
      weights: options.relevance,
      embedder: options.embedder,
      ...(shown !== undefined && shown.size > 0 && { fits: (item) => !shown.has(shownId(item)) }),
      onEmbedderFailure: (error) =>
        notice(`Memories are found only by their words: the embedder failed (${messageOf(error)}).`),
    })
  }

  /** Returns the items with the best scores. An item that was changed in the meantime is read again. */
  async #best(limit: number, score: (item: MemoryItem) => number | undefined): Promise<RecalledMemory[]> {
    const { store } = this.#parts
    const most = readLimit(limit)
    for (let attempt = 1; ; attempt++) {
      const items = [...(await store.list()).values()]
      const found = selectTop(items.length, most, (at) => {
        const item = items[at]
        return item && score(item)
      }).flatMap(({ at, score: relevance }) => {
        const item = items[at]
        return item === undefined ? [] : [{ ...item, relevance }]
      })
      const stale = await store.changed?.(found.map(({ id }) => id))
      if (!stale || attempt === maxLooks) return found
    }
  }

  #noteShown({ items }: RecalledSection, hits: readonly MemoryHit[]): void {
    this.#working = [...items, ...this.#working].slice(0, this.#setting('maxWorking'))
    for (const item of items) {
      const relevance = hits.find((hit) => hit.item === item)?.relevance ?? 0
      this.#parts.emit({
        type: 'memory_recalled',
        memoryId: item.id,
        content: item.content.slice(0, maxContentLength),
        relevance,
      })
    }
  }

  #tellProblems(): void {
    for (const problem of this.#parts.store.problems?.() ?? []) {
      if (this.#reported.has(problem)) continue
      if (this.#reported.size < maxWarnings) this.#parts.notice(problem)
      this.#reported.add(problem)
    }
  }

  async #pruneWhenDue(): Promise<void> {
    const { options, store, now } = this.#parts
    const { prunePolicy, relevance } = options
    if (prunePolicy === undefined) return
    const at = now()
    if (this.#prunedAt !== undefined && at - this.#prunedAt < this.#setting('pruneIntervalSecs') * 1000)
      return
    this.#prunedAt = at
    let count = 0
    for (const id of toPrune((await store.list()).values(), prunePolicy, at, relevance))
      if (await store.delete(id)) count++
    if (count > 0) this.#parts.emit({ type: 'memory_cleared', tier: 'long_term', count })
  }

  #setting(name: Exclude<keyof typeof defaultMemory, 'maxNotes'>): number {
    return this.#parts.options[name] ?? defaultMemory[name]
  }
}

function isModelNote({ metadata }: MemoryItem): boolean {
  return metadata['source'] === 'model'
}

function maxModelNotes({ tools }: MemoryOptions): number {
  return (typeof tools === 'object' ? tools.maxNotes : undefined) ?? defaultMemory.maxNotes
}

const maxSectionBytes = 16 * 1024

/** Almost every memory shares one word with a prompt; two shared words indicate a match. */
const sharedWords = 2
const nearEnough = 0.5
const maxAttempts = 1000
const maxLooks = 3
const maxWarnings = 20
const maxContentLength = 1000
const maxResults = 1000

function isNear(hit: MemoryHit, needed: number): boolean {
  return hit.sharedWords >= Math.max(1, needed) || (hit.similarity ?? 0) >= nearEnough
}

function readLimit(limit: number): number {
  if (Number.isInteger(limit) && limit >= 0) return Math.min(limit, maxResults)
  throw invalid(`a limit is a whole number from 0 to ${maxResults}`)
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

function invalid(words: string): MemoryError {
  return new MemoryError('memory_invalid', `Recall failed: ${words}.`)
}

/** Returns a descriptive file name: the day, the first words of the topic, and the end of an id. */
function nameFor(title: string, createdAtMs: number, id: string): string {
  const date = new Date(createdAtMs).toISOString().slice(0, 10)
  const words = title
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxNameWordsLength)
    .replace(/^-+|-+$/g, '')
  const tail = id.replace(/[^A-Za-z0-9]+/g, '').slice(-tailLength) || '1'
  return [date, words, tail].filter((part) => part !== '').join('-')
}

const maxNameWordsLength = 40
const tailLength = 8
