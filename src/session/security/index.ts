/** What a session asks about texts: which parts must not go on, and which try to give orders. */
export {
  DefaultSecurityProvider,
  type SecurityOptions,
  SecurityOptionsError,
  type TokenShape,
} from './default-provider.js'
export type { SecurityFinding, SecurityProvider, TextStream, TextTarget } from './provider.js'
export { redactValue } from './redact-value.js'
export type { RedactionKind } from './shapes.js'
