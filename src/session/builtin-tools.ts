import type { AnyTool } from '../tool/contract.js'
import { ToolSet } from '../tool/tool-set.js'
import { extensionTools } from '../toolbox/extension/extension-tools.js'
import { extensionToolNames } from '../toolbox/extension/names.js'
import { toolSearchTool } from '../toolbox/tool-search.js'
import { createToolbox } from '../toolbox/toolbox.js'
import { featuresWith } from './features-with.js'
import type { SessionKernel } from './kernel.js'
import type { SessionOptions } from './options.js'
import { shownLimits } from './shown-limits.js'
import { builtinToolNames } from './tool-names.js'
import { ToolRegistry } from './tool-registry.js'

/** The tools that a session starts with. */
export function createToolRegistry({
  options,
  setup,
  models,
}: Pick<SessionKernel, 'options' | 'setup' | 'models'>): ToolRegistry {
  const builtin = builtinTools(options, setup.agentTools?.() ?? [])
  const limits = shownLimits(options.toolSearch ?? 'auto', isBuiltinName, () => models.current().facts)
  const tools = [...builtin, ...ownTools(options)]
  return new ToolRegistry(tools, toolSearchTool, dormantTools(options, builtin), limits)
}

/** Returns the tools that come with a session: those of the toolbox, of features, and those that the agent adds. */
export function builtinTools(options: SessionOptions, more: readonly AnyTool[]): readonly AnyTool[] {
  const { builtinTools: chosen, webSearch, extensionTools: extensions } = options
  const added = extensions ? extensionTools(extensions) : []
  if (chosen === false) return added
  const all = [...createToolbox({ webSearch }), ...featureTools(options), ...more, toolSearchTool]
  return [...(chosen === undefined ? all : all.filter(({ name }) => chosen.includes(name))), ...added]
}

/** Whether a tool of this name comes with the package. */
function isBuiltinName(name: string): boolean {
  return names.has(name)
}

const names: ReadonlySet<string> = new Set([...builtinToolNames, ...extensionToolNames])

/** Returns the host's own tools. */
export function ownTools({ tools = [] }: SessionOptions): readonly AnyTool[] {
  return tools instanceof ToolSet ? tools.values() : tools
}

/**
 * Returns the tools that cannot work yet: there is no user to answer a question, no provider to search the web, no
 * skill, no further tool to find. The model does not see them, which saves context; a call returns what is missing.
 */
function dormantTools(options: SessionOptions, tools: readonly AnyTool[]): readonly AnyTool[] {
  const { onQuestion, webSearch } = options
  const ofFeatures = featuresWith('dormantTools').flatMap((feature) => feature.dormantTools())
  const names = [
    ...ofFeatures.map(({ name }) => name),
    toolSearchTool.name,
    ...(onQuestion === undefined ? ['question'] : []),
    ...((webSearch?.providers ?? []).length === 0 ? ['web_search'] : []),
  ]
  // A subagent gets them from its parent.
  const lent = ofFeatures.filter((tool) => ownTools(options).includes(tool))
  return [...tools.filter(({ name }) => names.includes(name)), ...lent]
}

function featureTools(options: SessionOptions): readonly AnyTool[] {
  return featuresWith('tools').flatMap((feature) => feature.tools(options))
}
