import { omitUndefined } from '../tool/omit-undefined.js'
import { assertPolicyShape, type CompiledPolicy, compilePolicy, type PermissionPolicy } from './policy.js'
import { Recent } from './recent.js'
import type { Scope } from './scope.js'

/**
 * Compiles a policy once for all sessions with an equal one. Equality is decided by its current content, never by
 * object identity. Throws like `compilePolicy`.
 */
export function sharedPolicy(given: PermissionPolicy, scope?: Scope): CompiledPolicy {
  assertPolicyShape(given)
  const policy = copyOf(given)
  return policies.get(JSON.stringify([policy, scope]), () =>
    compilePolicy(policy, scope === undefined ? {} : { scope }),
  )
}

const maxPolicies = 64
const policies = new Recent<CompiledPolicy>(maxPolicies)

/** Reads each list of the caller once, so that the cache key and the compiled rules come from the same values. */
function copyOf({ deny, ask, allow, defaultDecision, enabled }: PermissionPolicy): PermissionPolicy {
  return omitUndefined({
    deny: deny && [...deny],
    ask: ask && [...ask],
    allow: allow && [...allow],
    defaultDecision,
    enabled,
  })
}
