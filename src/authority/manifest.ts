import type { RequirementSet } from '../tool/requirement.js'
import type { PermissionPolicy } from './policy.js'
import { unionRequirements } from './requirements.js'

/** What an agent declares about itself: what it asks for in addition to its tools, and the rules that come with it. */
export type Manifest = {
  readonly requires?: RequirementSet
  /** Its denies hold whatever other rules say. */
  readonly permissions?: PermissionPolicy
}

/** Several manifests as one: everything that any of them asks for, and the rules of all. Of two default decisions the last counts. */
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
        ...(fallback !== undefined && { defaultDecision: fallback }),
      },
    }),
  }
}
