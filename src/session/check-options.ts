import { checkManifest, checkRequirements } from '../authority/check-manifest.js'
import type { Manifest } from '../authority/manifest.js'
import { modeNames } from '../authority/mode.js'
import { type PermissionPolicy, rulesForUnknownTools } from '../authority/policy.js'
import { sharedPolicy } from '../authority/shared-policy.js'
import {
  able,
  all,
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
} from '../feature/option-check.js'
import { type HostEnv, readHostEnv } from '../loop/host-env.js'
import { reasoningEfforts } from '../model/effort.js'
import { durabilities } from '../store/session-store.js'
import type { AnyTool } from '../tool/contract.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { mergeMetadata } from '../tool/metadata.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { ToolSet } from '../tool/tool-set.js'
import { extensionToolNames } from '../toolbox/extension/names.js'
import { sandboxBackends } from '../workspace/sandbox/backends.js'
import { ownTools } from './builtin-tools.js'
import { SessionOptionError } from './errors.js'
import { features } from './features.js'
import { featuresWith } from './features-with.js'
import type { SessionOptions } from './options.js'
import { isSessionId, sessionIdRule } from './session-id.js'
import { titleProblem } from './title.js'
import { builtinToolNames, optionalToolNames } from './tool-names.js'

/**
 * Checks the options of a session. A value of the wrong type is refused with the option's name, because a limit or a
 * guard that silently does not apply is worse than none. Unknown options and options without effect are reported as
 * warnings.
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
    // Names of tools are read at the first prompt: if the host changes its list before that, no tool must be added.
    options[name] = Array.isArray(value) && name.endsWith('Tools') ? [...value] : value
  }
  if (typeof options['planningMode'] === 'string')
    options['planningMode'] = planningModes[options['planningMode'].toLowerCase()]
  else if (options['planning'] !== undefined)
    options['planningMode'] = options['planning'] ? 'enabled' : 'disabled'
  const { hostEnv } = options as SessionOptions
  if (hostEnv !== undefined) options['hostEnv'] = readHostEnv(hostEnv)
  if (idleLanes(options as SessionOptions))
    warnings.push('confirmationPolicy.yoloLanes has no effect without enabled: true or onAsk.')
  for (const feature of featuresWith('optionWarnings'))
    warnings.push(...feature.optionWarnings(options as SessionOptions))
  warnings.push(...idleRules(options as SessionOptions))
  // Every name was found and every value was checked.
  return { options: options as SessionOptions, warnings }
}

/** Throws for a value that is not a tool. */
export function assertTool(value: unknown): void {
  const problem = tool(value)
  if (problem !== undefined) throw new SessionOptionError('tools', problem.replace('%', 'The tool'))
}

/** Throws for a value that is not a budget guard; null removes the guard. */
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
  const own = ownTools(options).map(({ name }) => name)
  const known = [...builtinToolNames, ...optionalToolNames, ...own]
  return policies.flatMap((policy) => rulesForUnknownTools(policy, known))
}

/** Whether lanes are approved without asking although no user is ever asked. */
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

const sessionId: Check = (value) => (isSessionId(value) ? undefined : `% must be ${sessionIdRule}.`)

const ceiling = readable((value) => checkRequirements(value, 'the ceiling'))
const manifest = readable((value) => checkManifest(value as Manifest))
const metadata = readable((value) => mergeMetadata(value as JsonObject))

const permissionPolicy = readable((value) => sharedPolicy(value as PermissionPolicy))

/** Checks a tool's declared requirements when it is registered, not at its first call. */
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

const builtinTool: Check = (value) => oneOfTools(value, builtinToolNames, 'no built-in tool')
const extensionTool: Check = (value) => oneOfTools(value, extensionToolNames, 'no extension tool')

function oneOfTools(value: unknown, names: readonly string[], what: string): string | undefined {
  if (typeof value === 'string' && names.includes(value)) return undefined
  const near = typeof value === 'string' ? nearestNames(value, names) : []
  return `% is ${quote(value)}, which is ${what}.${near.length === 0 ? '' : ` Did you mean ${quoteNames(near)}?`}`
}

const variables: Check = (value) => {
  const odd = isRecord(value) && Object.entries(value).find(([, one]) => typeof one !== 'string')
  return odd ? `%.${odd[0]} must be a string, not a value of type ${typeof odd[1]}.` : undefined
}

const guardCallbacks = ['checkBeforeLlm', 'recordAfterLlm', 'checkBeforeTool']
const guardFields = fields({
  ...all(is('function'), guardCallbacks.join(' ')),
  timeoutMs: count(1),
  onError: oneOf('allow', 'deny'),
})
/** A guard can be an instance of a host's class with other members. A misspelt callback would never be called. */
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

/** Returns the names of an object's own members and of those from its class. */
function memberNames(value: object): string[] {
  const names = new Set<string>()
  for (let at: object | null = value; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== 'constructor') names.add(name)
  return [...names]
}

const signal: Check = (value) =>
  value instanceof AbortSignal ? undefined : `% must be an AbortSignal, not ${describe(value)}.`

const nothing: Check = (value) => (value === false ? undefined : '% must be a list of names, or false.')

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
  const { kind, root } = value
  const isNamed = typeof kind === 'string' && /^[a-z][a-z0-9-]*$/.test(kind)
  if (!isNamed || (kind !== 'local' && typeof value['open'] !== 'function'))
    return `Unsupported workspace backend kind ${quote(kind)}. Use new LocalWorkspaceBackend(root), or a backend with an open function.`
  if (kind === 'local')
    return typeof root === 'string' && root !== ''
      ? undefined
      : '%: LocalWorkspaceBackend requires a root path.'
  return typeof root === 'string' && root.startsWith('/')
    ? undefined
    : `%: the root of a ${kind} backend must be an absolute path.`
}

/** `null` also means unlimited, and is skipped like every field without a value. */
const unlimited: Check = (value) => (value === Number.POSITIVE_INFINITY ? undefined : '%')

/** The minimum for a shell to start. */
const minMemoryBytes = 4 * 1024 * 1024

/** The checks of the kernel's options. */
const kernelChecks: Readonly<Record<string, Check>> = {
  ...all(is('string'), 'role guidelines responseStyle extra userDataDir'),
  ...all(is('string'), 'tenantId principal agentTemplateId correlationId'),
  ...all(is('boolean'), 'planning goalTracking trustStore autoSave autoCompact continuationEnabled'),
  ...all(is('boolean'), 'staleWriteCheck requireReadBeforeWrite'),
  ...all(is('function'), 'onAsk onQuestion watchdog'),
  ...all(count(0), 'thinkingBudget maxToolRounds maxParseRetries maxContinuationTurns'),
  ...all(count(1), 'maxTokens maxParallelTasks circuitBreakerThreshold duplicateToolCallThreshold'),
  ...all(count(1), 'maxExecutionTimeMs roundTimeoutMs modelIdleTimeoutMs llmApiTimeoutMs toolTimeoutMs'),
  ...all(count(1), 'maxAnswerChars maxArgumentChars maxCallsPerAnswer maxResponseBytes'),
  sessionId,
  title: titleProblem,
  model: either(is('string'), object),
  fallbackModels: each(either(is('string'), object)),
  retry: fields(all(count(0), 'maxRetries baseDelayMs maxDelayMs maxRetryAfterMs')),
  temperature: between(0, 2),
  reasoningEffort: oneOf(...reasoningEfforts),
  planningMode,
  permissionPolicy: both(object, permissionPolicy),
  confirmationPolicy: fields({
    enabled: is('boolean'),
    defaultTimeoutMs: count(1),
    timeoutAction: oneOf('reject', 'auto_approve'),
    yoloLanes: (value) =>
      strings(value) ??
      (value as string[]).map(oneOf('control', 'query', 'execute', 'generate')).find((problem) => problem),
  }),
  ceiling: both(object, ceiling),
  manifest: both(fields({ requires: object, permissions: object }), manifest),
  adHocFiles: strings,
  metadata: both(object, metadata),
  mode: oneOf(...modeNames),
  sandbox: oneOf('auto', 'required', 'off', ...sandboxBackends),
  commandLimits: fields({
    memoryBytes: either(count(minMemoryBytes), unlimited),
    processes: either(count(8), unlimited),
    cpuSeconds: either(count(1), unlimited),
    diskBytes: either(count(1024), unlimited),
    fileBytes: either(count(1024), unlimited),
    openFiles: either(count(16), unlimited),
  }),
  network: fields({
    allowHosts: strings,
    allowPrivate: either(is('boolean'), strings),
    readOnly: either(is('boolean'), strings),
    gitFetch: is('boolean'),
    secrets: each(
      fields({
        ...all(is('string'), 'host header file prefix'),
        value: either(is('string'), is('function')),
        plainHttp: is('boolean'),
      }),
    ),
    limits: fields({
      ...all(count(1), 'maxConnections idleMs maxMs'),
      ...all(count(0), 'maxUploadBytes maxDownloadBytes'),
    }),
    certificates: is('string'),
  }),
  env: both(object, variables),
  roots: strings,
  workspaceBackend,
  tools: (value) => (Array.isArray(value) ? each(tool)(value) : toolSet(value)),
  builtinTools: (value) => (Array.isArray(value) ? each(builtinTool)(value) : nothing(value)),
  extensionTools: (value) => (Array.isArray(value) ? each(extensionTool)(value) : is('boolean')(value)),
  toolSearch: oneOf('auto', 'always', 'never'),
  middleware: each(object),
  approvals: object,
  budgetGuard,
  webSearch: fields({ providers: list, maxCalls: count(0), timeoutMs: count(1) }),
  securityProvider: object,
  hostEnv,
  retentionLimits: fields({
    ...all(either(count(1), unlimited), 'maxRuns maxEventsPerRun maxMessages'),
    ...all(either(count(0), unlimited), 'maxTraceEvents maxTerminalSubagentTasks'),
  }),
  sessionStore: able('read', 'open', 'list'),
  durability: oneOf(...durabilities),
  autoCompactThreshold: between(0.05, 1),
  stopWhen: (value) => (Array.isArray(value) ? each(is('function'))(value) : is('function')(value)),
  whenBusy: oneOf('queue', 'reject'),
  signal,
  instructionFiles: either(strings, nothing),
}

/** Every option with its check: those of the kernel, then those of features. */
const checks: Readonly<Record<string, Check>> = Object.assign(
  { ...kernelChecks },
  ...features.map(({ options }) => options),
)

/** Option names that are known and have no effect yet. */
const later: ReadonlySet<string> = new Set(['remoteGit', 'artifactStoreLimits'])

function describeUnknown(name: string): string {
  if (later.has(name)) return `The option ${name} has no effect in this version.`
  const nearest = nearestNames(name, Object.keys(checks))
  const hint = nearest.length === 0 ? '' : ` Did you mean ${quoteNames(nearest)}?`
  return `The option ${name} is not known and has no effect.${hint}`
}
