import type { ContextPart, ContextUsage } from '../feature/context-usage.js'
import { pruneSavings, usableTokens } from '../loop/compaction/compact.js'
import { defaultCompaction } from '../loop/compaction/settings.js'
import { gaugeOf, tokensUsed } from '../loop/context-gauge.js'
import { definitionTokens, estimateMessageTokens, estimateTokens } from '../model/estimate-tokens.js'
import type { Message, UserMessage } from '../tool/completion.js'
import { isRecord } from '../tool/json.js'
import { addedPart } from './added-part.js'
import type { SessionKernel } from './kernel.js'
import { partsFor } from './loop-parts.js'

/** Measures what the next request of the session consists of. Sends nothing to a model. */
export async function contextUsage(kernel: SessionKernel, signal: AbortSignal): Promise<ContextUsage> {
  const parts = await partsFor(kernel, signal, kernel.log.conversation)
  const { view } = kernel.log.conversation
  const instructions = await kernel.prompt.text()
  const tools = (await parts.tools?.('', 0)) ?? []
  const model = kernel.models.current()
  const gauge = gaugeOf(kernel.log.conversation)
  const fixed = estimateTokens({ chatHistory: [], tools: [...tools], instructions })
  const estimated = fixed + estimateTokens({ chatHistory: [...view] })
  const usedTokens = tokensUsed(gauge, view, fixed)
  const scale = usedTokens / Math.max(1, estimated)

  const groups = groupsOf(view)
  for (const { path, tokens } of kernel.prompt.files) {
    add(groups.files, path, tokens)
    groups.system.tokens -= tokens
  }
  groups.system.tokens += estimateTokens({ chatHistory: [], instructions })
  for (const tool of tools) add(groups.tools, tool.name, definitionTokens(tool))

  const shown = (['system', 'tools', 'files', 'memory'] as const).map((name) =>
    partOf(name, groups[name], scale),
  )
  // The parts must add up to the total in spite of rounding.
  const rest = usedTokens - shown.reduce((sum, { tokens }) => sum + tokens, 0)
  const settings = parts.compaction ?? defaultCompaction
  return {
    model: `${model.provider}/${model.id}`,
    windowTokens: model.facts.contextTokens,
    windowAssumed: model.facts.contextAssumed === true,
    usedTokens,
    counted: gauge.counted !== undefined,
    parts: [...shown, { name: 'history', tokens: Math.max(0, rest), count: view.length, largest: [] }],
    compaction: {
      auto: settings.auto,
      atTokens: usableTokens(model, settings),
      pruneFreesTokens: Math.round(pruneSavings(view) * scale),
      summaryReplacesTokens: Math.round(estimateTokens({ chatHistory: [...view] }) * scale),
    },
  }
}

type Group = { tokens: number; count: number; readonly named: Map<string, number> }

function add(group: Group, name: string | undefined, tokens: number): void {
  group.tokens += tokens
  group.count += 1
  if (name !== undefined) group.named.set(name, (group.named.get(name) ?? 0) + tokens)
}

/** Groups the parts of a conversation that are files and memories. The rest is history. */
function groupsOf(view: readonly Message[]): Record<'system' | 'tools' | 'files' | 'memory', Group> {
  const empty = (): Group => ({ tokens: 0, count: 0, named: new Map() })
  const groups = { system: { ...empty(), count: 1 }, tools: empty(), files: empty(), memory: empty() }
  const paths = new Map<string, string>()
  for (const message of view)
    if (message.role === 'assistant') {
      for (const part of message.content)
        if (part.type === 'tool_call' && part.function.name === 'read') {
          const { arguments: given } = part.function
          const path = isRecord(given) ? given['file_path'] : undefined
          if (typeof path === 'string') paths.set(part.id, path)
        }
    } else if (message.role === 'user') {
      for (const part of message.content)
        if (part.type !== 'text') add(groups.files, undefined, sizeOf(part))
        else {
          const name = addedPart(part.text)
          if (name !== undefined) add(groups[name], undefined, sizeOf(part))
        }
    } else if (message.role === 'tool') {
      for (const result of message.content) {
        const tokens = estimateMessageTokens({ role: 'tool', content: [result] })
        if (result.toolName === 'read') add(groups.files, paths.get(result.id), tokens)
        else if (result.toolName === 'recall') add(groups.memory, undefined, tokens)
      }
    }
  return groups
}

function sizeOf(part: UserMessage['content'][number]): number {
  return estimateMessageTokens({ role: 'user', content: [part] })
}

function partOf(name: ContextPart['name'], group: Group, scale: number): ContextPart {
  const largest = [...group.named]
    .map(([item, tokens]) => ({ name: item, tokens: Math.round(tokens * scale) }))
    .sort((a, b) => b.tokens - a.tokens || (a.name < b.name ? -1 : 1))
    .slice(0, maxNamed)
  return { name, tokens: Math.max(0, Math.round(group.tokens * scale)), count: group.count, largest }
}

const maxNamed = 5
