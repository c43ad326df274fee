import type { GovernedTool } from '../contract.js'
import type { VectorMetadata } from './embedding.js'
import type { VectorFilter } from './filter.js'

/** A query: the best `topK` documents with a score of at least `threshold` that match `filter`. */
export type VectorSearchRequest = {
  query: string
  topK: number
  threshold?: number | undefined
  filter?: VectorFilter | undefined
}

/** A found document with its score. */
export type VectorSearchResult<Document, Metadata extends VectorMetadata = VectorMetadata> = {
  score: number
  id: string
  document: Document
  metadata?: Metadata | undefined
}

/** The id and the score of a found document. */
export type VectorSearchId = { score: number; id: string }

/** A request for one page of an index. */
export type VectorInspectRequest = { limit?: number; cursor?: string; filter?: VectorFilter }
/** One document of an index. */
export type VectorInspectItem<Document> = {
  id: string
  document: Document
  metadata?: VectorMetadata | undefined
}
/** One page of the documents of an index. */
export type VectorInspectPage<Document> = {
  items: VectorInspectItem<Document>[]
  totalCount: number
  nextCursor?: string
}

/** The name, the description and the limits of a search tool. */
export type VectorSearchToolOptions = {
  name: string
  description?: string
  topK?: number
  threshold?: number
  filter?: VectorFilter
}

/** Documents that can be found by meaning or by words. Those with equal scores stay in the order of addition. */
export interface VectorSearchIndex<Document> {
  search(request: VectorSearchRequest): Promise<VectorSearchResult<Document>[]>
  searchIds(request: VectorSearchRequest): Promise<VectorSearchId[]>
  /** Returns a tool with which a model can search this index. */
  asTool(
    options: VectorSearchToolOptions,
  ): GovernedTool<{ query: string; topK?: number }, VectorSearchResult<Document>[]>
  /** Lists the documents of the index, page by page. */
  inspect(request?: VectorInspectRequest): Promise<VectorInspectPage<Document>>
}
