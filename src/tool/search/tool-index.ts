import type { AnyTool, GovernedTool } from '../contract.js'
import { createJsonTool } from '../create-json-tool.js'
import { objectSchema } from '../object-schema.js'
import { ToolSet } from '../tool-set.js'
import { matchesVectorFilter } from './filter.js'
import {
  type DescribedTool,
  describeTools,
  type EmbedToolsOptions,
  type ToolSearchDocument,
  toolsOf,
} from './tool-document.js'
import type {
  VectorInspectItem,
  VectorInspectPage,
  VectorInspectRequest,
  VectorSearchId,
  VectorSearchIndex,
  VectorSearchRequest,
  VectorSearchResult,
  VectorSearchToolOptions,
} from './vector-index.js'

/** An index of tools together with the tools, so that the tools it finds can be run. */
export interface DynamicToolIndex extends VectorSearchIndex<ToolSearchDocument> {
  readonly toolSet: ToolSet
}

/** An index that can be updated; the cost of an update depends only on the tools that are added or removed. */
export interface UpdatableToolIndex extends DynamicToolIndex {
  readonly size: number
  /** Adds tools to the index and to its tool set, replacing those with the same name. All or nothing. */
  add(tools: readonly AnyTool[] | ToolSet): Promise<void>
  /** Removes a tool from the index and from its tool set. */
  remove(toolName: string): boolean
}

/** Returns whether a value is an index with its tools, made by this or another copy of the package. */
export function isDynamicToolIndex(value: unknown): value is DynamicToolIndex {
  return (
    typeof value === 'object' && value !== null && (value as { toolSet?: unknown }).toolSet instanceof ToolSet
  )
}

/** How one kind of index ranks tools for a query. */
export interface ToolRanker {
  /** Does all work that can fail. The function that it returns adds the tools and cannot fail. */
  stage(tools: readonly DescribedTool[]): Promise<() => void>
  drop(toolName: string): void
  /** Returns at most `topK` tools, best first, none below the threshold, and only those that `fits` accepts. */
  rank(
    query: string,
    topK: number,
    threshold: number | undefined,
    fits: ((toolName: string) => boolean) | undefined,
  ): Promise<VectorSearchId[]>
}

const defaultTopK = 5
const defaultPage = 100

/** Creates an index of tools from a ranker. It uses a given tool set itself, not a copy. */
export async function indexTools(
  ranker: ToolRanker,
  tools: readonly AnyTool[] | ToolSet,
  options: EmbedToolsOptions,
): Promise<UpdatableToolIndex> {
  const toolSet = tools instanceof ToolSet ? tools : ToolSet.fromTools(toolsOf(tools))
  const documents = new Map<string, ToolSearchDocument>()

  /** Names of tools that are being added. */
  const coming = new Set<string>()

  const addNow = async (added: readonly AnyTool[]): Promise<void> => {
    const described = await describeTools(added, options)
    const commit = await ranker.stage(described)
    const leaving = described.map(({ tool }) => tool.name).filter((name) => !coming.has(name))
    for (const { tool } of described) if (documents.delete(tool.name)) ranker.drop(tool.name)
    commit()
    for (const { tool, document } of described) {
      documents.set(tool.name, document)
      if (toolSet.get(tool.name) !== tool) toolSet.addTool(tool)
    }
    // These tools were removed while the embedding model was still working on them.
    for (const toolName of leaving) remove(toolName)
  }
  // One addition at a time, so that staged tools are still valid when they are added.
  let turn: Promise<void> = Promise.resolve()
  const add = async (added: readonly AnyTool[]): Promise<void> => {
    for (const { name } of added) coming.add(name)
    const mine = turn.then(() => addNow(added))
    turn = mine.catch(() => undefined)
    try {
      await mine
    } finally {
      for (const { name } of added) coming.delete(name)
    }
  }
  const remove = (toolName: string): boolean => {
    const wasComing = coming.delete(toolName)
    if (!documents.delete(toolName)) return wasComing
    ranker.drop(toolName)
    toolSet.deleteTool(toolName)
    return true
  }
  // From the tool set, so that a tool that is listed twice is added once.
  await add(toolSet.values())

  const searchIds = async (request: VectorSearchRequest): Promise<VectorSearchId[]> => {
    assertSearch(request)
    const { query, topK, threshold, filter } = request
    const fits = (toolName: string): boolean =>
      toolSet.contains(toolName) && matchesVectorFilter(documents.get(toolName)?.metadata, filter)
    const found = await ranker.rank(query, topK, threshold, filter === undefined ? undefined : fits)
    // A tool that was removed from the set cannot run, so it is not returned. The second ranking runs only in that
    // case.
    return found.every(({ id }) => toolSet.contains(id)) ? found : ranker.rank(query, topK, threshold, fits)
  }
  const search = async (request: VectorSearchRequest): Promise<VectorSearchResult<ToolSearchDocument>[]> =>
    (await searchIds(request)).flatMap(({ id, score }) => {
      const document = documents.get(id)
      return document === undefined
        ? []
        : [
            {
              score,
              id,
              document,
              metadata: document.metadata,
            },
          ]
    })

  return {
    toolSet,
    get size() {
      return documents.size
    },
    add: (added) => add(ToolSet.fromTools(toolsOf(added)).values()),
    remove,
    search,
    searchIds,
    inspect: async (request = {}) => inspectPage(documents, request),
    asTool: (toolOptions) => searchTool(toolOptions, search),
  }
}

function assertSearch({ query, topK, threshold }: VectorSearchRequest): void {
  if (typeof query !== 'string') throw new TypeError('A search needs a query text.')
  if (!Number.isInteger(topK) || topK < 1)
    throw new RangeError(`topK must be an integer of at least 1, not ${topK}.`)
  if (threshold !== undefined && !Number.isFinite(threshold))
    throw new RangeError(`threshold must be a finite number, not ${threshold}.`)
}

function inspectPage(
  documents: ReadonlyMap<string, ToolSearchDocument>,
  { limit = defaultPage, cursor = '0', filter }: VectorInspectRequest,
): VectorInspectPage<ToolSearchDocument> {
  const start = Number(cursor)
  if (!Number.isInteger(limit) || limit < 1 || !Number.isInteger(start) || start < 0)
    throw new RangeError('inspect needs a limit of at least 1 and a cursor from an earlier page.')
  const fitting = [...documents.values()].filter((document) => matchesVectorFilter(document.metadata, filter))
  const items = fitting.slice(start, start + limit).map(
    (document): VectorInspectItem<ToolSearchDocument> => ({
      id: document.toolName,
      document,
      metadata: document.metadata,
    }),
  )
  const next = start + items.length
  return { items, totalCount: fitting.length, ...(next < fitting.length ? { nextCursor: String(next) } : {}) }
}

function searchTool(
  { name, description, topK: most = defaultTopK, threshold, filter }: VectorSearchToolOptions,
  search: (request: VectorSearchRequest) => Promise<VectorSearchResult<ToolSearchDocument>[]>,
): GovernedTool<{ query: string; topK?: number }, VectorSearchResult<ToolSearchDocument>[]> {
  return createJsonTool<{ query: string; topK?: number }, VectorSearchResult<ToolSearchDocument>[]>({
    name,
    description: description ?? 'Find tools by what they do.',
    kind: 'search',
    idempotent: true,
    parameters: objectSchema({
      query: { type: 'string', minLength: 1, description: 'What the tool should be able to do.' },
      'topK?': {
        type: 'integer',
        minimum: 1,
        maximum: 100,
        description: `How many at most. Default: ${most}.`,
      },
    }),
    execute: ({ query, topK }) =>
      search({
        query,
        topK: topK ?? most,
        threshold,
        filter,
      }),
  })
}
