import { whatChanged } from '../authority/server-tool.js'
import type { AnyGovernedTool, GovernedTool, ServerToolIdentity, ToolCallContext } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import type { Envelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import type { JsonObject, JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { visibleLine } from '../toolbox/untrusted-text.js'
import { toolId } from './names.js'
import type { OfferedTool } from './offered-tools.js'
import type { McpServerSpec } from './server-options.js'

/** What the tools of a server do their work with. */
export type ServerCalls = {
  call(tool: string, args: JsonObject, context: ToolCallContext): Promise<Envelope>
  readResource(uri: string, context: ToolCallContext): Promise<Envelope>
  listResources(context: ToolCallContext): Promise<Envelope>
  /** The tool of this name after every change that the server has announced. */
  currentTool(name: string): Promise<AnyGovernedTool | undefined>
}

/** How much of a description is in the list that a model is shown; all of it is in what `tool_search` finds. */
const shownDescription = 200

/**
 * The tools of a server as the session has them. What a server says about its tools (read-only, harmless) changes
 * nothing about how their calls are judged: a kind would, so all of them are `other`. `first` has what each was when it
 * was first offered.
 */
export function makeTools(
  spec: McpServerSpec,
  offered: readonly OfferedTool[],
  first: ReadonlyMap<string, string>,
  calls: ServerCalls,
): { readonly tools: readonly AnyGovernedTool[]; readonly problems: readonly string[] } {
  const tools: AnyGovernedTool[] = []
  const problems: string[] = []
  for (const tool of offered) {
    try {
      tools.push(makeTool(spec, tool, first.get(tool.label), calls))
    } catch (error) {
      problems.push(
        `the tool "${visibleLine(tool.name, 80)}" is left out: ${visibleLine(messageOf(error), 200)}`,
      )
    }
  }
  return { tools, problems }
}

function makeTool(
  spec: McpServerSpec,
  offered: OfferedTool,
  first: string | undefined,
  calls: ServerCalls,
): AnyGovernedTool {
  const { label, digest } = offered
  const changed = first === undefined ? undefined : whatChanged(first, digest)
  const tool = createJsonTool<JsonObject, Envelope>({
    name: toolId(spec.label, label),
    description: offered.description,
    parameters: offered.checked,
    execute: (args, context) => calls.call(offered.name, args, context),
  })
  const identity = { server: spec.label, tool: label, digest, changed }
  return asShown(tool, offered.shown, identity, () => calls.currentTool(tool.name))
}

/** Tools for what a server has in addition to tools. A server that has a tool of the same name keeps its own. */
export function resourceTools(spec: McpServerSpec, calls: ServerCalls): readonly AnyGovernedTool[] {
  const identity = (tool: string): ServerToolIdentity => ({ server: spec.label, tool })
  const read = createJsonTool<{ uri: string }, Envelope>({
    name: toolId(spec.label, 'read_resource'),
    description: `Read a resource of the MCP server "${spec.label}" by its URI.`,
    idempotent: true,
    parameters: objectSchema({ uri: { type: 'string', minLength: 1, maxLength: 4_000 } }),
    execute: ({ uri }, context) => calls.readResource(uri, context),
  })
  const list = createJsonTool<Record<string, never>, Envelope>({
    name: toolId(spec.label, 'list_resources'),
    description: `List the resources of the MCP server "${spec.label}".`,
    idempotent: true,
    parameters: objectSchema({}),
    execute: (_, context) => calls.listResources(context),
  })
  return [
    { ...read, mcp: identity('read_resource') } as AnyGovernedTool,
    { ...list, mcp: identity('list_resources') } as AnyGovernedTool,
  ]
}

/** The model is shown the beginning of the description and the schema as the server has it. */
function asShown(
  tool: GovernedTool<JsonObject, unknown>,
  shown: JsonSchema,
  mcp: ServerToolIdentity,
  current: () => Promise<AnyGovernedTool | undefined>,
): AnyGovernedTool {
  const definition = Object.freeze({
    name: tool.name,
    description: visibleLine(tool.description, shownDescription),
    parameters: shown,
  })
  return { ...tool, mcp, current, definition: () => definition } as AnyGovernedTool
}
