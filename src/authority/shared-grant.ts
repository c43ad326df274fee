import { frozenCopy, isFrozenCopy } from '../tool/frozen-copy.js'
import type { RequirementSet } from '../tool/requirement.js'
import { createGrant, type Grant, type GrantOptions, grantForTool } from './grant.js'
import { Recent } from './recent.js'
import type { Scope } from './scope.js'

/**
 * Returns the grant of an agent, shared by all sessions with equal requirements in the same place: parsing the
 * patterns of all tools is most of the cost of a session's first call. Equality is decided by the current content of
 * the requirements.
 */
export function sharedGrant({ scope, manifest, tools = [], ceiling }: Omit<GrantOptions, 'parent'>): Grant {
  const required = tools.map(fixed)
  const whole = manifest && fixed(manifest)
  const limit = ceiling && fixed(ceiling)
  // JSON text contains no raw line breaks, so different lists never produce the same text.
  const names = [whole, limit, ...required].map((one) => (one === undefined ? '' : nameOf(one)))
  return grants.get([JSON.stringify(scope), ...names].join('\n'), () =>
    createGrant({
      scope,
      tools: required,
      manifest: whole,
      ceiling: limit,
    }),
  )
}

/** Returns the grant of one tool inside a grant, shared by all sessions with equal requirements. */
export function sharedToolGrant(grant: Grant, tool: string, requires: RequirementSet, scope: Scope): Grant {
  const own = fixed(requires)
  const inside = toolGrants.get(grant) ?? new Recent<Grant>(maxTools)
  toolGrants.set(grant, inside)
  const key = [JSON.stringify(scope), JSON.stringify(tool), nameOf(own)].join('\n')
  return inside.get(key, () => grantForTool(grant, tool, own, scope))
}

const maxGrants = 32
const maxTools = 256
const grants = new Recent<Grant>(maxGrants)
const toolGrants = new WeakMap<Grant, Recent<Grant>>()

/** Copies requirements, so that the cached value does not change with the caller's object. */
function fixed(requires: RequirementSet): RequirementSet {
  return isFrozenCopy(requires) ? requires : frozenCopy(requires)
}

/** Two sets of requirements with the same name are equal. */
function nameOf(requires: RequirementSet): string {
  const known = names.get(requires)
  const name = known ?? JSON.stringify(requires)
  if (known === undefined) names.set(requires, name)
  return name
}

const names = new WeakMap<RequirementSet, string>()
