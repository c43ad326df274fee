import type { ContextPart, ContextUsage } from '../feature/context-usage.js'
import type { Goal } from '../feature/goal.js'
import type { ServerState } from '../feature/shared-services.js'
import { visibleLine } from '../toolbox/untrusted-text.js'
import type { CommandInfo, CommandSession } from './command.js'

/** A command that every session has. It can use the whole session and has no time limit. */
export type BuiltinCommand = CommandInfo & {
  run(call: BuiltinCall): string | Promise<string>
}

export type BuiltinCall = {
  readonly args: string
  readonly session: CommandSession
  readonly signal: AbortSignal
  readonly commands: readonly CommandInfo[]
}

export const builtinCommands: readonly BuiltinCommand[] = [
  {
    name: 'clear',
    description: 'Forget the conversation so far',
    run: async ({ session }) => {
      const { historyLen } = session.context()
      await session.clearHistory()
      return `History cleared: ${messages(historyLen)} forgotten.`
    },
  },
  {
    name: 'compact',
    description: 'Replace the older part of the conversation by a summary',
    usage: '/compact [focus]',
    run: async ({ args, session, signal }) => {
      if (session.context().historyLen === 0) return 'Nothing was compacted: the conversation is empty.'
      const done = await session.compact(signal, { focus: args === '' ? undefined : args })
      // The event `compaction_failed` has reported the reason.
      if (done === undefined) return 'Nothing was compacted.'
      return `Compacted: ${messages(done.beforeMessages)} became ${done.afterMessages}.`
    },
  },
  {
    name: 'context',
    description: 'Show what fills the context window',
    run: async ({ session, signal }) => context(await session.contextUsage(signal)),
  },
  { name: 'cost', description: 'Show tokens and cost of this session', run: ({ session }) => cost(session) },
  {
    name: 'goal',
    description: 'Show or set the goal of the next runs ("; check: COMMAND" after it; "clear" removes it)',
    usage: '/goal [text]',
    run: ({ args, session: { goals } }) => {
      if (goals === undefined) return 'Goals are not available in this session.'
      if (args === '') return goalText(goals.current())
      return goalText(goals.set(args === 'clear' ? '' : args))
    },
  },
  { name: 'help', description: 'List the commands', run: ({ commands }) => help(commands) },
  {
    name: 'history',
    description: 'Show how long the conversation is',
    run: ({ session }) => {
      const { sessionId, historyLen, workspace } = session.context()
      return `Session: ${sessionId}\nWorkspace: ${workspace}\nMessages: ${historyLen}`
    },
  },
  {
    name: 'mcp',
    description: 'List the MCP servers',
    run: async ({ session, signal }) => mcp(await session.mcpServers(signal)),
  },
  {
    name: 'model',
    description: 'Show the model, or change to another',
    usage: '/model [provider/id]',
    run: async ({ args, session }) => {
      const { model } = session.context()
      if (args === '') return `Current model: ${model}`
      await session.setModel(args)
      return `Current model: ${session.context().model} (was ${model})`
    },
  },
  { name: 'tools', description: 'List the tools', run: ({ session }) => tools(session) },
]

function goalText(goal: Goal | undefined): string {
  if (goal === undefined) return 'No goal is set. Set one: /goal All tests pass; check: npm test'
  const { description, check, maxRounds = 0, maxTimeMs = 0 } = goal
  const how = Array.isArray(check)
    ? check.map((each) => `Check: ${typeof each === 'string' ? each : each.command}`)
    : ['Check: a model judges']
  return [
    `Goal: ${description}`,
    ...how,
    `Limits: ${number(maxRounds)} rounds, ${number(Math.round(maxTimeMs / 60_000))} minutes`,
    'It applies to the next prompts, until it is reached.',
  ].join('\n')
}

function help(commands: readonly CommandInfo[]): string {
  const shown = commands.map(({ name, usage, description }) => [usage ?? `/${name}`, description] as const)
  const width = Math.max(...shown.map(([usage]) => usage.length))
  return [
    'Commands:',
    ...shown.map(([usage, description]) => `  ${usage.padEnd(width)}  ${description}`),
  ].join('\n')
}

function cost(session: CommandSession): string {
  const { model, totalTokens, totalCost } = session.context()
  const usage = session.usage?.()
  const parts = usage && ` (${number(usage.promptTokens)} in, ${number(usage.completionTokens)} out)`
  const models = session.models?.() ?? []
  const price = totalCost === undefined ? 'unknown: this model has no price' : dollars(totalCost)
  const unpriced = models.some(({ costUsd }) => costUsd === undefined)
  const note = totalCost !== undefined && unpriced ? ' (without the models that have no price)' : ''
  return [
    `Model: ${model}`,
    `Tokens: ${number(totalTokens)}${parts ?? ''}`,
    `Cost: ${price}${note}`,
    // A single model is already listed above.
    ...(models.length > 1
      ? models.map(
          (each) =>
            `  ${each.model}: ${number(each.usage.totalTokens)} tokens, ${each.costUsd === undefined ? 'no price' : dollars(each.costUsd)}`,
        )
      : []),
  ].join('\n')
}

function context({
  model,
  windowTokens,
  windowAssumed,
  usedTokens,
  counted,
  ...usage
}: ContextUsage): string {
  const { auto, atTokens, pruneFreesTokens, summaryReplacesTokens } = usage.compaction
  const window = `${number(windowTokens)} tokens${windowAssumed ? ', assumed: the model is not in the catalogue' : ''}`
  const width = Math.max(...usage.parts.map(({ tokens }) => number(tokens).length))
  const when = auto ? `at ${number(atTokens)} tokens` : 'only by /compact'
  return [
    `Model: ${model} (window: ${window})`,
    `Used: ${number(usedTokens)} tokens, ${percent(usedTokens, windowTokens)} (${counted ? 'counted by the provider, parts estimated' : 'estimated'})`,
    ...usage.parts.flatMap((part) => [
      `  ${part.name.padEnd(7)}  ${number(part.tokens).padStart(width)}${partCount(part)}`,
      ...partItems(part),
    ]),
    `Free: ${number(Math.max(0, windowTokens - usedTokens))} tokens`,
    `Compaction: ${when}. It can leave out ${number(pruneFreesTokens)} tokens of old tool output,`,
    `  and replace ${number(summaryReplacesTokens)} tokens of messages by a summary.`,
  ].join('\n')
}

function partCount({ name, count }: ContextPart): string {
  const unit = units[name]
  return unit === undefined || count === 0 ? '' : `  (${count} ${unit}${count === 1 ? '' : 's'})`
}

/** The largest tools or files, as lines that fit a terminal. */
function partItems({ largest }: ContextPart): string[] {
  const lines: string[] = []
  for (const { name, tokens } of largest) {
    const item = `${visibleLine(name, maxNameLength)} ${number(tokens)}`
    const last = lines.at(-1)
    if (last === undefined || last.length + item.length > maxLineLength) lines.push(`    ${item}`)
    else lines[lines.length - 1] = `${last}, ${item}`
  }
  return lines
}

const maxNameLength = 80
const maxLineLength = 70

const units: Readonly<Partial<Record<ContextPart['name'], string>>> = {
  tools: 'tool',
  files: 'file',
  memory: 'section',
  history: 'message',
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`
}

function tools(session: CommandSession): string {
  const { toolNames } = session.context()
  const builtin = toolNames.filter((name) => session.isBuiltinTool(name))
  const mcpTools = toolNames.filter((name) => !builtin.includes(name) && name.startsWith('mcp__'))
  const custom = toolNames.filter((name) => !builtin.includes(name) && !mcpTools.includes(name))
  const line = (title: string, names: readonly string[]): string =>
    `${title} (${names.length}): ${[...names].sort().join(', ')}`
  return [
    `Tools: ${toolNames.length}`,
    line('Builtin', builtin),
    ...(custom.length > 0 ? [line('Custom', custom)] : []),
    ...(mcpTools.length > 0 ? [line('MCP', mcpTools)] : []),
  ].join('\n')
}

function mcp(servers: readonly ServerState[]): string {
  if (servers.length === 0) return 'MCP servers: none are connected.'
  return [`MCP servers: ${servers.length}`, ...servers.map((server) => `  ${serverLine(server)}`)].join('\n')
}

function serverLine({ name, connected, toolCount, state, confined, error }: ServerState): string {
  const tools = `${toolCount} ${toolCount === 1 ? 'tool' : 'tools'}`
  const how = connected ? tools : error === undefined ? state : `${state}: ${error}`
  return `${name}: ${how}${confined ? ' (confined to the workspace)' : ''}`
}

function dollars(amount: number): string {
  return amount > 0 && amount < 0.00005 ? 'less than $0.0001' : `$${amount.toFixed(4)}`
}

function messages(count: number): string {
  return count === 1 ? '1 message' : `${count} messages`
}

/** Formats a number the same way on every machine, regardless of its locale. */
function number(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}
