import { compileRule } from '../../authority/compiled-rule.js'
import { type PermissionPolicy, parsePolicyString } from '../../authority/policy.js'
import { parseRule, type Rule } from '../../authority/rule.js'
import type { Scope } from '../../authority/scope.js'
import type { Action } from '../../authority/verdict.js'
import { defaultLimits } from '../../loop/run-state.js'
import type { SessionState } from '../../store/session-state.js'
import { tryOr } from '../../tool/errors.js'
import { isRecord, type JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { stricterLimits } from '../../workspace/limits/resource-limits.js'
import { sandboxBackends } from '../../workspace/sandbox/backends.js'
import { limitNames } from '../limit-names.js'
import type { SessionOptions } from '../options.js'
import { builtinToolNames } from '../tool-names.js'

/**
 * What a log may say about the authority of the session that continues it. Tools, or a person who can write to the
 * store, could have written any of it: it can restrict the session and never permits anything. `trustStore` is how a
 * host vouches for its store.
 */
export type RestoredAuthority = {
  /** Options that cannot widen anything. */
  readonly options: SessionOptions
  /** Names of options that the log has and that are not restored. */
  readonly leftOut: readonly string[]
}

/** Takes from the options of a log what restricts the session, for those names that the host does not set. */
export function restrictionsIn(
  row: Pick<NonNullable<SessionState['session']>, 'options' | 'mode'>,
  given: SessionOptions,
  defaults: SessionOptions,
): RestoredAuthority {
  const options: Record<string, unknown> = {}
  const leftOut: string[] = []
  const own: SessionOptions = { ...defaultLimits, ...defaults }
  const kept: JsonObject = { ...row.options, ...omitUndefined({ mode: row.mode }) }
  for (const [name, value] of Object.entries(kept)) {
    if (given[name as keyof SessionOptions] != null || value == null) continue
    const restrict = Object.hasOwn(restrictions, name) ? restrictions[name as SavedName] : undefined
    const restored = restrict?.(value, own[name as keyof SessionOptions])
    if (restored !== undefined) options[name] = restored
    if (JSON.stringify(restored) !== JSON.stringify(value)) leftOut.push(name)
  }
  return { options: options as SessionOptions, leftOut }
}

/**
 * The rules that users approved, and the `ask` rules of the policy, as rules that only restrict. Allows are left
 * out, and so is what is not a rule.
 */
export function restrictingRules(state: SessionState | undefined, given: SessionOptions): readonly Rule[] {
  const { rules = [], options } = state?.session ?? {}
  const policy: unknown = given.permissionPolicy === undefined ? options?.['permissionPolicy'] : undefined
  const asks = isRecord(policy) && policy['enabled'] !== false ? textsIn(policy['ask']) : []
  return [...rules, ...asks.flatMap(askRule)].flatMap((rule) => {
    try {
      const held: Rule = { ...parseRule(rule), untrusted: true }
      compileRule(held, 0, anywhere)
      return held.action === 'allow' ? [] : [held]
    } catch {
      // A log that was written elsewhere may hold anything; what is not a rule restricts nothing.
      return []
    }
  })
}

/** Options that decide nothing about authority: the prompt's slots, the model's settings, what is kept in memory. */
const asItIs = (value: unknown): unknown => value
/** False switches something off; anything else would add to what the session takes from the workspace. */
const onlyFalse = (value: unknown): unknown => (value === false ? false : undefined)
const onlyTrue = (value: unknown): unknown => (value === true ? true : undefined)
const never = (): undefined => undefined

/**
 * How each kept option is restored. Undefined: it is not. Every kept option is named here, so that a new one needs a
 * decision.
 */
export const restrictions = {
  role: asItIs,
  guidelines: asItIs,
  responseStyle: asItIs,
  extra: asItIs,
  temperature: asItIs,
  maxTokens: asItIs,
  thinkingBudget: asItIs,
  reasoningEffort: asItIs,
  planningMode: asItIs,
  goalTracking: asItIs,
  autoCompact: asItIs,
  autoCompactThreshold: asItIs,
  whenBusy: asItIs,
  retentionLimits: asItIs,
  // A name of the host's configuration, which says where the model is and which key it gets.
  model: asItIs,
  permissionPolicy: restrictingPolicy,
  // Its denies hold again; what it asks for is the host's to say.
  manifest: (value: unknown) => {
    const permissions = isRecord(value) ? restrictingPolicy(value['permissions']) : undefined
    return permissions && { permissions }
  },
  mode: restrictingMode,
  // The name of a sandbox may be one that this machine does not have: what it says is that there must be one.
  sandbox: (value: unknown, own: unknown) =>
    isSandboxName(own) || !(value === 'required' || isSandboxName(value)) ? undefined : 'required',
  commandLimits: (value: unknown, own: unknown) =>
    isRecord(value) ? stricterLimits(isRecord(own) ? own : undefined, value) : undefined,
  // Cuts what everything else grants, in place of another one.
  ceiling: (value: unknown, own: unknown) => (isRecord(value) && own === undefined ? value : undefined),
  builtinTools: (value: unknown, own: unknown) => {
    if (value === false) return false
    const names = new Set(own === false ? [] : Array.isArray(own) ? textsIn(own) : builtinToolNames)
    return Array.isArray(value) ? textsIn(value).filter((name) => names.has(name)) : undefined
  },
  requireReadBeforeWrite: onlyTrue,
  instructionFiles: onlyFalse,
  discoverSkills: onlyFalse,
  discoverAgents: onlyFalse,
  builtinSkills: onlyFalse,
  // The checks stay required; their commands get no more authority than the model has.
  verify: (value: unknown) => (isRecord(value) ? { ...value, asModel: true } : undefined),
  // Each of these lets something in: answers without a person, hosts, directories, prompts with permissions.
  confirmationPolicy: never,
  network: never,
  roots: never,
  extensionTools: never,
  adHocFiles: never,
  userDataDir: never,
  skillDirs: never,
  inlineSkills: never,
  agentDirs: never,
  workerAgents: never,
  toolTimeoutMs: lower,
  ...(Object.fromEntries(limitNames.map((name) => [name, lower])) as Record<LimitName, typeof lower>),
}

/** A mode of a log that only restricts. Others are the host's to give. */
export function restrictingMode(value: unknown, own?: unknown): 'plan' | 'read-only' | undefined {
  if (own === 'plan') return undefined
  return value === 'plan' || value === 'read-only' ? value : undefined
}

function isSandboxName(value: unknown): boolean {
  return sandboxBackends.some((backend) => backend === value)
}

type LimitName = (typeof limitNames)[number]
type SavedName = keyof typeof restrictions

function restrictingPolicy(value: unknown): PermissionPolicy | undefined {
  if (!isRecord(value) || value['enabled'] === false) return undefined
  const deny = textsIn(value['deny']).filter((text) => askRule(text).length > 0)
  const { defaultDecision } = value
  const restricts: Action | undefined =
    defaultDecision === 'deny' || defaultDecision === 'ask' ? defaultDecision : undefined
  if (deny.length === 0 && restricts === undefined) return undefined
  return {
    ...(deny.length > 0 && { deny }),
    ...omitUndefined({ defaultDecision: restricts }),
  }
}

/** A limit below the host's own. Where the host has none, any number restricts. */
function lower(value: unknown, own: unknown): unknown {
  if (typeof value === 'boolean') return value === false ? false : undefined
  if (typeof value !== 'number') return undefined
  return typeof own === 'number' && own <= value ? undefined : value
}

function askRule(text: string): Rule[] {
  return tryOr(() => [{ ...parsePolicyString(text), action: 'ask', source: 'session' }], [])
}

function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === 'string') : []
}

/** Where a rule is tried: only whether it is one is asked here. */
const anywhere: Scope = { variables: { workspace: ['/'], scratch: ['/'] }, home: '/' }
