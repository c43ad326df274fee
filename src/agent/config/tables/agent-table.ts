import { extensionToolNames } from '../../../toolbox/extension/names.js'
import {
  type AgentConfig,
  type AutoDelegationConfig,
  type MemoryConfig,
  type RetryConfig,
  type SearchConfig,
  type SearchEngineConfig,
  storageBackends,
  type TaskSchedulerConfig,
} from '../config.js'
import { field, type Shape } from '../field.js'
import {
  amount,
  flag,
  flagOr,
  group,
  groups,
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
import { providers } from './provider-table.js'
import { queue } from './queue-table.js'

type Inside<T, K extends keyof T> = Exclude<T[K], undefined>

const retry: Shape<RetryConfig> = {
  maxRetries: field(whole(0), 'how often; 7 when left out, 0 turns retries off'),
  baseDelayMs: field(
    whole(0),
    'the pause before the first retry, in milliseconds, doubled for each further one; 1000 when left out',
  ),
  maxDelayMs: field(whole(0), 'the longest pause that retries grow to; 30000 when left out'),
  maxRetryAfterMs: field(whole(0), 'the longest pause that a provider can ask for; 300000 when left out'),
}

const autoDelegation: Shape<AutoDelegationConfig> = {
  enabled: field(flag, 'whether work is handed to subagents without being asked; false when left out'),
  autoParallel: field(flag, 'whether several may work at once; true when left out', 'parallel'),
  allowManualDelegation: field(
    flag,
    'whether the model may hand on work; true when left out',
    'manualDelegation',
  ),
  minConfidence: field(amount(1), 'how sure the choice of a subagent must be; 0.72 when left out'),
  maxTasks: field(whole(1), 'how many at most; 4 when left out'),
}

const relevance: Shape<Inside<MemoryConfig, 'relevance'>> = {
  decayDays: field(amount(), 'after how many days what is new counts for a third; 30 when left out'),
  importanceWeight: field(amount(), 'how much importance counts; 0.7 when left out'),
  recencyWeight: field(amount(), 'how much age counts; 0.3 when left out'),
}

const prunePolicy: Shape<Inside<MemoryConfig, 'prunePolicy'>> = {
  maxAgeDays: field(amount(), 'older ones go'),
  minImportanceToKeep: field(amount(1), 'those at least this important stay, whatever their age'),
  maxItems: field(whole(1), 'how many stay: the most important and newest'),
}

const memory: Shape<MemoryConfig> = {
  maxShortTerm: field(whole(0), 'how many short-term memories a session keeps; 100 when left out'),
  maxWorking: field(whole(0), 'how many working memories a session keeps; 10 when left out'),
  pruneIntervalSecs: field(
    whole(0),
    'how often old ones are cleared away at most, in seconds; 3600 when left out',
  ),
  llmExtraction: field(flag, 'read and checked, without effect: no model picks what is remembered'),
  llmExtractionMaxItems: field(whole(1), 'likewise'),
  llmExtractionMaxInputChars: field(whole(1), 'likewise'),
  relevance: field(group(relevance), 'how memories are ranked'),
  prunePolicy: field(group(prunePolicy), 'what is cleared away; left out, nothing is', 'prune'),
}

const taskScheduler: Shape<TaskSchedulerConfig> = {
  maxActive: field(whole(1), 'how many tasks of the whole agent run at once'),
  agingIntervalMs: field(whole(1), 'how long a task waits before it moves up, in milliseconds'),
}

const health: Shape<Inside<SearchConfig, 'health'>> = {
  maxFailures: field(whole(1), 'failures in a row after which an engine rests'),
  suspendSeconds: field(whole(0), 'how long it rests'),
}

const headless: Shape<Inside<SearchConfig, 'headless'>> = {
  backend: field(text, 'which browser'),
  maxTabs: field(whole(1), 'how many pages at once'),
  browserPath: field(text, 'its program'),
  launchArgs: field({ ...listOf(text), hidden: 'private' }, 'its arguments'),
  proxyUrl: field({ ...text, hidden: 'address' }, 'the proxy it uses'),
}

const engine: Shape<SearchEngineConfig> = {
  enabled: field(flag, 'whether it is asked'),
  weight: field(amount(), 'how much its results count'),
  timeout: field(amount(), 'how long it may take, in seconds'),
}

const search: Shape<SearchConfig> = {
  timeout: field(amount(), 'how long a search may take, in seconds; 20 when left out'),
  health: field(group(health), 'when an engine is left alone for a while'),
  headless: field(group(headless), 'a browser for engines that need one'),
  engine: field(groups(engine), 'one block for each engine, by its name', 'engines'),
}

/** Everything a configuration may say: what reads it, warns of misspelt names, hides secrets and makes the documentation. */
export const agentShape: Shape<AgentConfig> = {
  defaultModel: field(
    modelName,
    'the model of a session that names none; left out, the first that is declared',
  ),
  fallbackModels: field(
    oneOrMore(modelName),
    'the models that take a round, in this order, when the model of the session cannot answer',
    'fallbackModel',
  ),
  retry: field(group(retry), 'when a request to a model that failed is sent again'),
  circuitBreakerThreshold: field(
    whole(1),
    'after how many failed requests in a row a model is not asked for 30 s; 3 when left out',
  ),
  providers: field(providers, 'where models are found; its label is the name of the provider'),
  storageBackend: field(word(storageBackends), 'where sessions are kept'),
  storageUrl: field(location, 'the place itself: a directory with `file`, or an address'),
  sessionsDir: field(path, 'the directory of the sessions; the same as `storage_url` with `file`'),
  memoryDir: field(
    path,
    'the directory of the memories; left out, a session has none unless it is given a `memoryStore`',
  ),
  skillDirs: field(oneOrMore(path), 'directories of skills', 'skills'),
  agentDirs: field(oneOrMore(path), 'directories of agents'),
  extensionTools: field(
    flagOr(oneOrMore(word(extensionToolNames))),
    'further tools for code agents: `true` for all, or a list of `repo_overview`, `repo_clone`, `apply_patch`, `plan`, `plan_exit`',
  ),
  userInstructionsDir: field(path, "the directory of the user's own AGENTS.md", 'globalInstructionsDir'),
  projectDocMaxBytes: field(whole(0), 'how much of AGENTS.md is read'),
  projectDocFallbackFilenames: field(listOf(text), 'names that are looked for when there is no AGENTS.md'),
  maxToolRounds: field(whole(1), 'how many rounds a run may have'),
  maxParallelTasks: field(whole(1), 'how many tasks run at once'),
  autoParallel: field(flag, 'goes before `auto_delegation.auto_parallel`', 'autoParallelEnabled'),
  autoDelegation: field(group(autoDelegation), 'when work is handed to subagents'),
  thinkingBudget: field(whole(0), 'how many tokens a model may think'),
  llmApiTimeoutMs: field(
    whole(1),
    'how long one request to a model may take, in milliseconds',
    'apiTimeoutMs',
    'modelApiTimeoutMs',
  ),
  manifest: field(
    manifest,
    'what every session declares: rules that hold whatever others say, and what it asks for',
  ),
  memory: field(group(memory), 'what is remembered across sessions'),
  queue: field(group(queue), 'lanes in which tool calls wait'),
  taskScheduler: field(group(taskScheduler), 'how many tasks the agent takes on'),
  search: field(group(search), 'searching the web'),
  mcpServers: field(mcpServers, 'a server whose tools are offered; its label is its name', 'mcpServer'),
}
