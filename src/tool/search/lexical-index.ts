import type MiniSearch from 'minisearch'
import type { AnyTool } from '../contract.js'
import { isRecord, type JsonSchema } from '../json.js'
import type { ToolSet } from '../tool-set.js'
import { selectTop } from './select-top.js'
import type { DescribedTool, EmbedToolsOptions } from './tool-document.js'
import { indexTools, type ToolRanker, type UpdatableToolIndex } from './tool-index.js'
import { wordsOf } from './words.js'

/** The settings of {@link createLexicalToolIndex}. */
export type LexicalToolIndexOptions = Omit<EmbedToolsOptions, 'concurrency'>

/**
 * Creates an in-memory index that finds tools by their words (BM25), without a model: names count most, then
 * descriptions, then parameters. Prefixes and small misspellings match too. Scores compare only within one query;
 * they start at 0 and have no upper bound.
 */
export async function createLexicalToolIndex(
  tools: readonly AnyTool[] | ToolSet,
  options: LexicalToolIndexOptions = {},
): Promise<UpdatableToolIndex> {
  const { default: Search } = await import('minisearch')
  const search = new Search<LexicalDocument>({
    fields: ['name', 'text', 'parameters'],
    tokenize: wordsOf,
    processTerm: (word) => word,
    searchOptions: {
      boost: { name: 3, text: 1, parameters: 0.5 },
      prefix: (word) => word.length >= 3,
      fuzzy: (word) => (word.length >= 5 ? 0.2 : false),
      weights: { prefix: 0.4, fuzzy: 0.3 },
    },
  })
  return indexTools(rankByWords(search, options.content !== undefined), tools, options)
}

/** The query may be a whole message; this many different words are enough. */
const maxWords = 64

type LexicalDocument = { id: string; name: string; text: string; parameters: string }

function rankByWords(search: MiniSearch<LexicalDocument>, ownTexts: boolean): ToolRanker {
  const indexed = new Map<string, { document: LexicalDocument; order: number }>()
  let added = 0
  return {
    async stage(tools) {
      const documents = tools.map((tool) => lexicalDocument(tool, ownTexts))
      return () => {
        search.addAll(documents)
        for (const document of documents) indexed.set(document.id, { document, order: added++ })
      }
    },
    drop(toolName) {
      // Not `discard`: it removes the words only when a search reaches them, so scores would change over time.
      const known = indexed.get(toolName)
      if (known !== undefined) search.remove(known.document)
      indexed.delete(toolName)
    },
    async rank(query, topK, threshold, fits) {
      const found = search
        .search(
          [...new Set(wordsOf(query))].slice(0, maxWords).join(' '),
          fits === undefined ? {} : { filter: ({ id }) => fits(String(id)) },
        )
        .map(({ id, score }) => ({ id: String(id), score }))
      found.sort((a, b) => (indexed.get(a.id)?.order ?? 0) - (indexed.get(b.id)?.order ?? 0))
      const best = selectTop(found.length, topK, (at) => {
        const score = found[at]?.score ?? 0
        return threshold === undefined || score >= threshold ? score : undefined
      })
      return best.map(({ at, score }) => ({ score, id: found[at]?.id ?? '' }))
    },
  }
}

function lexicalDocument({ document, texts }: DescribedTool, ownTexts: boolean): LexicalDocument {
  const { toolName, definition } = document
  if (ownTexts) return { id: toolName, name: toolName, text: texts.join('\n'), parameters: '' }
  return {
    id: toolName,
    name: toolName,
    text: definition.description,
    parameters: parameterWords(definition.parameters),
  }
}

/** Returns the names and descriptions of the parameters, without the schema's keywords. */
function parameterWords(schema: JsonSchema): string {
  const properties = schema['properties']
  if (!isRecord(properties)) return ''
  return Object.entries(properties)
    .map(
      ([name, property]) =>
        `${name} ${isRecord(property) && typeof property['description'] === 'string' ? property['description'] : ''}`,
    )
    .join('\n')
}
