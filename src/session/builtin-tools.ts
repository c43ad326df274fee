import type { AnyTool } from '../tool/contract.js'
import { ToolSet } from '../tool/tool-set.js'
import { createToolbox } from '../toolbox/toolbox.js'
import type { SessionOptions } from './options.js'

/** The tools that come with a session: those of the toolbox, and those that the agent lends. */
export function builtinTools(
  { builtinTools: chosen, webSearch }: SessionOptions,
  more: readonly AnyTool[],
): readonly AnyTool[] {
  if (chosen === false) return []
  const all = [...createToolbox({ ...(webSearch !== undefined && { webSearch }) }), ...more]
  return chosen === undefined ? all : all.filter(({ name }) => chosen.includes(name))
}

/** The tools that a host gave. */
export function ownTools({ tools = [] }: SessionOptions): readonly AnyTool[] {
  return tools instanceof ToolSet ? tools.values() : tools
}

/** What only a host can use as the session is made: nobody would answer a question, nothing would search the web. */
export function asleepTools(
  { onQuestion, webSearch }: SessionOptions,
  tools: readonly AnyTool[],
): readonly AnyTool[] {
  const names = [
    ...(onQuestion === undefined ? ['question'] : []),
    ...((webSearch?.providers ?? []).length === 0 ? ['web_search'] : []),
  ]
  return names.length === 0 ? [] : tools.filter(({ name }) => names.includes(name))
}
