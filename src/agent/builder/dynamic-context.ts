import type { ContextDocument, Message } from '../../tool/completion.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { VectorFilter } from '../../tool/search/filter.js'
import type { VectorSearchIndex, VectorSearchResult } from '../../tool/search/vector-index.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { maxQueryLength, textOf } from './tool-selection.js'

/** Options of documents that are found by search. */
export type DynamicContextOptions<Document = unknown> = {
  /** The maximum number of documents that one search adds. */
  topK: number
  threshold?: number
  filter?: VectorFilter
  /** Formats a document for the model (default: its text, or its JSON). */
  format?(result: VectorSearchResult<Document>): ContextDocument
}

export type DynamicContext = {
  readonly index: Pick<VectorSearchIndex<unknown>, 'search'>
  readonly options: DynamicContextOptions
}

/**
 * Adds the documents that match the newest message to each request. A message without text keeps the documents of the
 * previous search.
 */
export function dynamicContext(
  contexts: readonly DynamicContext[],
  conversation: () => readonly Message[],
): AgentMiddleware[] {
  if (contexts.length === 0) return []
  let found: readonly ContextDocument[] = []
  let searched = ''
  return [
    {
      async onCompletionRequest({ request }) {
        const query = textOf(conversation().at(-1)).slice(0, maxQueryLength)
        if (query.trim() !== '' && query !== searched) {
          searched = query
          found = (await Promise.all(contexts.map((context) => search(context, query)))).flat()
        }
        return { request: { ...request, documents: [...request.documents, ...found] } }
      },
    },
  ]
}

async function search(
  { index, options: { topK, threshold, filter, format = plainDocument } }: DynamicContext,
  query: string,
): Promise<ContextDocument[]> {
  const results = await index.search({
    query,
    topK,
    ...omitUndefined({ threshold, filter }),
  })
  return results.map(format)
}

function plainDocument({ id, document }: VectorSearchResult<unknown>): ContextDocument {
  return { id, text: serializeToolOutput(document) }
}
