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

/** A completion model of the host, or a model of this SDK. */
export type BuilderModel = CompletionModel | Model

/** Options of tools that are found by search. */
export type DynamicToolsOptions = {
  /** The maximum number of tools that a search adds. */
  topK: number
  threshold?: number
  filter?: VectorFilter
}

export type DynamicTools = { readonly index: DynamicToolIndex } & Readonly<DynamicToolsOptions>

/** The settings of a builder. They are immutable, except the tool sets that are used live. */
export type AgentSettings = {
  readonly id: string
  readonly name?: string
  readonly description?: string
  readonly model: BuilderModel
  readonly instructions?: string
  readonly documents: readonly ContextDocument[]
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
  /** Metadata of the host for approval policies and tools, for example the current user. */
  readonly metadata?: JsonObject
  readonly env: Required<Pick<HostEnv, 'idGenerator' | 'clock'>>
}

/** The tools that are always offered, by name. The agent's own tool takes precedence over one of a set. */
export function staticTools({ tools, liveSets }: AgentSettings): Map<string, Tool> {
  const byName = new Map<string, Tool>()
  for (const set of [tools, ...liveSets])
    for (const tool of set.values()) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return byName
}

/** Every tool that can be offered. Tools that are always offered take precedence over those of a search. */
export function allTools(settings: AgentSettings): Map<string, Tool> {
  const byName = staticTools(settings)
  for (const { index } of settings.dynamicTools)
    for (const tool of index.toolSet.values()) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return byName
}
