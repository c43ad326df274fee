import type { AnyTool, ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import type { ToolDefinition } from '../tool/definition.js'
import type { JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { createLexicalToolIndex } from '../tool/search/lexical-index.js'
import type { DynamicToolIndex } from '../tool/search/tool-index.js'
import { jsonTextOf } from '../tool/serialize.js'
import { MissingServiceError, requireService } from './require-service.js'
import { visibleLine } from './untrusted-text.js'

type FoundTool = { id: string; description: string; parameters?: JsonSchema }
type ToolSearchOutput = { matches: FoundTool[]; note: string }

/** Finds tools that are not shown to the model, and offers them. */
export const toolSearchTool = builtInTool<{ query: string; limit?: number }, ToolSearchOutput>({
  name: 'tool_search',
  description:
    'Find further tools that exist and are not in your list, by what they do. What is found is added to your list: call it from the ' +
    'next turn on. It runs none of them.',
  kind: 'search',
  idempotent: true,
  parameters: objectSchema({
    query: {
      type: 'string',
      minLength: 1,
      maxLength: 2_000,
      description: 'Words for the task, or part of a name.',
    },
    'limit?': { type: 'integer', minimum: 1, maximum: 20, default: 5 },
  }),
  execute: findTools,
})

async function findTools(
  { query, limit = 5 }: { query: string; limit?: number },
  context: ToolCallContext,
): Promise<ToolSearchOutput> {
  const { tools } = requireService(context, 'session')
  if (tools === undefined) throw new MissingServiceError('session.tools')
  const hidden = tools.hidden()
  if (hidden.length === 0)
    return { matches: [], note: 'There are no further tools: all tools of this session are in your list.' }
  const searchable = tools.searchable?.() ?? hidden
  const index = await indexOf(searchable)
  const ranked = await index.search({ query, topK: limit + searchable.length - hidden.length })
  const names = new Set(hidden.map(({ name }) => name))
  const found = ranked.filter(({ id }) => names.has(id)).slice(0, limit)
  if (found.length === 0)
    return {
      matches: [],
      note: `None of the ${hidden.length} further tools matches. Try other words: what it acts on, or the service it belongs to.`,
    }
  tools.offer(found.map(({ id }) => id))
  return {
    matches: found.map(({ document }) => describe(document.definition)),
    note: `Found ${found.length} of ${hidden.length} further tools. They are in your list from the next turn on.`,
  }
}

type Indexed = {
  readonly searchable: readonly ToolDefinition[]
  readonly index: Promise<DynamicToolIndex>
}

/**
 * The index of the last list that ended with this definition, by the definition's parameters: sessions with the same
 * tools use one index, and it is dropped with the tools.
 */
const indexes = new WeakMap<JsonSchema, Indexed>()

function indexOf(searchable: readonly ToolDefinition[]): Promise<DynamicToolIndex> {
  const key = searchable.at(-1)?.parameters ?? {}
  const known = indexes.get(key)
  if (known !== undefined && isSame(known.searchable, searchable)) return known.index
  const index = createLexicalToolIndex(searchable.map(described))
  indexes.set(key, { searchable, index })
  index.catch(() => indexes.delete(key))
  return index
}

function isSame(some: readonly ToolDefinition[], others: readonly ToolDefinition[]): boolean {
  return (
    some === others || (some.length === others.length && some.every((one, at) => isEqual(one, others[at])))
  )
}

/** Definitions of one tool that are read by several sessions can be different objects. */
function isEqual(one: ToolDefinition, other: ToolDefinition | undefined): boolean {
  return (
    one === other ||
    (one.name === other?.name && one.description === other.description && one.parameters === other.parameters)
  )
}

/** Wraps a definition as a tool for the index; it cannot be called. */
function described(definition: ToolDefinition): AnyTool {
  return {
    name: definition.name,
    definition: () => definition,
    call() {
      throw new TypeError(`"${definition.name}" is only described here.`)
    },
  }
}

const maxSchemaLength = 4_000

/**
 * Returns a short description, because descriptions can come from servers: one line, and no long schema. The complete
 * definition is in the list of tools from the next turn on.
 */
function describe({ name, description, parameters }: ToolDefinition): FoundTool {
  const size = jsonTextOf(parameters)?.length ?? Number.POSITIVE_INFINITY
  return {
    id: visibleLine(name, 128),
    description: visibleLine(description, 300),
    ...(size <= maxSchemaLength ? { parameters } : {}),
  }
}
