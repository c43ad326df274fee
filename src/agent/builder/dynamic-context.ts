import type { ContextDocument, Message } from '../../tool/completion.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import type { VectorFilter } from '../../tool/search/filter.js'
import type { VectorSearchIndex, VectorSearchResult } from '../../tool/search/vector-index.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import { maxQueryLength, textOf } from './tool-selection.js'

export type DynamicContextOptions<Document = unknown> = {
  /** The maximum number of documents that one search adds. */
  topK: number
  threshold?: number
  filter?: VectorFilter
  /** The document as the model reads it. Default: its text, or its JSON. */
  format?(result: VectorSearchResult<Document>): ContextDocument
}

export type DynamicContext = {
  readonly index: Pick<VectorSearchIndex<unknown>, 'search'>
  readonly options: DynamicContextOptions
}

/** Adds to each request the documents that fit its newest message; a message without text keeps those of the one before. */
export function dynamicContext(
  contexts: readonly DynamicContext[],
  said: () => readonly Message[],
): AgentMiddleware[] {
  if (contexts.length === 0) return []
  let found: readonly ContextDocument[] = []
  let searched = ''
  return [
    {
      async onCompletionRequest({ request }) {
        const query = textOf(said().at(-1)).slice(0, maxQueryLength)
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
    ...(threshold !== undefined && { threshold }),
    ...(filter !== undefined && { filter }),
  })
  return results.map(format)
}

function plainDocument({ id, document }: VectorSearchResult<unknown>): ContextDocument {
  return { id, text: serializeToolOutput(document) }
}
