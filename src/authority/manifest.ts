import { omitUndefined } from '../tool/omit-undefined.js'
import type { RequirementSet } from '../tool/requirement.js'
import type { PermissionPolicy } from './policy.js'
import { unionRequirements } from './requirements.js'

/** The declaration of an agent: its requirements in addition to those of its tools, and its rules. */
export type Manifest = {
  readonly requires?: RequirementSet
  /** Denies of a manifest override all other rules. */
  readonly permissions?: PermissionPolicy
}

/** Merges manifests: all requirements and all rules. Of two default decisions the last counts. */
export function mergeManifests(...given: readonly (Manifest | undefined)[]): Manifest | undefined {
  const manifests = given.filter((one) => one !== undefined)
  if (manifests.length < 2) return manifests[0]
  const asked = manifests.flatMap(({ requires }) => (requires === undefined ? [] : [requires]))
  const policies = manifests.flatMap(({ permissions }) =>
    permissions === undefined || permissions.enabled === false ? [] : [permissions],
  )
  const all = (list: 'deny' | 'ask' | 'allow'): readonly string[] => [
    ...new Set(policies.flatMap((policy) => policy[list] ?? [])),
  ]
  const fallback = policies.findLast(({ defaultDecision }) => defaultDecision !== undefined)?.defaultDecision
  return {
    ...(asked.length > 0 && { requires: unionRequirements(...asked) }),
    ...(policies.length > 0 && {
      permissions: {
        deny: all('deny'),
        ask: all('ask').filter((rule) => !all('deny').includes(rule)),
        allow: all('allow').filter((rule) => !all('deny').includes(rule) && !all('ask').includes(rule)),
        ...omitUndefined({ defaultDecision: fallback }),
      },
    }),
  }
}
