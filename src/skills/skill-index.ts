import type MiniSearch from 'minisearch'
import { selectTop } from '../tool/search/select-top.js'
import { wordsOf } from '../tool/search/words.js'
import type { Skill } from './skill.js'

/** Finds skills by their words (BM25): names count most, then tags, descriptions, and a little the beginning of the text. */
export interface SkillIndex {
  /** The best first; of equals, the earlier in the list. */
  search(query: string, limit: number): readonly Skill[]
}

export async function createSkillIndex(skills: readonly Skill[]): Promise<SkillIndex> {
  const { default: Search } = await import('minisearch')
  const index: MiniSearch<Document> = new Search<Document>({
    fields: ['name', 'tags', 'description', 'body'],
    tokenize: wordsOf,
    processTerm: (word) => word,
    searchOptions: {
      boost: { name: 4, tags: 3, description: 2, body: 0.4 },
      prefix: (word) => word.length >= 3,
      fuzzy: (word) => (word.length >= 5 ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.3 },
    },
  })
  index.addAll(skills.map(documentOf))
  return {
    search(query, limit) {
      const words = [...new Set(wordsOf(query))].slice(0, mostWords)
      const found = index.search(words.join(' ')).map(({ id, score }) => ({ id: Number(id), score }))
      found.sort((a, b) => a.id - b.id)
      const best = selectTop(found.length, limit, (at) => found[at]?.score ?? 0)
      return best.flatMap(({ at }) => skills[found[at]?.id ?? -1] ?? [])
    },
  }
}

type Document = { id: number; name: string; tags: string; description: string; body: string }

/** A whole message may be the query; its first words say enough. */
const mostWords = 64
/** What a skill is about stands at its beginning. */
const bodyHead = 1_000

function documentOf({ name, tags, description, body }: Skill, id: number): Document {
  return { id, name, tags: tags.join(' '), description, body: body.slice(0, bodyHead) }
}
