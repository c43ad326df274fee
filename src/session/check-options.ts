import { checkManifest, checkRequirements } from '../authority/check-manifest.js'
import type { Manifest } from '../authority/manifest.js'
import { modeNames } from '../authority/mode.js'
import { type PermissionPolicy, rulesForUnknownTools } from '../authority/policy.js'
import { sharedPolicy } from '../authority/shared-policy.js'
import { createCommands } from '../commands/index.js'
import { createHooks } from '../hooks/index.js'
import { type HostEnv, readHostEnv } from '../loop/host-env.js'
import { readServer } from '../mcp/server-options.js'
import { readQueueConfig } from '../queue/config.js'
import { skillKinds } from '../skills/skill.js'
import { durabilities } from '../store/session-store.js'
import { type WorkerAgentSpec, workerAgent, workerKinds } from '../subagents/files/worker-spec.js'
import { isTransport, openTokenProblem } from '../supervise/transport.js'
import type { AnyTool } from '../tool/contract.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { mergeMetadata } from '../tool/metadata.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { ToolSet } from '../tool/tool-set.js'
import { extensionToolNames } from '../toolbox/extension/names.js'
import { readCommands, readSubject, type VerifyRequirement } from '../verify/index.js'
import { builtinToolNames, ownTools } from './builtin-tools.js'
import { SessionOptionError } from './errors.js'
import {
  able,
  between,
  both,
  type Check,
  count,
  describe,
  each,
  either,
  fields,
  is,
  list,
  object,
  oneOf,
  quote,
  readable,
  strings,
} from './option-check.js'
import type { CommandOption, HookOption, SessionOptions } from './options.js'
import { titleProblem } from './title.js'

/**
 * Goes through the options of a session. What has the wrong type is refused by name, since a limit or a guard that silently does not
 * hold is worse than none; names that nobody knows, and those without effect, are told.
 */
export function checkOptions(given: Readonly<Record<string, unknown>>): {
  readonly options: SessionOptions
  readonly warnings: readonly string[]
} {
  const warnings: string[] = []
  const options: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (check === undefined) {
      warnings.push(describeUnknown(name))
      continue
    }
    const problem = check(value)
    if (problem !== undefined) throw new SessionOptionError(name, problem.replace('%', name))
    options[name] = value
  }
  if (typeof options['planningMode'] === 'string')
    options['planningMode'] = planningModes[options['planningMode'].toLowerCase()]
  else if (options['planning'] !== undefined)
    options['planningMode'] = options['planning'] ? 'enabled' : 'disabled'
  const { hostEnv } = options as SessionOptions
  if (hostEnv !== undefined) options['hostEnv'] = readHostEnv(hostEnv)
  if (idleLanes(options as SessionOptions))
    warnings.push('confirmationPolicy.yoloLanes has no effect without enabled: true or onAsk.')
  const exposed = isTransport(options['ahpTransport']) && openTokenProblem(options['ahpTransport'])
  if (exposed) warnings.push(`ahpTransport: ${exposed}`)
  warnings.push(...idleRules(options as SessionOptions))
  // Every name was looked up and every value checked against the same table that the type was written from.
  return { options: options as SessionOptions, warnings }
}

/** Throws for what is no tool. */
export function assertTool(value: unknown): void {
  const problem = tool(value)
  if (problem !== undefined) throw new SessionOptionError('tools', problem.replace('%', 'The tool'))
}

/** Throws for what is no budget guard; null takes the guard away. */
export function assertBudgetGuard(value: unknown): void {
  if (value === null || value === undefined) return
  const problem = budgetGuard(value)
  if (problem !== undefined)
    throw new SessionOptionError('budgetGuard', problem.replace('%', 'The budget guard'))
}

function idleRules(options: SessionOptions): readonly string[] {
  const policies = [options.permissionPolicy, options.manifest?.permissions].flatMap((policy) =>
    policy === undefined || policy.enabled === false ? [] : [policy],
  )
  if (policies.length === 0) return []
  const known = [...builtinToolNames(), ...ownTools(options).map(({ name }) => name)]
  return policies.flatMap((policy) => rulesForUnknownTools(policy, known))
}

/** Lanes that would be approved where nothing is ever asked about. */
function idleLanes({ confirmationPolicy, onAsk }: SessionOptions): boolean {
  const lanes = confirmationPolicy?.yoloLanes ?? []
  return lanes.length > 0 && confirmationPolicy?.enabled !== true && onAsk === undefined
}

const planningModes: Readonly<Record<string, string>> = {
  auto: 'auto',
  enabled: 'enabled',
  enable: 'enabled',
  on: 'enabled',
  force: 'enabled',
  forced: 'enabled',
  true: 'enabled',
  disabled: 'disabled',
  disable: 'disabled',
  off: 'disabled',
  false: 'disabled',
}

const planningMode: Check = (value) =>
  typeof value === 'string' && Object.hasOwn(planningModes, value.toLowerCase())
    ? undefined
    : `Invalid planningMode ${quote(value)}. Must be: auto, enabled, or disabled.`

const sessionId: Check = (value) =>
  typeof value === 'string' && /^[^\0/\\]{1,200}$/.test(value) && value !== '.' && value !== '..'
    ? undefined
    : '% must be 1 to 200 characters without "/", "\\" or a zero byte.'

const ceiling = readable((value) => checkRequirements(value, 'the ceiling'))
const manifest = readable((value) => checkManifest(value as Manifest))
const metadata = readable((value) => mergeMetadata(value as JsonObject))

const permissionPolicy = readable((value) => sharedPolicy(value as PermissionPolicy))

/** The same readers that take them later: what they refuse is refused before the session is there. */
const hook = readable((value) => {
  const { id, event, matcher, config, handler } = value as HookOption
  createHooks({ session: { sessionId: '', workspace: '/' }, now: () => 0 }).register(
    id,
    event as never,
    matcher,
    config,
    handler as never,
  )
})
const command = readable((value) => {
  const { name, description, handler } = value as CommandOption
  createCommands().register(name, description, handler)
})

/** What a tool declares is read when it is registered, not at its first call. */
const requirementsOf = readable((value) => {
  const { name, requires } = value as AnyTool
  if (requires !== undefined) checkRequirements(requires, `the tool "${name}"`)
})

const tool: Check = (value) =>
  isRecord(value) && typeof value['name'] === 'string'
    ? (able('call', 'definition')(value) ?? requirementsOf(value))
    : '% is not a tool: make one with createTool.'
const toolSet: Check = (value) =>
  value instanceof ToolSet
    ? each(tool)(value.values())
    : `% must be a list of tools or a ToolSet, not ${describe(value)}.`

const builtinTool: Check = (value) => oneOfTools(value, builtinToolNames(), 'no built-in tool')
const extensionTool: Check = (value) => oneOfTools(value, extensionToolNames, 'no extension tool')

function oneOfTools(value: unknown, names: readonly string[], what: string): string | undefined {
  if (typeof value === 'string' && names.includes(value)) return undefined
  const near = typeof value === 'string' ? nearestNames(value, names) : []
  return `% is ${quote(value)}, which is ${what}.${near.length === 0 ? '' : ` Did you mean ${quoteNames(near)}?`}`
}

const inlineSkillFields = fields({
  name: is('string'),
  kind: oneOf(...skillKinds),
  description: is('string'),
  tags: strings,
  allowedTools: either(is('string'), strings),
  content: is('string'),
})
const inlineSkill: Check = (value) => {
  const missing = ['name', 'content'].find((name) => isRecord(value) && value[name] === undefined)
  return inlineSkillFields(value) ?? (missing === undefined ? undefined : `%.${missing} is missing.`)
}

/** The kind is looked up later: what it is like, the agent knows. */
const workerSpec = readable((value) => {
  const { kind, ...rest } = value as WorkerAgentSpec
  const problem = kind === undefined ? undefined : oneOf(...workerKinds)(kind)
  if (problem !== undefined) throw new TypeError(problem.replace('%', 'kind'))
  workerAgent(rest, [])
})

const variables: Check = (value) => {
  const odd = isRecord(value) && Object.entries(value).find(([, one]) => typeof one !== 'string')
  return odd ? `%.${odd[0]} must be a string, not a value of type ${typeof odd[1]}.` : undefined
}

const guardCallbacks = ['checkBeforeLlm', 'recordAfterLlm', 'checkBeforeTool']
const guardFields = fields({
  ...Object.fromEntries(guardCallbacks.map((name) => [name, is('function')])),
  timeoutMs: count(1),
  onError: oneOf('allow', 'deny'),
})
/** A guard can be an object of a class of the host, with other members. A misspelt callback would never be called. */
const budgetGuard: Check = (value) => {
  const wrong = object(value)
  if (wrong !== undefined) return wrong
  const given = value as Record<string, unknown>
  const known = [...guardCallbacks, 'timeoutMs', 'onError']
  const problem = guardFields(Object.fromEntries(known.map((name) => [name, given[name]])))
  if (problem !== undefined) return problem
  const others = memberNames(given).filter((name) => !known.includes(name))
  for (const name of others) {
    const near = nearestNames(name, known)
    if (near.length > 0) return `%.${name} is not known. Did you mean ${quoteNames(near)}?`
  }
  const isGuard = guardCallbacks.some((name) => given[name] !== undefined)
  return isGuard || !others.some((name) => typeof given[name] === 'function')
    ? undefined
    : `% has none of the callbacks ${guardCallbacks.join(', ')}, so it would never be asked.`
}

/** The names of an object's own members and of those that its class gives it. */
function memberNames(value: object): string[] {
  const names = new Set<string>()
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name)
  return [...names]
}

const memory = fields({
  recall: (value) =>
    value === false ? undefined : fields({ maxItems: count(1), maxBytes: count(512) })(value),
  rememberRuns: is('boolean'),
  embedder: able('embedTexts'),
  maxShortTerm: count(0),
  maxWorking: count(0),
  relevance: fields({
    decayDays: between(0, 36_500),
    importanceWeight: between(0, 1000),
    recencyWeight: between(0, 1000),
  }),
  prunePolicy: fields({
    maxAgeDays: between(0, 36_500),
    minImportanceToKeep: between(0, 1),
    maxItems: count(1),
  }),
  pruneIntervalSecs: count(0),
})

const signal: Check = (value) =>
  value instanceof AbortSignal ? undefined : `% must be an AbortSignal, not ${describe(value)}.`

const nothing: Check = (value) => (value === false ? undefined : '% must be a list of names, or false.')

const somethingToVerify: Check = (value) => {
  const { commands = [], presets = false } = value as VerifyRequirement
  return commands.length > 0 || presets === true || (presets !== false && presets.length > 0)
    ? undefined
    : '% asks for nothing: give it commands, or presets: true.'
}

/** Each as its reader takes it later: what that refuses is refused before the session is there. */
const server = readable((value) => readServer(value))
const servers: Check = (value) => {
  if (Array.isArray(value)) return each(server)(value)
  if (!isRecord(value)) return object(value)
  for (const [name, given] of Object.entries(value)) {
    const problem = isRecord(given) ? server({ ...given, name }) : object(given)
    if (problem !== undefined) return problem.replace('%', `%.${name}`)
  }
  return undefined
}
const signIn = fields({ store: able('load', 'save', 'remove'), authorize: is('function') })

const transport: Check = (value) =>
  isTransport(value)
    ? undefined
    : '% must be an HttpTransport, WebSocketTransport, StdioTransport or UnixSocketTransport.'

const hostEnvFields = fields({
  idGenerator: able('next'),
  clock: able('now'),
  random: is('function'),
  sequentialIdPrefix: is('string'),
  fixedTimeMs: count(0),
})
const hostEnv: Check = (value) => {
  const problem = hostEnvFields(value)
  if (problem !== undefined) return problem
  const { idGenerator, clock, sequentialIdPrefix, fixedTimeMs } = value as HostEnv
  if (idGenerator != null && sequentialIdPrefix != null)
    return '% has idGenerator and sequentialIdPrefix: give one of them.'
  return clock != null && fixedTimeMs != null ? '% has clock and fixedTimeMs: give one of them.' : undefined
}

const workspaceBackend: Check = (value) => {
  if (!isRecord(value)) return object(value)
  if (value['kind'] !== 'local')
    return `Unsupported workspace backend kind ${quote(value['kind'])}. Use new LocalWorkspaceBackend(root).`
  return typeof value['root'] === 'string' && value['root'] !== ''
    ? undefined
    : '%: LocalWorkspaceBackend requires a root path.'
}

/** `null` says the same, and is passed over like every field without a value. */
const unlimited: Check = (value) => (value === Number.POSITIVE_INFINITY ? undefined : '%')

const checks: Readonly<Record<string, Check>> = {
  sessionId,
  title: titleProblem,
  model: either(is('string'), object),
  fallbackModels: each(either(is('string'), object)),
  retry: fields({
    maxRetries: count(0),
    baseDelayMs: count(0),
    maxDelayMs: count(0),
    maxRetryAfterMs: count(0),
  }),
  temperature: between(0, 2),
  maxTokens: count(1),
  thinkingBudget: count(0),
  role: is('string'),
  guidelines: is('string'),
  responseStyle: is('string'),
  extra: is('string'),
  planningMode,
  planning: is('boolean'),
  goalTracking: is('boolean'),
  tenantId: is('string'),
  principal: is('string'),
  agentTemplateId: is('string'),
  correlationId: is('string'),
  permissionPolicy: both(object, permissionPolicy),
  confirmationPolicy: fields({
    enabled: is('boolean'),
    defaultTimeoutMs: count(1),
    timeoutAction: oneOf('reject', 'auto_approve'),
    yoloLanes: (value) =>
      strings(value) ??
      (value as string[]).map(oneOf('control', 'query', 'execute', 'generate')).find((problem) => problem),
  }),
  onAsk: is('function'),
  onQuestion: is('function'),
  watchdog: is('function'),
  ceiling: both(object, ceiling),
  manifest: both(fields({ requires: object, permissions: object }), manifest),
  adHocFiles: strings,
  userDataDir: is('string'),
  metadata: both(object, metadata),
  mode: oneOf(...modeNames),
  sandbox: oneOf('auto', 'required', 'off'),
  network: fields({ allowHosts: strings, allowPrivate: either(is('boolean'), strings) }),
  env: both(object, variables),
  roots: strings,
  workspaceBackend,
  tools: (value) => (Array.isArray(value) ? each(tool)(value) : toolSet(value)),
  builtinTools: (value) => (Array.isArray(value) ? each(builtinTool)(value) : nothing(value)),
  extensionTools: (value) => (Array.isArray(value) ? each(extensionTool)(value) : is('boolean')(value)),
  skillDirs: strings,
  inlineSkills: each(inlineSkill),
  builtinSkills: is('boolean'),
  discoverSkills: is('boolean'),
  agentDirs: strings,
  workerAgents: each(both(object, workerSpec)),
  discoverAgents: is('boolean'),
  mcpServers: servers,
  toolSearch: oneOf('auto', 'always', 'never'),
  mcp: fields({ sampling: is('function'), signIn }),
  middleware: each(object),
  approvals: object,
  hooks: each(both(object, hook)),
  commands: each(both(object, command)),
  ahpTransport: transport,
  budgetGuard,
  webSearch: fields({ providers: list, maxCalls: count(0), timeoutMs: count(1) }),
  securityProvider: object,
  memoryStore: able('add', 'list', 'delete'),
  memory,
  hostEnv,
  queueConfig: readable(readQueueConfig),
  delegation: fields({
    approvals: is('boolean'),
    env: either(is('boolean'), strings),
    maxDepth: count(0),
    maxTasks: count(1),
    timeoutMs: count(1),
  }),
  autoDelegation: fields({
    enabled: is('boolean'),
    autoParallel: is('boolean'),
    allowManualDelegation: is('boolean'),
    minConfidence: between(0, 1),
    maxTasks: count(1),
  }),
  autoParallel: is('boolean'),
  retentionLimits: fields({
    maxRuns: either(count(1), unlimited),
    maxEventsPerRun: either(count(1), unlimited),
    maxTraceEvents: either(count(0), unlimited),
    maxTerminalSubagentTasks: either(count(0), unlimited),
  }),
  sessionStore: able('read', 'open', 'list'),
  trustStore: is('boolean'),
  autoSave: is('boolean'),
  durability: oneOf(...durabilities),
  autoCompact: is('boolean'),
  autoCompactThreshold: between(0.05, 1),
  maxToolRounds: count(0),
  maxParseRetries: count(0),
  circuitBreakerThreshold: count(1),
  duplicateToolCallThreshold: count(1),
  maxExecutionTimeMs: count(1),
  roundTimeoutMs: count(1),
  modelIdleTimeoutMs: count(1),
  llmApiTimeoutMs: count(1),
  maxAnswerChars: count(1),
  maxArgumentChars: count(1),
  maxCallsPerAnswer: count(1),
  maxResponseBytes: count(1),
  toolTimeoutMs: count(1),
  staleWriteCheck: is('boolean'),
  requireReadBeforeWrite: is('boolean'),
  maxParallelTasks: count(1),
  continuationEnabled: is('boolean'),
  maxContinuationTurns: count(0),
  verify: both(
    fields({
      commands: readable(readCommands),
      presets: either(is('boolean'), strings),
      subject: readable(readSubject),
      maxAttempts: count(1),
      asModel: is('boolean'),
    }),
    somethingToVerify,
  ),
  stopWhen: (value) => (Array.isArray(value) ? each(is('function'))(value) : is('function')(value)),
  whenBusy: oneOf('queue', 'reject'),
  signal,
  instructionFiles: either(strings, nothing),
}

/** Known names whose part of the system is not there yet. */
const later: ReadonlySet<string> = new Set(['remoteGit', 'artifactStoreLimits'])

function describeUnknown(name: string): string {
  if (later.has(name)) return `The option ${name} has no effect in this version.`
  const nearest = nearestNames(name, Object.keys(checks))
  const hint = nearest.length === 0 ? '' : ` Did you mean ${quoteNames(nearest)}?`
  return `The option ${name} is not known and has no effect.${hint}`
}
