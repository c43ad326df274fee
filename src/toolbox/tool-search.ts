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
  const index = await indexOf(hidden)
  const found = await index.search({ query, topK: limit })
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

/** One index for each list of definitions. */
const indexes = new WeakMap<readonly ToolDefinition[], Promise<DynamicToolIndex>>()

function indexOf(hidden: readonly ToolDefinition[]): Promise<DynamicToolIndex> {
  const known = indexes.get(hidden)
  if (known !== undefined) return known
  const made = createLexicalToolIndex(hidden.map(described))
  indexes.set(hidden, made)
  made.catch(() => indexes.delete(hidden))
  return made
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
