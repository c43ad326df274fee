import type { Authority } from '../../authority/decide.js'
import { createRuleBook } from '../../authority/rule-book.js'
import { createGate, type Gate } from '../../loop/gate.js'
import type { GateParts } from '../../loop/gate-parts.js'

type OpenGateParts = Pick<
  GateParts,
  'tools' | 'approvals' | 'middleware' | 'before' | 'record' | 'run' | 'now' | 'newId'
>

/**
 * The gate of an agent that has no workspace and no policy: its tools are the host's own code and get nothing from us, so there is
 * nothing to grant or to deny, and only a tool's own approval policy asks. Everything else is as for any call. Outputs go to the model
 * whole unless a tool limits its own, since there is no place where the rest could be read.
 */
export function openGate(parts: OpenGateParts): Gate {
  return createGate({
    ...parts,
    authorityFor: () => open,
    // A hook is the host's own code, and may ask a person.
    guardTimeoutMs: 2 ** 31 - 1,
    outputLimits: { maxBytes: Number.POSITIVE_INFINITY },
    spill: () => Promise.reject(new Error('this agent has no workspace, so the rest is kept nowhere')),
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
