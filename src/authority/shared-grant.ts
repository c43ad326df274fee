import { frozenCopy, isFrozenCopy } from '../tool/frozen-copy.js'
import type { RequirementSet } from '../tool/requirement.js'
import { createGrant, type Grant, type GrantOptions, grantForTool } from './grant.js'
import { Recent } from './recent.js'
import type { Scope } from './scope.js'

/**
 * The grant of an agent: the very same for all sessions that ask for the same in the same place, since reading the patterns of all
 * tools is most of what a session's first call costs. What is the same is decided by what is asked for, as it is at this moment.
 */
export function sharedGrant({ scope, manifest, tools = [], ceiling }: Omit<GrantOptions, 'parent'>): Grant {
  const required = tools.map(fixed)
  const whole = manifest && fixed(manifest)
  const limit = ceiling && fixed(ceiling)
  // JSON has no line breaks of its own, so that no two lists make one text.
  const names = [whole, limit, ...required].map((one) => (one === undefined ? '' : nameOf(one)))
  return grants.get([JSON.stringify(scope), ...names].join('\n'), () =>
    createGrant({
      scope,
      tools: required,
      ...(whole !== undefined && { manifest: whole }),
      ...(limit !== undefined && { ceiling: limit }),
    }),
  )
}

/** The same for one tool inside a grant. */
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

/** As it is now: what is kept must not change with what was given. */
function fixed(requires: RequirementSet): RequirementSet {
  return isFrozenCopy(requires) ? requires : frozenCopy(requires)
}

/** Two sets with one name ask for the same. */
function nameOf(requires: RequirementSet): string {
  const known = names.get(requires)
  const name = known ?? JSON.stringify(requires)
  if (known === undefined) names.set(requires, name)
  return name
}

const names = new WeakMap<RequirementSet, string>()
