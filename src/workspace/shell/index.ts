export {
  ShellClosedError,
  ShellDirectoryError,
  ShellEnvironmentError,
  ShellJobError,
  ShellStartError,
} from './errors.js'
export { createLocalShell, type LocalShell, type LocalShellOptions } from './local-shell.js'
export type { ResourceLimits } from './resource-limits.js'
