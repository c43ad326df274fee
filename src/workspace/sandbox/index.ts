export type { SandboxMode, SandboxOptions } from './choose.js'
export type { SandboxNetwork } from './confine-bubblewrap.js'
export { type DoctorCheck, doctor } from './doctor.js'
export {
  SandboxRootError,
  SandboxUnavailableError,
  TooManyMasksError,
  TreeTooLargeError,
} from './errors.js'
export { HostPatternError } from './host-allow.js'
export { detectSandbox, type SandboxDetection } from './probe.js'
export type { CheckHost } from './proxy.js'
