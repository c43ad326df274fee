import type { Message, ToolResultPart } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import type { Tool } from '../../tool/contract.js'
import type { ToolDefinition } from '../../tool/definition.js'
import type { ToolSet } from '../../tool/tool-set.js'
import { type AgentSettings, type DynamicTools, staticTools } from './settings.js'

/** Which tools a run offers to its model, and which of them it may therefore call. */
export interface ToolSelection {
  /** For the next request, given all that was said. What was offered once stays, and new ones come behind. */
  definitions(said: readonly Message[]): Promise<readonly ToolDefinition[]>
  /** The request as it is sent: what middleware took out of it was not offered. */
  sent(names: readonly string[]): void
  get(name: string): Tool | undefined
  names(): readonly string[]
}

/**
 * Finds tools by what the user asked for, and from then on also by what was said last: results lead to new tools, but never make the
 * model lose those it has. A tool that was not in the request cannot be called, whatever the model has heard of it.
 */
export function createToolSelection(settings: AgentSettings, goal: string): ToolSelection {
  const found = new Map<string, Found>()
  const searched = new Set<string>()
  let offered = new Map<string, Tool>()
  let sent: ReadonlySet<string> = new Set()

  const search = async (text: string): Promise<void> => {
    const query = text.slice(0, maxQueryLength)
    if (query.trim() === '' || searched.has(query)) return
    searched.add(query)
    for (const registered of settings.dynamicTools)
      for (const one of await searchIndex(registered, query))
        if (!found.has(one.tool.name)) found.set(one.tool.name, one)
  }

  return {
    async definitions(said) {
      if (settings.dynamicTools.length > 0) {
        await search(goal)
        await search(textOf(said.at(-1)))
      }
      const always = staticTools(settings)
      const definitions: ToolDefinition[] = []
      for (const tool of always.values()) definitions.push(named(tool.name, await tool.definition(goal)))
      offered = new Map(always)
      for (const { tool, definition, toolSet } of found.values()) {
        // Taken out of its set, or replaced there, it is not what was found.
        if (always.has(tool.name) || toolSet.get(tool.name) !== tool) continue
        offered.set(tool.name, tool)
        definitions.push(named(tool.name, definition))
      }
      return definitions
    },
    sent(names) {
      sent = new Set(names)
    },
    get(name) {
      const tool = sent.has(name) ? offered.get(name) : undefined
      return tool !== undefined && isStillThere(tool) ? tool : undefined
    },
    names: () => [...offered.keys()].filter((name) => sent.has(name)),
  }

  function isStillThere(tool: Tool): boolean {
    return (
      staticTools(settings).get(tool.name) === tool || found.get(tool.name)?.toolSet.get(tool.name) === tool
    )
  }
}

/** The text of what a user wrote or tools gave back; nothing of other messages. */
export function textOf(message: Message | undefined): string {
  if (message?.role === 'user')
    return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return message?.role === 'tool' ? message.content.map(resultText).join('\n') : ''
}

/** A tool is called by the name it is registered under, whatever its definition calls it. */
function named(name: string, definition: ToolDefinition): ToolDefinition {
  return definition.name === name ? definition : { ...definition, name }
}

type Found = { readonly tool: Tool; readonly definition: ToolDefinition; readonly toolSet: ToolSet }

/** Embedding models take no more, and what matters is said early. */
export const maxQueryLength = 4_000

async function searchIndex(
  { index, topK, threshold, filter }: DynamicTools,
  query: string,
): Promise<Found[]> {
  const results = await index.search({
    query,
    topK,
    ...(threshold !== undefined && { threshold }),
    ...(filter !== undefined && { filter }),
  })
  return results.flatMap(({ document: { toolName, definition } }) => {
    const tool = index.toolSet.get(toolName)
    return tool === undefined ? [] : [{ tool, definition, toolSet: index.toolSet }]
  })
}

/** Images say nothing that could be searched for. */
function resultText({ content }: ToolResultPart): string {
  return toolResultContentToText(content.filter(({ type }) => type === 'text'))
}
