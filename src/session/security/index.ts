/** What a session asks about texts: which parts must not leave it, and which try to give orders. */

export { redactValue } from '../../feature/redact-value.js'
export {
  DefaultSecurityProvider,
  type SecurityOptions,
  SecurityOptionsError,
  type TokenShape,
} from './default-provider.js'
export type { SecurityFinding, SecurityProvider, TextStream, TextTarget } from './provider.js'
export type { RedactionKind } from './shapes.js'
