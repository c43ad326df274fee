import type { GovernedTool } from '../contract.js'
import type { VectorMetadata } from './embedding.js'
import type { VectorFilter } from './filter.js'

/** A question to an index: the best `topK` documents, none below `threshold`, all fitting `filter`. */
export type VectorSearchRequest = { query: string; topK: number; threshold?: number; filter?: VectorFilter }

export type VectorSearchResult<Document, Metadata extends VectorMetadata = VectorMetadata> = {
  score: number
  id: string
  document: Document
  metadata?: Metadata
}

export type VectorSearchId = { score: number; id: string }

export type VectorInspectRequest = { limit?: number; cursor?: string; filter?: VectorFilter }
export type VectorInspectItem<Document> = { id: string; document: Document; metadata?: VectorMetadata }
export type VectorInspectPage<Document> = {
  items: VectorInspectItem<Document>[]
  totalCount: number
  nextCursor?: string
}

export type VectorSearchToolOptions = {
  name: string
  description?: string
  topK?: number
  threshold?: number
  filter?: VectorFilter
}

/** Documents that can be found by meaning or by words. Equal scores keep the order in which documents were added. */
export interface VectorSearchIndex<Document> {
  search(request: VectorSearchRequest): Promise<VectorSearchResult<Document>[]>
  searchIds(request: VectorSearchRequest): Promise<VectorSearchId[]>
  /** A tool with which a model searches this index itself. */
  asTool(
    options: VectorSearchToolOptions,
  ): GovernedTool<{ query: string; topK?: number }, VectorSearchResult<Document>[]>
  /** What the index holds, page by page. */
  inspect(request?: VectorInspectRequest): Promise<VectorInspectPage<Document>>
}
