export type { SandboxMode, SandboxOptions } from './choose.js'
export { type DoctorCheck, doctor } from './doctor.js'
export {
  SandboxRootError,
  SandboxUnavailableError,
  TooManyMasksError,
  TreeTooLargeError,
} from './errors.js'
export type { SandboxNetwork } from './hold-command.js'
export { HostPatternError } from './host-allow.js'
export { type DetectOptions, detectSandbox, type SandboxBackend, type SandboxDetection } from './probe.js'
export type { CheckHost } from './proxy.js'
