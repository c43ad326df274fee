import type { ModeName } from '../authority/mode.js'
import type { PermissionPolicy } from '../authority/policy.js'
import type { Watchdog } from '../authority/watchdog.js'
import type { CommandHandler } from '../commands/index.js'
import type { HookConfig, HookEventName, HookHandler, HookMatcher } from '../hooks/index.js'
import type { AskHandler } from '../loop/ask.js'
import type { BudgetGuard } from '../loop/budget.js'
import type { HostEnv } from '../loop/host-env.js'
import type { RunLimits } from '../loop/run-parts.js'
import type { StopCondition } from '../loop/stop-conditions.js'
import type { MemoryOptions, MemoryStore } from '../memory/index.js'
import type { Model } from '../model/model.js'
import type { Durability, SessionStore } from '../store/session-store.js'
import type { ToolApprovalsOptions } from '../tool/approval.js'
import type { AnyTool } from '../tool/contract.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { RequirementSet } from '../tool/requirement.js'
import type { Question, QuestionAnswers } from '../tool/runtime.js'
import type { ToolSet } from '../tool/tool-set.js'
import type { WebSearchOptions } from '../toolbox/web-search.js'
import type { VerifyRequirement } from '../verify/index.js'
import type { WorkspaceOptions } from '../workspace/open-workspace.js'
import type { ConfirmationPolicy } from './confirmations.js'
import type { PromptSlots } from './prompt/system-prompt.js'
import type { SecurityProvider } from './security/index.js'

/** Labels of the host. They are handed on to hooks, traces and records, and never interpreted. */
export type SessionLabels = {
  readonly tenantId?: string
  readonly principal?: string
  readonly agentTemplateId?: string
  readonly correlationId?: string
}

export function labelsOf({
  tenantId,
  principal,
  agentTemplateId,
  correlationId,
}: SessionLabels): SessionLabels {
  return {
    ...(tenantId !== undefined && { tenantId }),
    ...(principal !== undefined && { principal }),
    ...(agentTemplateId !== undefined && { agentTemplateId }),
    ...(correlationId !== undefined && { correlationId }),
  }
}

export type RetentionLimits = {
  readonly maxRuns?: number
  readonly maxEventsPerRun?: number
  readonly maxTraceEvents?: number
  readonly maxTerminalSubagentTasks?: number
}

/** What a host may say about one session. Everything has a default. */
export type SessionOptions = PromptSlots &
  SessionLabels &
  RunLimits & {
    readonly sessionId?: string
    /** `provider/model` of the configuration, or a model object. */
    readonly model?: string | Model
    readonly temperature?: number
    readonly maxTokens?: number
    readonly thinkingBudget?: number
    readonly planningMode?: 'auto' | 'enabled' | 'disabled'
    /** @deprecated Use `planningMode`. */
    readonly planning?: boolean
    readonly goalTracking?: boolean
    readonly permissionPolicy?: PermissionPolicy
    readonly confirmationPolicy?: ConfirmationPolicy
    /** Decides about calls that must be asked about. Absent, and without a confirmation policy: they are refused. */
    readonly onAsk?: AskHandler
    /** Answers the questions of the model. Absent: it is told to go on by itself. */
    readonly onQuestion?: (questions: readonly Question[]) => QuestionAnswers | Promise<QuestionAnswers>
    readonly watchdog?: Watchdog
    /** What nothing in this session may exceed. */
    readonly ceiling?: RequirementSet
    readonly mode?: ModeName
    readonly sandbox?: NonNullable<WorkspaceOptions['sandbox']>
    readonly network?: NonNullable<WorkspaceOptions['network']>
    readonly env?: Readonly<Record<string, string>>
    /** Further directories that belong to the workspace. */
    readonly roots?: readonly string[]
    readonly tools?: readonly AnyTool[] | ToolSet
    /** The built-in tools that the session has; absent: all of them. */
    readonly builtinTools?: readonly string[] | false
    readonly middleware?: readonly AgentMiddleware[]
    readonly approvals?: ToolApprovalsOptions
    readonly hooks?: readonly HookOption[]
    readonly commands?: readonly CommandOption[]
    readonly budgetGuard?: BudgetGuard
    readonly webSearch?: WebSearchOptions
    readonly securityProvider?: SecurityProvider
    /** Where what is remembered outlives the session. Sessions that share one share what they remember. */
    readonly memoryStore?: MemoryStore
    readonly memory?: MemoryOptions
    readonly hostEnv?: HostEnv
    readonly retentionLimits?: RetentionLimits
    /** Where the session is kept, from its first message on. A session of the same id that is there already goes on. */
    readonly sessionStore?: SessionStore
    /** With a store everything is kept as it happens; this changes nothing, and `save()` waits until it is on disk. */
    readonly autoSave?: boolean
    /** When records are on disk; `sync`, before they are acknowledged, unless said otherwise. */
    readonly durability?: Durability
    readonly autoCompact?: boolean
    readonly autoCompactThreshold?: number
    readonly toolTimeoutMs?: number
    /** What must hold before a run counts as done: checks that run when the model says so, and go back to it when they fail. */
    readonly verify?: VerifyRequirement
    readonly stopWhen?: StopCondition | readonly StopCondition[]
    readonly whenBusy?: 'queue' | 'reject'
    /** Aborted: the session is closed. */
    readonly signal?: AbortSignal
    /** Instruction files to look for, the first of each directory counts. */
    readonly instructionFiles?: readonly string[] | false
  }

/** The same as the arguments of `registerHook`. */
export type HookOption = {
  [Name in HookEventName]: {
    readonly id: string
    readonly event: Name
    readonly matcher?: HookMatcher
    readonly config?: HookConfig
    readonly handler?: HookHandler<Name>
  }
}[HookEventName]
export type CommandOption = {
  readonly name: string
  readonly description: string
  readonly handler: CommandHandler
}
