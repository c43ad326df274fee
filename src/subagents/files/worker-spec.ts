import type { PermissionPolicy } from '../../authority/policy.js'
import { type Action, strictness } from '../../authority/verdict.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { type AgentDefinition, agentNamed } from '../agent-definition.js'
import {
  checked,
  type Fields,
  fieldOf,
  flagField,
  modelOf,
  nameOf,
  permissionsOf,
  stepsOf,
  textField,
  wordField,
} from './agent-fields.js'
import { AgentFileError } from './errors.js'

export const workerKinds = ['read_only', 'planner', 'implementer', 'verifier', 'reviewer', 'custom'] as const
/** The kind of a worker, which sets its prompt and permissions. */
export type WorkerKind = (typeof workerKinds)[number]

export const confirmationInheritances = ['auto_approve', 'deny_on_ask', 'inherit_parent'] as const

/** A short definition of an agent: a kind of worker, and its differences. */
export type WorkerAgentSpec = {
  readonly name: string
  readonly description: string
  /** Default: `custom`, which has the permissions of its rules, or all of the caller's. */
  readonly kind?: WorkerKind
  readonly hidden?: boolean
  readonly permissions?: PermissionPolicy
  /** `provider/model` of the configuration. */
  readonly model?: string | { readonly provider: string; readonly model: string }
  readonly prompt?: string
  readonly maxSteps?: number
  /** Its tasks always run in a separate worktree. */
  readonly isolation?: 'worktree'
  /** What happens to calls that need approval by its own rules. Default: they are denied. */
  readonly confirmationInheritance?: (typeof confirmationInheritances)[number]
}

/** Tool fields of other agents, which workers do not have. */
const toolFields = [
  'tools',
  'allowedTools',
  'allowed_tools',
  'allowed-tools',
  'disallowedTools',
  'disallowed_tools',
  'disallowed-tools',
  'manifest',
]

/** The built-in agent that each kind of worker is based on. */
const likeness: Readonly<Record<WorkerKind, string | undefined>> = {
  read_only: 'explore',
  planner: 'plan',
  implementer: 'general',
  verifier: 'verification',
  reviewer: 'review',
  custom: undefined,
}

/**
 * Creates an agent from a specification. It has no permission that its kind does not have. `known` contains the
 * agents that kinds are based on. Throws {@link AgentFileError}.
 */
export function workerAgent(
  spec: WorkerAgentSpec | Fields,
  known: readonly AgentDefinition[],
): AgentDefinition {
  const fields = spec as Fields
  const name = textField(fields, 'name')
  const description = textField(fields, 'description')
  if (name === undefined) throw new AgentFileError('worker agent name is required')
  if (description === undefined) throw new AgentFileError('worker agent description is required')
  // A worker that was meant to have few tools must not get all of them.
  const restricts = toolFields.find((field) => fields[field] !== undefined)
  if (restricts !== undefined)
    throw new AgentFileError(`a worker has no field '${restricts}': set its access in permissions`)
  const kind = wordField(fieldOf(fields, 'kind'), 'kind', workerKinds) ?? 'custom'
  const like = likeness[kind]
  const base = like === undefined ? undefined : agentNamed(like, known)
  const problems: string[] = []
  const { maxSteps = base?.maxSteps } = stepsOf(fieldOf(fields, 'maxSteps', 'max_steps'))
  const model = modelOf(fieldOf(fields, 'model'), problems)
  if (problems[0] !== undefined) throw new AgentFileError(problems[0])
  const permissions = rulesFor(permissionsOf(fieldOf(fields, 'permissions')), base?.permissions)
  return {
    name: nameOf(name),
    description,
    prompt: textField(fields, 'prompt') ?? base?.prompt ?? `You do one kind of work: ${description}`,
    confirmationInheritance:
      wordField(
        fieldOf(fields, 'confirmationInheritance', 'confirmation_inheritance'),
        'confirmation_inheritance',
        confirmationInheritances,
      ) ?? 'deny_on_ask',
    caller: 'agent',
    ...(base?.tools !== undefined && { tools: base.tools }),
    ...(permissions !== undefined && { permissions: checked(permissions) }),
    ...omitUndefined({
      maxSteps,
      isolation: wordField(fieldOf(fields, 'isolation'), 'isolation', ['worktree']),
    }),
    ...model,
    ...flagField(fields, 'hidden'),
  }
}

/** The worker's own rules replace those of its kind, but only within what the kind allows. */
function rulesFor(
  own: PermissionPolicy | undefined,
  base: PermissionPolicy | undefined,
): PermissionPolicy | undefined {
  if (own === undefined || base === undefined) return own ?? base
  const deny = [...new Set([...(base.deny ?? []), ...(own.deny ?? [])])]
  const kindly = (rules: readonly string[]): string[] =>
    withinAllows(rules, base.allow ?? []).filter((rule) => !deny.includes(rule))
  const { ask = [], allow = base.allow ?? [] } = own
  // No default is stricter than `allow`: reading the workspace is allowed, and everything else requires approval.
  const fallback =
    base.defaultDecision === undefined
      ? withoutAllow(own.defaultDecision)
      : stricter(own.defaultDecision ?? base.defaultDecision, base.defaultDecision)
  return {
    allow: kindly(allow).filter((rule) => !ask.includes(rule)),
    ...(ask.length > 0 && { ask: kindly(ask) }),
    ...(deny.length > 0 && { deny }),
    ...omitUndefined({ defaultDecision: fallback }),
  }
}

/**
 * Limits rules to what is allowed: keeps a rule whose tool is allowed entirely; replaces a rule for a whole tool by
 * the allowed rules of that tool.
 */
function withinAllows(rules: readonly string[], allowed: readonly string[]): string[] {
  const found = rules.flatMap((rule) => {
    if (allowed.includes(rule) || allowed.includes(toolIn(rule))) return [rule]
    return allowed.filter((one) => rule === '*' || toolIn(one) === rule)
  })
  return [...new Set(found)]
}

function toolIn(rule: string): string {
  return rule.split('(', 1)[0] ?? rule
}

function withoutAllow(action: Action | undefined): Action | undefined {
  return action === 'allow' ? undefined : action
}

function stricter(one: Action, other: Action): Action {
  return strictness(one) >= strictness(other) ? one : other
}
