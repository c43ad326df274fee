import type { Manifest } from '../../authority/manifest.js'
import type { McpOauthOptions, McpServerOptions, McpTransportName } from '../../mcp/server-options.js'
import type { MemoryOptions } from '../../memory/options.js'
import type { ReasoningEffort } from '../../model/effort.js'
import type { ModelPrice } from '../../model/model.js'
import type { ModelConfig } from '../../model/provider.js'
import type { LaneMode } from '../../queue/lane.js'
import type { RetryOptions } from '../../session/options.js'
import type { AutoDelegation } from '../../subagents/options.js'
import type { OtlpConfig } from '../../telemetry/otlp.js'
import type { Lane } from '../../tool/lane.js'
import type { NetworkLimits } from '../../workspace/egress/network-options.js'
import type { ResourceLimits } from '../../workspace/limits/resource-limits.js'
import type { SandboxMode } from '../../workspace/sandbox/choose.js'

/**
 * The parsed configuration of an agent, from ACL or an object. Defaults are not filled in: fields that were not given
 * are absent.
 */
export type AgentConfig = {
  /** `provider/model`. */
  readonly defaultModel?: string
  /** Names of the form `provider/model`. */
  readonly fallbackModels?: readonly string[]
  readonly retry?: RetryConfig
  readonly circuitBreakerThreshold?: number
  readonly providers: readonly ProviderConfig[]
  readonly storageBackend?: StorageBackend
  /** A directory, or a URL in the format that the store expects. */
  readonly storageUrl?: string
  readonly sessionsDir?: string
  readonly memoryDir?: string
  readonly skillDirs?: readonly string[]
  readonly agentDirs?: readonly string[]
  readonly extensionTools?: boolean | readonly string[]
  readonly userInstructionsDir?: string
  readonly projectDocMaxBytes?: number
  readonly projectDocFallbackFilenames?: readonly string[]
  readonly maxToolRounds?: number
  /** How commands are confined. */
  readonly sandbox?: SandboxMode
  /** Limits of each command. */
  readonly commandLimits?: CommandLimitsConfig
  /** The hosts that commands can connect to. */
  readonly network?: NetworkConfig
  readonly maxParallelTasks?: number
  readonly autoParallel?: boolean
  readonly autoDelegation?: AutoDelegationConfig
  readonly thinkingBudget?: number
  readonly reasoningEffort?: ReasoningEffort
  readonly llmApiTimeoutMs?: number
  /** The manifest of every session of the agent. */
  readonly manifest?: Manifest
  readonly memory?: MemoryConfig
  readonly queue?: QueueConfig
  readonly taskScheduler?: TaskSchedulerConfig
  readonly search?: SearchConfig
  /** The goal of every run of a session. */
  readonly goal?: GoalConfig
  /** Limits of tenants and of what the queue of a cluster stores, for workers. */
  readonly cluster?: ClusterConfig
  /** Sends telemetry over OTLP. */
  readonly telemetry?: OtlpConfig
  readonly mcpServers: readonly McpServerConfig[]
}

export type CommandLimitsConfig = { readonly [L in keyof ResourceLimits]?: number }

export type NetworkConfig = {
  readonly allowHosts?: readonly string[]
  readonly allowPrivate?: boolean | readonly string[]
  readonly readOnly?: boolean | readonly string[]
  readonly gitFetch?: boolean
  readonly secrets?: readonly HostSecretConfig[]
  /** The path of a PEM file. */
  readonly certificates?: string
  readonly limits?: NetworkLimitsConfig
}

export type HostSecretConfig = {
  readonly host: string
  readonly value?: string
  /** A path. */
  readonly file?: string
  readonly header?: string
  readonly prefix?: string
  readonly plainHttp?: boolean
}

export type NetworkLimitsConfig = { readonly [L in keyof NetworkLimits]?: number }

export const storageBackends = ['memory', 'file', 'sqlite', 'postgres', 'custom'] as const
export type StorageBackend = (typeof storageBackends)[number]

export const modelApis = ['chat', 'responses', 'messages', 'google'] as const satisfies ModelConfig['api'][]

/** How to reach a provider or one of its models. */
export type Reach = Pick<ModelConfig, 'api' | 'apiKey' | 'baseUrl' | 'apiVersion' | 'proxy' | 'caFile'> &
  Pick<ModelConfig, 'aws' | 'vertex' | 'promptCache' | 'rateLimit' | 'sessionIdHeader' | 'headers'> & {
    /** A token in place of a key, for Azure and Vertex AI. */
    readonly accessToken?: string
  }

export type ProviderConfig = Reach & {
  readonly name: string
  readonly models: readonly ModelEntry[]
}

/** A model of a provider. Its key, URL and headers take precedence over those of the provider. */
export type ModelEntry = Reach & {
  readonly id: string
  readonly name?: string
  readonly family?: string
  readonly attachment?: boolean
  readonly reasoning?: boolean
  readonly toolCall?: boolean
  readonly temperature?: boolean
  readonly structuredOutput?: boolean
  readonly releaseDate?: string
  readonly contextTokens?: number
  readonly outputTokens?: number
  readonly modalities?: Modalities
  /** US dollars per million tokens. */
  readonly cost?: ModelPrice
}

export type Modalities = { readonly input?: readonly string[]; readonly output?: readonly string[] }

export type RetryConfig = RetryOptions

export type AutoDelegationConfig = AutoDelegation

/** The goal in a configuration. `check` lists commands; without them a model judges whether the goal is reached. */
export type GoalConfig = {
  readonly description?: string
  readonly check?: readonly string[]
  readonly judge?: string
  readonly maxRounds?: number
  readonly maxTimeMs?: number
  readonly maxCostUsd?: number
}

export type ClusterConfig = {
  /** The limits of each tenant. */
  readonly tenant?: TenantConfig
  /** Limits for the tenants of a tier, by the tier's name. They override those of `tenant`. */
  readonly tiers?: Readonly<Record<string, TenantConfig>>
  readonly quotaPeriod?: 'day' | 'month'
  readonly retention?: RunRetentionConfig
}

export type TenantConfig = {
  readonly maxActiveRuns?: number
  readonly maxTokens?: number
  readonly maxCostUsd?: number
}

export type RunRetentionConfig = { readonly maxAgeDays?: number; readonly maxRuns?: number }

export type MemoryConfig = Omit<MemoryOptions, 'recall' | 'rememberRuns' | 'tools' | 'embedder'> & {
  readonly tools?: boolean
  readonly llmExtraction?: boolean
  readonly llmExtractionMaxItems?: number
  readonly llmExtractionMaxInputChars?: number
}

export type QueueConfig = {
  readonly controlMaxConcurrency?: number
  readonly queryMaxConcurrency?: number
  readonly executeMaxConcurrency?: number
  readonly generateMaxConcurrency?: number
  readonly enableDlq?: boolean
  readonly dlqMaxSize?: number
  readonly enableMetrics?: boolean
  readonly enableAlerts?: boolean
  readonly defaultTimeoutMs?: number
  readonly storagePath?: string
  readonly pressureThreshold?: number
  readonly laneTimeouts?: { readonly [L in Lane]?: number }
  readonly laneHandlers?: { readonly [L in Lane]?: LaneHandlerConfig }
  readonly retryPolicy?: {
    readonly strategy?: string
    readonly maxRetries?: number
    readonly initialDelayMs?: number
    readonly fixedDelayMs?: number
  }
  readonly rateLimit?: { readonly limitType?: string; readonly maxOperations?: number }
  readonly priorityBoost?: { readonly strategy?: string; readonly deadlineMs?: number }
}

export type LaneHandlerConfig = { readonly mode?: LaneMode; readonly timeoutMs?: number }

export type TaskSchedulerConfig = { readonly maxActive?: number; readonly agingIntervalMs?: number }

export type SearchConfig = {
  /** Seconds. */
  readonly timeout?: number
  readonly health?: { readonly maxFailures?: number; readonly suspendSeconds?: number }
  readonly headless?: {
    readonly backend?: string
    readonly maxTabs?: number
    readonly browserPath?: string
    readonly launchArgs?: readonly string[]
    readonly proxyUrl?: string
  }
  readonly engine?: Readonly<Record<string, SearchEngineConfig>>
}

export type SearchEngineConfig = {
  readonly enabled?: boolean
  readonly weight?: number
  readonly timeout?: number
}

export const mcpTransports = ['stdio', 'http', 'streamable-http', 'sse'] as const satisfies McpTransportName[]

/** OAuth settings of an MCP server. */
export type McpOauthConfig = McpOauthOptions

/** An entry of `mcp_servers`. Its time limits are in seconds. */
export type McpServerConfig = Omit<McpServerOptions, 'timeoutMs' | 'startTimeoutMs'> & {
  readonly transport: McpTransportName
  readonly toolTimeoutSecs?: number
}
