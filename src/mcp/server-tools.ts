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

/** What the tools of a server need to make their calls. */
export type ServerCalls = {
  call(tool: string, args: JsonObject, context: ToolCallContext): Promise<Envelope>
  readResource(uri: string, context: ToolCallContext): Promise<Envelope>
  listResources(context: ToolCallContext): Promise<Envelope>
  /** Returns the tool of this name after every change that the server has announced. */
  currentTool(name: string): AnyGovernedTool | undefined | Promise<AnyGovernedTool | undefined>
}

/** How many characters of a description are in the list for the model; `tool_search` returns the full description. */
const shownDescription = 200

/**
 * Creates the session's tools from the tools of a server. The server's own hints (read-only, harmless) must not
 * change how calls are judged; a kind would, so all tools have the kind `other`. `first` contains the digest of each
 * tool when it was first offered.
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

/** Creates tools for the resources of a server. A tool of the server with the same name takes precedence. */
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

/** Shows the model the beginning of the description, and the schema as the server defines it. */
function asShown(
  tool: GovernedTool<JsonObject, unknown>,
  shown: JsonSchema,
  mcp: ServerToolIdentity,
  current: NonNullable<AnyGovernedTool['current']>,
): AnyGovernedTool {
  const definition = Object.freeze({
    name: tool.name,
    description: visibleLine(tool.description, shownDescription),
    parameters: shown,
  })
  return { ...tool, mcp, current, definition: () => definition } as AnyGovernedTool
}
