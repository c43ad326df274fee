import { reasoningEfforts } from '../../../model/effort.js'
import type { OtlpConfig } from '../../../telemetry/otlp.js'
import { extensionToolNames } from '../../../toolbox/extension/names.js'
import { sandboxBackends } from '../../../workspace/sandbox/backends.js'
import {
  type AgentConfig,
  type AutoDelegationConfig,
  type ClusterConfig,
  type CommandLimitsConfig,
  type GoalConfig,
  type MemoryConfig,
  type RetryConfig,
  type RunRetentionConfig,
  type SearchConfig,
  type SearchEngineConfig,
  storageBackends,
  type TaskSchedulerConfig,
  type TenantConfig,
} from '../config.js'
import { field, type Shape } from '../field.js'
import {
  address,
  amount,
  flag,
  flagOr,
  group,
  groups,
  headers,
  listOf,
  location,
  modelName,
  oneOrMore,
  path,
  text,
  whole,
  word,
} from '../kinds.js'
import { manifest } from './manifest-table.js'
import { mcpServers } from './mcp-table.js'
import { network } from './network-table.js'
import { providers } from './provider-table.js'
import { queue } from './queue-table.js'

type Inside<T, K extends keyof T> = Exclude<T[K], undefined>

const retry: Shape<RetryConfig> = {
  maxRetries: field(whole(0), 'maximum number of retries; 0 turns them off (default: 7)'),
  baseDelayMs: field(
    whole(0),
    'pause before the first retry in milliseconds, doubled for each further one (default: 1000)',
  ),
  maxDelayMs: field(whole(0), 'maximum pause between retries in milliseconds (default: 30000)'),
  maxRetryAfterMs: field(
    whole(0),
    'maximum pause that a provider can request, in milliseconds (default: 300000)',
  ),
}

const autoDelegation: Shape<AutoDelegationConfig> = {
  enabled: field(flag, 'delegate work to subagents automatically (default: false)'),
  autoParallel: field(flag, 'run several subagents at the same time (default: true)', 'parallel'),
  allowManualDelegation: field(flag, 'let the model delegate work (default: true)', 'manualDelegation'),
  minConfidence: field(amount(1), 'minimum confidence in the choice of a subagent (default: 0.72)'),
  maxTasks: field(whole(1), 'maximum number of tasks (default: 4)'),
}

const relevance: Shape<Inside<MemoryConfig, 'relevance'>> = {
  decayDays: field(amount(), 'days after which the recency of a memory counts for a third (default: 30)'),
  importanceWeight: field(amount(), 'weight of importance (default: 0.7)'),
  recencyWeight: field(amount(), 'weight of recency (default: 0.3)'),
}

const prunePolicy: Shape<Inside<MemoryConfig, 'prunePolicy'>> = {
  maxAgeDays: field(amount(), 'remove memories that are older'),
  minImportanceToKeep: field(amount(1), 'never remove memories of at least this importance by age'),
  maxItems: field(whole(1), 'maximum number of memories; the most important and newest stay'),
}

const memory: Shape<MemoryConfig> = {
  tools: field(flag, 'give the model the tools `remember`, `recall` and `forget` (default: false)'),
  maxShortTerm: field(whole(0), 'maximum number of short-term memories of a session (default: 100)'),
  maxWorking: field(whole(0), 'maximum number of working memories of a session (default: 10)'),
  pruneIntervalSecs: field(
    whole(0),
    'minimum time between two removals of old memories, in seconds (default: 3600)',
  ),
  llmExtraction: field(flag, 'accepted without effect: no model selects memories'),
  llmExtractionMaxItems: field(whole(1), 'likewise'),
  llmExtractionMaxInputChars: field(whole(1), 'likewise'),
  relevance: field(group(relevance), 'how memories are ranked'),
  prunePolicy: field(group(prunePolicy), 'which memories are removed (default: none)', 'prune'),
}

const taskScheduler: Shape<TaskSchedulerConfig> = {
  maxActive: field(whole(1), 'maximum number of tasks of the agent that run at the same time'),
  agingIntervalMs: field(whole(1), 'waiting time after which a task gets a higher priority, in milliseconds'),
}

const health: Shape<Inside<SearchConfig, 'health'>> = {
  maxFailures: field(whole(1), 'failures in a row after which an engine is suspended'),
  suspendSeconds: field(whole(0), 'duration of the suspension, in seconds'),
}

const headless: Shape<Inside<SearchConfig, 'headless'>> = {
  backend: field(text, 'browser to use'),
  maxTabs: field(whole(1), 'maximum number of open pages'),
  browserPath: field(text, 'path of the browser'),
  launchArgs: field({ ...listOf(text), hidden: 'private' }, 'arguments of the browser'),
  proxyUrl: field({ ...text, hidden: 'address' }, 'proxy of the browser'),
}

const engine: Shape<SearchEngineConfig> = {
  enabled: field(flag, 'use this engine'),
  weight: field(amount(), 'weight of its results'),
  timeout: field(amount(), 'time limit of the engine, in seconds'),
}

const search: Shape<SearchConfig> = {
  timeout: field(amount(), 'time limit of a search, in seconds (default: 20)'),
  health: field(group(health), 'when an engine is suspended'),
  headless: field(group(headless), 'browser for engines that need one'),
  engine: field(groups(engine), 'one block for each engine; its label is the name of the engine', 'engines'),
}

const commandLimits: Shape<CommandLimitsConfig> = {
  memoryBytes: field(whole(1), 'memory of all processes together (default: 75 % of the machine)'),
  processes: field(
    whole(1),
    'processes and threads at the same time (default: 2048, or 128 for each core if that is more)',
  ),
  cpuSeconds: field(whole(1), 'processor time of all processes together (default: no limit)'),
  diskBytes: field(whole(1), 'what a command can add to the disk (default: 16 GiB)'),
  fileBytes: field(whole(1), 'size of a single file (default: 4 GiB)'),
  openFiles: field(whole(1), 'open files of each process (default: 4096)'),
}

const goal: Shape<GoalConfig> = {
  description: field(text, 'what must be true at the end; required'),
  check: field(
    oneOrMore(text),
    'commands that must all succeed; they run with the permissions of the model. Without them a model judges',
  ),
  judge: field(modelName, 'model that judges, if there is no `check` (default: that of the session)'),
  maxRounds: field(whole(1), 'maximum number of rounds (default: 200)'),
  maxTimeMs: field(whole(1), 'maximum time in milliseconds (default: 3600000)'),
  maxCostUsd: field(amount(), 'maximum cost in US dollars (default: none)'),
}

const tenant: Shape<TenantConfig> = {
  maxActiveRuns: field(whole(1), 'runs of one tenant that are active at the same time (default: no limit)'),
  maxTokens: field(whole(1), 'tokens of one tenant in a period (default: no limit)'),
  maxCostUsd: field(
    amount(),
    'US dollars of one tenant in a period; needs models whose price is known (default: no limit)',
  ),
}

const runRetention: Shape<RunRetentionConfig> = {
  maxAgeDays: field(
    amount(),
    'days after which a run that has ended is removed from the queue (default: 30)',
  ),
  maxRuns: field(whole(0), 'maximum number of ended runs in the queue (default: 100000)'),
}

const cluster: Shape<ClusterConfig> = {
  tenant: field(group(tenant), 'what each tenant can use in the whole cluster'),
  tiers: field(groups(tenant), 'a block for each tier, named like it: other values for its tenants'),
  quotaPeriod: field(word(['day', 'month']), 'period of tokens and dollars, in UTC (default: "day")'),
  retention: field(group(runRetention), 'how long the queue stores runs that have ended'),
}

const telemetry: Shape<OtlpConfig> = {
  endpoint: field(
    address,
    'URL of the collector (default: `OTEL_EXPORTER_OTLP_ENDPOINT`, else `http://127.0.0.1:4318`)',
  ),
  headers: field(headers, 'additional headers of each request'),
  serviceName: field(text, 'name of the service (default: `OTEL_SERVICE_NAME`, else `capstan`)'),
  recordContent: field(flag, 'include messages, arguments and results, without secrets (default: false)'),
  propagateTo: field(listOf(text), 'hosts whose HTTP requests get a `traceparent` header (default: none)'),
}

/**
 * All fields of a configuration. The table is used to read it, to warn about unknown names, to mask secrets and to
 * write the documentation.
 */
export const agentShape: Shape<AgentConfig> = {
  defaultModel: field(modelName, 'model of a session that sets none (default: the first declared model)'),
  fallbackModels: field(
    oneOrMore(modelName),
    'models to use, in this order, when the model of the session cannot answer',
    'fallbackModel',
  ),
  retry: field(group(retry), 'retries of failed model requests'),
  circuitBreakerThreshold: field(
    whole(1),
    'failed requests in a row after which a model is not used for 30 s (default: 3)',
  ),
  providers: field(providers, 'provider of models; its label is the name of the provider'),
  storageBackend: field(word(storageBackends), 'where sessions are stored'),
  storageUrl: field(location, 'location of the store: a directory with `file`, or a URL'),
  sessionsDir: field(path, 'directory of the sessions; same as `storage_url` with `file`'),
  memoryDir: field(
    path,
    'directory of the memories; without it, a session has no memory unless it has a `memoryStore`',
  ),
  skillDirs: field(oneOrMore(path), 'directories of skills', 'skills'),
  agentDirs: field(oneOrMore(path), 'directories of agents'),
  extensionTools: field(
    flagOr(oneOrMore(word(extensionToolNames))),
    'additional tools for code agents: `true` for all, or a list of `repo_overview`, `repo_clone`, `apply_patch`, `plan`, `plan_exit`',
  ),
  userInstructionsDir: field(path, "directory of the user's AGENTS.md", 'globalInstructionsDir'),
  projectDocMaxBytes: field(whole(0), 'maximum size of AGENTS.md in bytes; the rest is not read'),
  projectDocFallbackFilenames: field(listOf(text), 'file names to use when there is no AGENTS.md'),
  maxToolRounds: field(whole(1), 'maximum number of rounds in a run'),
  sandbox: field(
    word(['auto', 'required', 'off', ...sandboxBackends]),
    'how commands are confined: `required` or the name of a sandbox refuses commands without it (default: "auto")',
  ),
  commandLimits: field(group(commandLimits), 'limits of each command'),
  network: field(group(network), 'network access of commands in the sandbox'),
  maxParallelTasks: field(whole(1), 'maximum number of tasks that run at the same time'),
  autoParallel: field(flag, 'takes precedence over `auto_delegation.auto_parallel`', 'autoParallelEnabled'),
  autoDelegation: field(group(autoDelegation), 'when work is delegated to subagents'),
  thinkingBudget: field(whole(0), 'maximum number of reasoning tokens'),
  reasoningEffort: field(
    word(reasoningEfforts),
    'how much the model reasons; takes precedence over `thinking_budget`',
  ),
  llmApiTimeoutMs: field(
    whole(1),
    'time limit of a model request, in milliseconds',
    'apiTimeoutMs',
    'modelApiTimeoutMs',
  ),
  manifest: field(manifest, 'manifest of every session: rules that others cannot override, and requirements'),
  memory: field(group(memory), 'memory across sessions'),
  queue: field(group(queue), 'lanes in which tool calls wait'),
  taskScheduler: field(group(taskScheduler), 'limits for tasks of the agent'),
  search: field(group(search), 'web search'),
  goal: field(group(goal), 'goal of the runs, until it is reached once'),
  cluster: field(group(cluster), 'limits of tenants and of the queue, for workers of a cluster'),
  telemetry: field(group(telemetry), 'send telemetry over OTLP; an empty block uses the defaults'),
  mcpServers: field(mcpServers, 'MCP server whose tools are offered; its label is its name', 'mcpServer'),
}
