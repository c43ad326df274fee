import { assertPolicyShape, type CompiledPolicy, compilePolicy, type PermissionPolicy } from './policy.js'
import { Recent } from './recent.js'
import type { Scope } from './scope.js'

/**
 * A policy that was read before is not read again: many sessions are begun with the same one. What is the same is decided by what it
 * says at this moment, never by which object it is. Throws like `compilePolicy`.
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

/** Each list is looked at once: what it is kept under is what was read. */
function copyOf({ deny, ask, allow, defaultDecision, enabled }: PermissionPolicy): PermissionPolicy {
  return {
    ...(deny !== undefined && { deny: [...deny] }),
    ...(ask !== undefined && { ask: [...ask] }),
    ...(allow !== undefined && { allow: [...allow] }),
    ...(defaultDecision !== undefined && { defaultDecision }),
    ...(enabled !== undefined && { enabled }),
  }
}
