import type { HostEnv } from '../../loop/host-env.js'
import type { CompletionModel } from '../../model/completion-model.js'
import type { Model } from '../../model/model.js'
import type { ToolApprovalsOptions } from '../../tool/approval.js'
import type { CompletionRequest, ContextDocument } from '../../tool/completion.js'
import type { Tool } from '../../tool/contract.js'
import type { JsonObject } from '../../tool/json.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import type { VectorFilter } from '../../tool/search/filter.js'
import type { DynamicToolIndex } from '../../tool/search/tool-index.js'
import type { ToolSet } from '../../tool/tool-set.js'
import type { DynamicContext } from './dynamic-context.js'
import type { AgentHook } from './hook.js'
import type { ConversationOptions, ConversationStore } from './prompt-memory.js'

/** A host's own completion model, or one of ours. */
export type BuilderModel = CompletionModel | Model

export type DynamicToolsOptions = {
  /** How many tools a search may bring at most. */
  topK: number
  threshold?: number
  filter?: VectorFilter
}

export type DynamicTools = { readonly index: DynamicToolIndex } & Readonly<DynamicToolsOptions>

/** What a builder collected. Nothing in it changes any more, but the tool sets that were given to be used live. */
export type AgentSettings = {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly model: BuilderModel
  readonly instructions?: string
  readonly documents: readonly ContextDocument[]
  /** The agent's own. */
  readonly tools: ToolSet
  readonly liveSets: readonly ToolSet[]
  readonly dynamicTools: readonly DynamicTools[]
  readonly request: Pick<
    Partial<CompletionRequest>,
    'temperature' | 'maxTokens' | 'toolChoice' | 'additionalParams' | 'outputSchema'
  >
  readonly defaultMaxTurns: number
  readonly middleware: readonly AgentMiddleware[]
  readonly approvals?: ToolApprovalsOptions
  readonly dynamicContexts: readonly DynamicContext[]
  readonly hook?: AgentHook
  readonly memory?: ConversationOptions & { readonly store: ConversationStore }
  /** For approval policies and tools: who is asking, in the words of the host. */
  readonly metadata?: JsonObject
  readonly env: Required<Pick<HostEnv, 'idGenerator' | 'clock'>>
}

/** The tools that are always offered, by name; of two with one name the agent's own counts. */
export function staticTools({ tools, liveSets }: AgentSettings): Map<string, Tool> {
  const byName = new Map<string, Tool>()
  for (const set of [tools, ...liveSets])
    for (const tool of set.values()) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return byName
}

/** Every tool that could ever be offered: what is always there counts before what a search brings. */
export function allTools(settings: AgentSettings): Map<string, Tool> {
  const byName = staticTools(settings)
  for (const { index } of settings.dynamicTools)
    for (const tool of index.toolSet.values()) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return byName
}
