export type { ResourceLimits } from '../limits/resource-limits.js'
export type { CallConfinement, UnreadablePaths } from './confinement.js'
export {
  ShellClosedError,
  ShellDirectoryError,
  ShellEnvironmentError,
  ShellJobError,
  ShellStartError,
} from './errors.js'
export {
  type ConfinedShellOptions,
  createLocalShell,
  type LocalShell,
  type LocalShellOptions,
  type WorkspaceShell,
} from './local-shell.js'
export type { PipedProcess } from './piped-streams.js'
