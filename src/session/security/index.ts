/** Redaction of texts of a session, and detection of texts that look like instructions. */

export { redactValue } from '../../feature/redact-value.js'
export {
  DefaultSecurityProvider,
  type SecurityOptions,
  SecurityOptionsError,
  type TokenShape,
} from './default-provider.js'
export type { SecurityFinding, SecurityProvider, TextStream, TextTarget } from './provider.js'
export type { RedactionKind } from './shapes.js'
