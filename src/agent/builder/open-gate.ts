import type { Authority } from '../../authority/decide.js'
import { createRuleBook } from '../../authority/rule-book.js'
import { createGate, type Gate } from '../../loop/gate.js'
import type { GateParts } from '../../loop/gate-parts.js'

/**
 * The gate of an agent without a workspace and a policy. Its tools are the host's own code and get no runtime, so there
 * is nothing to grant or deny, and only the approval policy of a tool asks. All other steps are the same. Outputs go to
 * the model in full unless a tool limits them, because there is no scratch directory for the rest.
 */
export function openGate(
  parts: Pick<
    GateParts,
    'tools' | 'approvals' | 'middleware' | 'before' | 'record' | 'run' | 'now' | 'newId'
  >,
): Gate {
  return createGate({
    ...parts,
    authorityFor: () => open,
    // A hook is the host's own code, and can ask a user.
    guardTimeoutMs: 2 ** 31 - 1,
    outputLimits: { maxBytes: Number.POSITIVE_INFINITY },
    spill: () => Promise.reject(new Error('this agent has no workspace to store the rest of the output')),
  })
}

const open: Authority = {
  book: createRuleBook({
    rules: [],
    scope: { variables: {} },
    defaultDecision: 'allow',
    doubts: 'allow',
    defaultReason: 'an agent without a workspace has no policy',
  }),
}
