/** The exports of `capstan/workspace`: access to disk, processes and network. Needs Node. */
export type {
  BackendCommand,
  BackendContext,
  BackendProcess,
  CommitOutcome,
  CopiedCommands,
  DiscardOutcome,
  OpenBackend,
  WorkspaceBackend,
  WorkspaceCommands,
} from './backend/backend.js'
export { WorkspaceBackendError, type WorkspaceBackendErrorCode } from './backend/errors.js'
export { createMemoryBackend } from './backend/memory-backend.js'
export { createOverlayBackend, type OverlayBackendOptions } from './backend/overlay-backend.js'
export { createSshBackend, type SshBackendOptions } from './backend/ssh/ssh-backend.js'
export * from './egress/index.js'
export * from './files/index.js'
export { NetError, type NetErrorCode } from './net/index.js'
export {
  type LocalWorkspace,
  type NetworkOptions,
  NotPermittedError,
  openWorkspace,
  type Workspace,
  type WorkspaceOptions,
  type WorkspacePermit,
} from './open-workspace.js'
export * from './rules/rule-files.js'
export * from './sandbox/index.js'
export { ScratchClosedError, ScratchForeignError, ScratchFullError } from './scratch/index.js'
export { SearchError } from './search/index.js'
export * from './shell/index.js'
