/** The entry `capstan/gate`: the path of every tool call. */
export type { AskAnswer, AskHandler, AskRequest, RefusedAsk } from './ask.js'
export { boundOutput, type Spill } from './bound-output.js'
export { type CallPermit, permitFor } from './call-permit.js'
export { createGate, type Gate } from './gate.js'
export type {
  CallOrigin,
  CallRecord,
  GateCall,
  GateOutcome,
  GateParts,
  HookCall,
  HookVerdict,
  RuntimeRequest,
  Step,
} from './gate-parts.js'
export {
  createSessionAuthority,
  type Delegation,
  type SessionAuthority,
  type SessionAuthorityOptions,
} from './session-authority.js'
