export type { SandboxBackend } from './backends.js'
export type { SandboxMode, SandboxOptions } from './choose.js'
export { type DoctorCheck, doctor } from './doctor.js'
export {
  SandboxRootError,
  SandboxUnavailableError,
  TooManyMasksError,
  TreeTooLargeError,
} from './errors.js'
export { type DetectOptions, detectSandbox, type SandboxDetection } from './probe.js'
