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
 * The effect that a log can have on the authority of the session that resumes it. Tools, or a person who can write to
 * the store, could have written any of it: it can restrict the session and never permits anything. A host that trusts
 * its store sets `trustStore`.
 */
export type RestoredAuthority = {
  /** Options that cannot add permissions. */
  readonly options: SessionOptions
  /** The names of options that the log has and that are not restored. */
  readonly leftOut: readonly string[]
}

/** Returns the options in a log that restrict the session, for the names that the host does not set. */
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
 * Returns the rules that users approved, and the `ask` rules of the policy, as rules that only restrict. Allow rules
 * and invalid rules are left out.
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
      // A log from elsewhere may contain anything; an invalid rule restricts nothing.
      return []
    }
  })
}

/** For options without effect on authority: the prompt's slots, the model's settings, memory limits. */
const asItIs = (value: unknown): unknown => value
/** `false` turns something off; any other value would add to what the session loads from the workspace. */
const onlyFalse = (value: unknown): unknown => (value === false ? false : undefined)
const onlyTrue = (value: unknown): unknown => (value === true ? true : undefined)
const never = (): undefined => undefined

/**
 * How each saved option is restored. Undefined: it is not restored. Every saved option is listed here, so that a new
 * one requires a decision.
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
  // A name in the host's configuration, which determines the provider and the key of the model.
  model: asItIs,
  permissionPolicy: restrictingPolicy,
  // Its deny rules apply again; only the host can grant its requirements.
  manifest: (value: unknown) => {
    const permissions = isRecord(value) ? restrictingPolicy(value['permissions']) : undefined
    return permissions && { permissions }
  },
  mode: restrictingMode,
  // This machine may not have the named sandbox, so the restored value only requires that there is one.
  sandbox: (value: unknown, own: unknown) =>
    isSandboxName(own) || !(value === 'required' || isSandboxName(value)) ? undefined : 'required',
  commandLimits: (value: unknown, own: unknown) =>
    isRecord(value) ? stricterLimits(isRecord(own) ? own : undefined, value) : undefined,
  // Limits everything that other options grant; not restored if the host sets its own.
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
  // The checks stay required; their commands get the authority of the model at most.
  verify: (value: unknown) => (isRecord(value) ? { ...value, asModel: true } : undefined),
  // Each of these adds access: approvals without a person, hosts, directories, prompts with permissions.
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

/** Returns a mode from a log if it only restricts. Other modes only the host can set. */
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

/** Returns a limit if it is below the host's own. If the host has none, any number restricts. */
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

/** The scope for validating a rule: only whether it is valid matters here. */
const anywhere: Scope = { variables: { workspace: ['/'], scratch: ['/'] }, home: '/' }
