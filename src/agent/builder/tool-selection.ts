import type { Message, ToolResultPart } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import type { Tool } from '../../tool/contract.js'
import type { ToolDefinition } from '../../tool/definition.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { ToolSet } from '../../tool/tool-set.js'
import { type AgentSettings, type DynamicTools, staticTools } from './settings.js'

/** The tools that a run offers to its model, and that the model can call. */
export interface ToolSelection {
  /** The tools for the next request of this conversation. Offered tools stay, and new ones are added at the end. */
  definitions(messages: readonly Message[]): Promise<readonly ToolDefinition[]>
  /** Records the request as it is sent: tools that middleware removed were not offered. */
  sent(names: readonly string[]): void
  get(name: string): Tool | undefined
  names(): readonly string[]
}

/**
 * Finds tools by the prompt, then also by the last message: results lead to new tools, and offered tools are never
 * removed. A tool that was not in the request cannot be called, even if the model knows its name.
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
    async definitions(messages) {
      if (settings.dynamicTools.length > 0) {
        await search(goal)
        await search(textOf(messages.at(-1)))
      }
      const always = staticTools(settings)
      const definitions: ToolDefinition[] = []
      for (const tool of always.values()) definitions.push(named(tool.name, await tool.definition(goal)))
      offered = new Map(always)
      for (const { tool, definition, toolSet } of found.values()) {
        // Skips a tool that was removed from its set or replaced in it: the found tool is no longer valid.
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

/** The text of a user message or of tool results; empty for other messages. */
export function textOf(message: Message | undefined): string {
  if (message?.role === 'user')
    return message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  return message?.role === 'tool' ? message.content.map(resultText).join('\n') : ''
}

/** Sets the registered name of a tool, by which the model calls it; the name in its definition can differ. */
function named(name: string, definition: ToolDefinition): ToolDefinition {
  return definition.name === name ? definition : { ...definition, name }
}

type Found = { readonly tool: Tool; readonly definition: ToolDefinition; readonly toolSet: ToolSet }

/** The maximum length of a query in characters: embedding models accept no more, and the important part comes early. */
export const maxQueryLength = 4_000

async function searchIndex(
  { index, topK, threshold, filter }: DynamicTools,
  query: string,
): Promise<Found[]> {
  const results = await index.search({
    query,
    topK,
    ...omitUndefined({ threshold, filter }),
  })
  return results.flatMap(({ document: { toolName, definition } }) => {
    const tool = index.toolSet.get(toolName)
    return tool === undefined ? [] : [{ tool, definition, toolSet: index.toolSet }]
  })
}

/** The text of a result. Images are omitted, because the search is by text only. */
function resultText({ content }: ToolResultPart): string {
  return toolResultContentToText(content.filter(({ type }) => type === 'text'))
}
