import { resolve } from 'node:path'
import type { AgentEvent, ToolFacts } from '../loop/events.js'
import type { AnyTool, ToolKind } from '../tool/contract.js'
import type { ToolDefinition } from '../tool/definition.js'
import { tryOr } from '../tool/errors.js'
import { parseToolArgs } from '../tool/serialize.js'
import type { Subject } from '../tool/subject.js'
import { toolTitle } from '../tool/tool-title.js'
import type { SessionKernel } from './kernel.js'

/** A tool of a session: its definition for the model, and the data by which clients choose icons and labels. */
export type ToolInfo = ToolDefinition & { readonly kind: ToolKind; readonly title: string }

export function toolInfo(definition: ToolDefinition, tool: AnyTool | undefined): ToolInfo {
  return { ...definition, ...factsOf(tool ?? definition) }
}

/** Adds the kind and the title of its tool to an event and, for a call that begins, the paths that it names. */
export function withToolFacts(
  event: AgentEvent,
  { tools, root }: Pick<SessionKernel, 'tools' | 'root'>,
): AgentEvent {
  switch (event.type) {
    case 'tool_start':
    case 'tool_output_delta':
    case 'tool_end':
    case 'network_request':
    case 'permission_denied':
    case 'confirmation_required':
      return { ...event, ...knownFacts(tools.get(event.toolName)) }
    case 'tool_execution_start': {
      const tool = tools.get(event.toolName)
      const paths = tool === undefined ? [] : namedPaths(tool, event.args, root)
      return { ...event, ...knownFacts(tool), ...(paths.length > 0 && { paths }) }
    }
    default:
      return event
  }
}

/** Returns the absolute paths that a call touches, each once. */
export function pathsOf(subjects: readonly Subject[], root: string): string[] {
  const paths = subjects.flatMap((subject) => ('path' in subject ? [resolve(root, subject.path)] : []))
  return [...new Set(paths)].slice(0, maxPaths)
}

function knownFacts(tool: AnyTool | undefined): ToolFacts {
  return tool === undefined ? {} : factsOf(tool)
}

/**
 * Returns the kind and the title of a tool, for clients. Cached for each tool: every call has three events with them.
 */
export function factsOf(tool: Pick<AnyTool, 'name' | 'kind' | 'title' | 'mcp'>): Required<ToolFacts> {
  const known = factsOfTools.get(tool)
  if (known !== undefined) return known
  const facts = { kind: tool.kind ?? 'other', title: toolTitle(tool) }
  factsOfTools.set(tool, facts)
  return facts
}

const factsOfTools = new WeakMap<object, Required<ToolFacts>>()

/**
 * Returns the paths in the arguments, which are not checked yet: unreadable ones have none. The end of the call has the
 * paths that it touched.
 */
function namedPaths(tool: AnyTool, args: string, root: string): string[] {
  if (args.length > maxArgsLength) return []
  return tryOr(() => pathsOf(tool.touches?.(parseToolArgs(args)) ?? [], root), [])
}

const maxPaths = 50
/** Longer arguments have large content, and are not parsed a second time. */
const maxArgsLength = 64 * 1024
