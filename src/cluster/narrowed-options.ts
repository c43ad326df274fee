import type { PermissionPolicy } from '../authority/policy.js'
import type { Action } from '../authority/verdict.js'
import { restrictionsIn } from '../session/journal/restored-authority.js'
import { limitNames } from '../session/limit-names.js'
import type { SessionOptions } from '../session/options.js'
import type { JsonObject } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { ClusterError } from './errors.js'

/**
 * Restricts the options of a worker by those of a submission. Any process that can write to the queue could have
 * written them, so they are read like an untrusted log. An option of the worker stays, or becomes stricter. Throws if
 * both have a ceiling: two ceilings cannot be combined, and the caller relies on its own.
 */
export function narrowedOptions(own: SessionOptions, asked: JsonObject): SessionOptions {
  if (own.ceiling !== undefined && asked['ceiling'] != null)
    throw new ClusterError(
      'submission_invalid',
      'The worker has a ceiling of its own, so a submission cannot have one. Submit the run without it.',
    )
  const fixed = Object.entries(own).filter(([name]) => !compared.has(name))
  const rest = Object.entries(asked).filter(([name]) => !ofWorker.has(name))
  const { permissionPolicy, manifest, ...restricted } = restrictionsIn(
    { options: Object.fromEntries(rest) },
    Object.fromEntries(fixed),
    own,
  ).options
  return {
    ...own,
    ...restricted,
    permissionPolicy: stricterPolicy(own.permissionPolicy ?? {}, permissionPolicy, manifest?.permissions),
  }
}

/** Options of a submission that are compared with those of the worker: the stricter value is used. */
const compared: ReadonlySet<string> = new Set([
  ...['permissionPolicy', 'manifest', 'mode', 'sandbox', 'commandLimits', 'builtinTools', 'toolTimeoutMs'],
  ...['requireReadBeforeWrite', 'instructionFiles', 'discoverSkills', 'discoverAgents', 'builtinSkills'],
  ...limitNames,
])

/** Options that only the worker decides: the model with its cost, and memory retention. */
const ofWorker: ReadonlySet<string> = new Set(['model', 'retentionLimits'])

function stricterPolicy(
  own: PermissionPolicy,
  ...asked: readonly (PermissionPolicy | undefined)[]
): PermissionPolicy {
  const deny = asked.flatMap((policy) => policy?.deny ?? [])
  const decisions = [own, ...asked].map((policy) => policy?.defaultDecision)
  const defaultDecision = strictness.find((action) => decisions.includes(action))
  // A rule cannot be in two lists.
  const others = (rules: readonly string[] | undefined): string[] =>
    (rules ?? []).filter((rule) => !deny.includes(rule))
  return {
    ...own,
    ...omitUndefined({ defaultDecision }),
    allow: others(own.allow),
    ask: others(own.ask),
    deny: [...new Set([...(own.deny ?? []), ...deny])],
  }
}

const strictness: readonly Action[] = ['deny', 'ask', 'allow']
