import type { Manifest } from '../authority/manifest.js'
import type { ModeName } from '../authority/mode.js'
import type { PermissionPolicy } from '../authority/policy.js'
import type { Watchdog } from '../authority/watchdog.js'
import type { CommandFeatureOptions } from '../commands/feature.js'
import type { SessionLabels } from '../feature/labels.js'
import type { QuestionHandler } from '../feature/question.js'
import type { GoalFeatureOptions } from '../goals/feature.js'
import type { HookFeatureOptions } from '../hooks/feature.js'
import type { AskHandler } from '../loop/ask.js'
import type { BudgetGuard } from '../loop/budget.js'
import type { HostEnv } from '../loop/host-env.js'
import type { RunLimits } from '../loop/run-parts.js'
import type { StopCondition } from '../loop/stop-conditions.js'
import type { McpFeatureOptions } from '../mcp/session-servers.js'
import type { MemoryFeatureOptions } from '../memory/feature.js'
import type { ReasoningEffort } from '../model/effort.js'
import type { Model } from '../model/model.js'
import type { QueueFeatureOptions } from '../queue/feature.js'
import type { SkillFeatureOptions } from '../skills/feature.js'
import type { Durability, SessionStore } from '../store/session-store.js'
import type { SubagentFeatureOptions } from '../subagents/options.js'
import type { SuperviseFeatureOptions } from '../supervise/feature.js'
import type { ToolApprovalsOptions } from '../tool/approval.js'
import type { AnyTool } from '../tool/contract.js'
import type { JsonObject } from '../tool/json.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { RequirementSet } from '../tool/requirement.js'
import type { ToolSet } from '../tool/tool-set.js'
import type { WebSearchOptions } from '../toolbox/web-search.js'
import type { VerifyFeatureOptions } from '../verify/feature.js'
import type { WorkspaceBackend } from '../workspace/backend/backend.js'
import type { LocalWorkspaceBackend } from '../workspace/local-backend.js'
import type { WorkspaceOptions } from '../workspace/open-workspace.js'
import type { ConfirmationPolicy } from './confirmations.js'
import type { PromptSlots } from './prompt/system-prompt.js'
import type { SecurityProvider } from './security/index.js'
import type { ToolSearchMode } from './shown-limits.js'

/** How much history a session keeps in memory. A limit that is absent, `null` or `Infinity` means no limit. */
export type RetentionLimits = {
  readonly maxRuns?: number | null
  readonly maxEventsPerRun?: number | null
  readonly maxTraceEvents?: number | null
  readonly maxTerminalSubagentTasks?: number | null
  /**
   * The maximum number of messages, not counting older ones that a request still needs. Only applies with a store,
   * which has all messages.
   */
  readonly maxMessages?: number | null
}

/** When a failed request to a model is sent again. By default it is retried for more than a minute. */
export type RetryOptions = {
  /** The maximum number of retries. Default: 7; 0 turns retries off. */
  readonly maxRetries?: number
  /** The delay before the first retry in milliseconds; it doubles for each further one. Default: 1,000. */
  readonly baseDelayMs?: number
  /** The maximum delay in milliseconds. Default: 30,000. */
  readonly maxDelayMs?: number
  /** The maximum delay that a provider can request, in milliseconds. Default: 300,000. */
  readonly maxRetryAfterMs?: number
}

/** The options of a session. Everything has a default. */
export type SessionOptions = PromptSlots &
  SessionLabels &
  RunLimits &
  HookFeatureOptions &
  SuperviseFeatureOptions &
  CommandFeatureOptions &
  MemoryFeatureOptions &
  SkillFeatureOptions &
  SubagentFeatureOptions &
  McpFeatureOptions &
  QueueFeatureOptions &
  GoalFeatureOptions &
  VerifyFeatureOptions & {
    readonly sessionId?: string
    /** The title of the session in lists. Default: the first words of the first prompt. */
    readonly title?: string
    /** `provider/model` of the configuration, or a model object. */
    readonly model?: string | Model
    /** The models that take over a round when `model` fails (retries used up, or circuit open), in this order. */
    readonly fallbackModels?: readonly (string | Model)[]
    /** How failed requests to a model are sent again. */
    readonly retry?: RetryOptions
    readonly temperature?: number
    readonly maxTokens?: number
    readonly thinkingBudget?: number
    /** How much the model reasons; takes precedence over `thinkingBudget`. Models without reasoning ignore it. */
    readonly reasoningEffort?: ReasoningEffort
    readonly planningMode?: 'auto' | 'enabled' | 'disabled'
    /** @deprecated Use `planningMode`. */
    readonly planning?: boolean
    readonly goalTracking?: boolean
    readonly permissionPolicy?: PermissionPolicy
    readonly confirmationPolicy?: ConfirmationPolicy
    /** Approves or rejects calls that need approval. Without it, and without a confirmation policy, they are denied. */
    readonly onAsk?: AskHandler
    /** Answers the questions of the model. Absent: the model must decide by itself. */
    readonly onQuestion?: QuestionHandler
    readonly watchdog?: Watchdog
    /**
     * The requirements of the agent in addition to those of its tools, and its rules; its denies override all other
     * rules.
     */
    readonly manifest?: Manifest
    /** Files outside the workspace that the user has open: `{ad-hoc}` expands to their directories. */
    readonly adHocFiles?: readonly string[]
    /** The host's directory for this user, to which `{user-data}` expands. */
    readonly userDataDir?: string
    /** Metadata that approval policies and tools read as `run.metadata`; a request can add to it. */
    readonly metadata?: JsonObject
    /** The maximum access of everything in this session. */
    readonly ceiling?: RequirementSet
    readonly mode?: ModeName
    readonly sandbox?: NonNullable<WorkspaceOptions['sandbox']>
    /** Limits of each command that replace the default ones; `Infinity` removes one. */
    readonly commandLimits?: NonNullable<WorkspaceOptions['limits']>
    readonly network?: NonNullable<WorkspaceOptions['network']>
    readonly env?: Readonly<Record<string, string>>
    /**
     * The workspace backend, instead of the workspace argument: another directory, or a backend such as
     * `createMemoryBackend(files)`.
     */
    readonly workspaceBackend?: LocalWorkspaceBackend | WorkspaceBackend
    /** Further directories that belong to the workspace. */
    readonly roots?: readonly string[]
    readonly tools?: readonly AnyTool[] | ToolSet
    /** The built-in tools of the session; absent: all of them. */
    readonly builtinTools?: readonly string[] | false
    /** Further tools for coding agents: all of them, or those that are named. Default: none. */
    readonly extensionTools?: boolean | readonly string[]
    /**
     * How the model gets the tools of MCP servers. `auto`, the default: directly while they are few, otherwise by
     * `tool_search`. `always`: by `tool_search`. `never`: directly.
     */
    readonly toolSearch?: ToolSearchMode
    readonly middleware?: readonly AgentMiddleware[]
    readonly approvals?: ToolApprovalsOptions
    readonly budgetGuard?: BudgetGuard
    readonly webSearch?: WebSearchOptions
    readonly securityProvider?: SecurityProvider
    readonly hostEnv?: HostEnv
    readonly retentionLimits?: RetentionLimits
    /** Where the session is stored, from the moment it is opened. A stored session with the same id is resumed. */
    readonly sessionStore?: SessionStore
    /**
     * The host trusts the content of its store: a resumed session gets the mode, rules, sandbox and everything else
     * from its log. Without it a log can only restrict the session, because tools could have written it.
     */
    readonly trustStore?: boolean
    /**
     * With a store everything is written immediately, and `save()` waits until it is on disk. `false` has no effect,
     * and `initWarning` reports that.
     */
    readonly autoSave?: boolean
    /** When records are on disk. Default: `sync`, before they are acknowledged. */
    readonly durability?: Durability
    readonly autoCompact?: boolean
    readonly autoCompactThreshold?: number
    readonly toolTimeoutMs?: number
    /** `false`: the model can overwrite a file that changed since the model last read or wrote it. */
    readonly staleWriteCheck?: boolean
    /** `true`: the model can change an existing file only after it has read it. */
    readonly requireReadBeforeWrite?: boolean
    readonly stopWhen?: StopCondition | readonly StopCondition[]
    readonly whenBusy?: 'queue' | 'reject'
    /** Closes the session when it is aborted. */
    readonly signal?: AbortSignal
    /** The names of instruction files; the first one that exists in a directory is used. */
    readonly instructionFiles?: readonly string[] | false
  }
