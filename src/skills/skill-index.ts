import type MiniSearch from 'minisearch'
import { selectTop } from '../tool/search/select-top.js'
import { wordsOf } from '../tool/search/words.js'
import type { Skill } from './skill.js'

/**
 * Finds skills by words (BM25): names have the highest weight, then tags, descriptions, and the beginning of the
 * text.
 */
export interface SkillIndex {
  /** Returns the best matches first; equal matches in list order. */
  search(query: string, limit: number): readonly Skill[]
}

export async function createSkillIndex(skills: readonly Skill[]): Promise<SkillIndex> {
  const { default: Search } = await import('minisearch')
  const words = new Set<string>()
  const index: MiniSearch<Document> = new Search<Document>({
    fields: ['name', 'tags', 'description', 'body'],
    tokenize: wordsOf,
    processTerm: (word) => {
      words.add(word)
      return word
    },
    searchOptions: {
      processTerm: (word) => word,
      boost: { name: 4, tags: 3, description: 2, body: 0.4 },
      prefix: (word) => word.length >= 3,
      // A word that occurs in a skill was not misspelt, and the search for similar words is the most expensive part.
      fuzzy: (word) => (word.length >= 5 && !words.has(word) ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.3 },
    },
  })
  // In chunks, because indexing many skills takes long and must not block the event loop.
  await index.addAllAsync(skills.map(documentOf), { chunkSize: 50 })
  return {
    search(query, limit) {
      const asked = [...new Set(wordsOf(query))].slice(0, maxWords)
      const found = index.search(asked.join(' ')).map(({ id, score }) => ({ id: Number(id), score }))
      found.sort((a, b) => a.id - b.id)
      const best = selectTop(found.length, limit, (at) => found[at]?.score ?? 0)
      return best.flatMap(({ at }) => skills[found[at]?.id ?? -1] ?? [])
    },
  }
}

type Document = { id: number; name: string; tags: string; description: string; body: string }

/** A query can be a whole message; its first words are enough. */
const maxWords = 64
/** The topic of a skill is at its beginning. */
const bodyHead = 500

function documentOf({ name, tags, description, body }: Skill, id: number): Document {
  return { id, name, tags: tags.join(' '), description, body: body.slice(0, bodyHead) }
}
