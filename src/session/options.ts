import type { Manifest } from '../authority/manifest.js'
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
import type { McpSamplingHandler, McpSignIn } from '../mcp/host-types.js'
import type { McpServerOptions } from '../mcp/server-options.js'
import type { MemoryOptions, MemoryStore } from '../memory/index.js'
import type { Model } from '../model/model.js'
import type { QueueConfig } from '../queue/index.js'
import type { InlineSkill } from '../skills/skill.js'
import type { Durability, SessionStore } from '../store/session-store.js'
import type { WorkerAgentSpec } from '../subagents/files/worker-spec.js'
import type { AhpTransport } from '../supervise/transport.js'
import type { ToolApprovalsOptions } from '../tool/approval.js'
import type { AnyTool } from '../tool/contract.js'
import type { JsonObject } from '../tool/json.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { RequirementSet } from '../tool/requirement.js'
import type { Question, QuestionAnswers } from '../tool/runtime.js'
import type { ToolSet } from '../tool/tool-set.js'
import type { WebSearchOptions } from '../toolbox/web-search.js'
import type { VerifyRequirement } from '../verify/index.js'
import type { LocalWorkspaceBackend } from '../workspace/local-backend.js'
import type { WorkspaceOptions } from '../workspace/open-workspace.js'
import type { ConfirmationPolicy } from './confirmations.js'
import type { PromptSlots } from './prompt/system-prompt.js'
import type { SecurityProvider } from './security/index.js'
import type { ToolSearchMode } from './shown-limits.js'

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

/** How much a session keeps in memory to look back. A limit that is absent, `null` or `Infinity` means: all of it. */
export type RetentionLimits = {
  readonly maxRuns?: number | null
  readonly maxEventsPerRun?: number | null
  readonly maxTraceEvents?: number | null
  readonly maxTerminalSubagentTasks?: number | null
}

/** Whose question it is, when it is not the session's own. */
export type QuestionSource = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: string
  readonly description: string
}
export type QuestionHandler = (
  questions: readonly Question[],
  from?: QuestionSource,
) => QuestionAnswers | Promise<QuestionAnswers>

/** What holds for work that is handed to other agents. */
export type DelegationOptions = {
  /** Lets what a person agreed to for this session count for its subagents, too. */
  readonly approvals?: boolean
  /** The variables of `env` that subagents' commands get: all, or those of these names. None unless said otherwise. */
  readonly env?: boolean | readonly string[]
  /** How many levels of subagents there may be; 5 unless said otherwise. */
  readonly maxDepth?: number
  /** How many tasks may be unfinished at one time, on all levels together; 64 unless said otherwise. */
  readonly maxTasks?: number
  /** How long one task may take; ten minutes unless said otherwise. */
  readonly timeoutMs?: number
}

/** Agents that are asked before the model is, when a prompt sounds like their work. */
export type AutoDelegation = {
  readonly enabled?: boolean
  /** Whether several are asked at the same time. */
  readonly autoParallel?: boolean
  /** False: the model itself cannot hand work on; there is no `task` and no `parallel_task`. */
  readonly allowManualDelegation?: boolean
  /** From 0 to 1; 0.72 unless said otherwise. */
  readonly minConfidence?: number
  /** 4 unless said otherwise. */
  readonly maxTasks?: number
}

/** When a request to a model that failed is sent again. By default it is, for more than a minute. */
export type RetryOptions = {
  /** How often; 7 by default, 0 turns retries off. */
  readonly maxRetries?: number
  /** The pause before the first retry; doubled for each further one. 1000 by default. */
  readonly baseDelayMs?: number
  /** The longest pause that retries grow to; 30,000 by default. */
  readonly maxDelayMs?: number
  /** The longest pause that a provider can ask for; 300,000 by default. */
  readonly maxRetryAfterMs?: number
}

/** What a host may say about one session. Everything has a default. */
export type SessionOptions = PromptSlots &
  SessionLabels &
  RunLimits & {
    readonly sessionId?: string
    /** What lists call the session; the first words of the first prompt unless said otherwise. */
    readonly title?: string
    /** `provider/model` of the configuration, or a model object. */
    readonly model?: string | Model
    /** The models that take a round when `model` cannot: its retries are used up, or its circuit is open. Tried in this order. */
    readonly fallbackModels?: readonly (string | Model)[]
    /** How failed requests to a model are sent again. */
    readonly retry?: RetryOptions
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
    readonly onQuestion?: QuestionHandler
    readonly watchdog?: Watchdog
    /** What the agent asks for in addition to its tools, and rules that come with it; its denies hold whatever other rules say. */
    readonly manifest?: Manifest
    /** Files outside the workspace that the user has open: their directories are what `{ad-hoc}` means. */
    readonly adHocFiles?: readonly string[]
    /** The host's directory for this user: what `{user-data}` means. */
    readonly userDataDir?: string
    /** What approval policies and tools find in `run.metadata`; a request can add to it. */
    readonly metadata?: JsonObject
    /** What nothing in this session may exceed. */
    readonly ceiling?: RequirementSet
    readonly mode?: ModeName
    readonly sandbox?: NonNullable<WorkspaceOptions['sandbox']>
    readonly network?: NonNullable<WorkspaceOptions['network']>
    readonly env?: Readonly<Record<string, string>>
    /** The directory that the session works in, in place of the workspace argument. Only directories of this machine are supported. */
    readonly workspaceBackend?: LocalWorkspaceBackend
    /** Further directories that belong to the workspace. */
    readonly roots?: readonly string[]
    readonly tools?: readonly AnyTool[] | ToolSet
    /** The built-in tools that the session has; absent: all of them. */
    readonly builtinTools?: readonly string[] | false
    /** Further tools for code agents: all of them, or those that are named. Default: none. */
    readonly extensionTools?: boolean | readonly string[]
    /** Directories with skills in them. */
    readonly skillDirs?: readonly string[]
    readonly inlineSkills?: readonly InlineSkill[]
    /** Adds the skills that come with the package. */
    readonly builtinSkills?: boolean
    /** False: the skills of the project and of the user are not looked for. */
    readonly discoverSkills?: boolean
    /** Directories with files of agents, which tasks may be given to. */
    readonly agentDirs?: readonly string[]
    readonly workerAgents?: readonly WorkerAgentSpec[]
    /** False: the agents of the project and of the user are not looked for. */
    readonly discoverAgents?: boolean
    /** MCP servers whose tools the session has, by name or as a list; connected with the first run. */
    readonly mcpServers?:
      | Readonly<Record<string, Omit<McpServerOptions, 'name'>>>
      | readonly McpServerOptions[]
    /**
     * How the model gets the tools of MCP servers. `auto`, the default: directly while they are few, else by `tool_search`. `always`: by
     * `tool_search`. `never`: directly.
     */
    readonly toolSearch?: ToolSearchMode
    /** What MCP servers may have of the host. */
    readonly mcp?: {
      /** Answers when a server wants a model to be asked. Absent: servers are told that nobody does. */
      readonly sampling?: McpSamplingHandler
      readonly signIn?: McpSignIn
    }
    readonly middleware?: readonly AgentMiddleware[]
    readonly approvals?: ToolApprovalsOptions
    readonly hooks?: readonly HookOption[]
    /** A supervisor outside: told what happens, asked before it does, and able to narrow only. */
    readonly ahpTransport?: AhpTransport
    readonly commands?: readonly CommandOption[]
    readonly budgetGuard?: BudgetGuard
    readonly webSearch?: WebSearchOptions
    readonly securityProvider?: SecurityProvider
    /** Where what is remembered outlives the session. Sessions that share one share what they remember. */
    readonly memoryStore?: MemoryStore
    readonly memory?: MemoryOptions
    readonly hostEnv?: HostEnv
    /** Gives the session lanes in which its calls wait, and from which workers can take them. Absent: calls run at once. */
    readonly queueConfig?: QueueConfig
    readonly delegation?: DelegationOptions
    readonly autoDelegation?: AutoDelegation
    /** False: agents that are asked by themselves are asked one after the other, whatever `autoDelegation` says. */
    readonly autoParallel?: boolean
    readonly retentionLimits?: RetentionLimits
    /** Where the session is stored, from the moment it is opened. A session of the same id that is there already is resumed. */
    readonly sessionStore?: SessionStore
    /**
     * The host vouches for its store: a resumed session gets the mode, rules, sandbox and everything else that its log says. Without it
     * a log can only restrict the session, since tools may have written it.
     */
    readonly trustStore?: boolean
    /** With a store everything is written as it happens, and `save()` waits until it is on disk. `false` has no effect: `initWarning` says so. */
    readonly autoSave?: boolean
    /** When records are on disk; `sync`, before they are acknowledged, unless said otherwise. */
    readonly durability?: Durability
    readonly autoCompact?: boolean
    readonly autoCompactThreshold?: number
    readonly toolTimeoutMs?: number
    /** False: the model may overwrite a file that changed since it last read or wrote it. */
    readonly staleWriteCheck?: boolean
    /** True: the model may change a file that exists only after it has read it. */
    readonly requireReadBeforeWrite?: boolean
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
    readonly handler: HookHandler<Name>
  }
}[HookEventName]
export type CommandOption = {
  readonly name: string
  readonly description: string
  readonly handler: CommandHandler
}
