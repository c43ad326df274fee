import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of {@link WorkspaceBackendError}. */
export type WorkspaceBackendErrorCode =
  | 'commands_unavailable'
  | 'servers_unavailable'
  | 'commit_unavailable'
  | 'backend_unreachable'
  | 'backend_invalid'
  | 'overlay_full'

/** Thrown when the backend of a workspace cannot do an operation, or cannot be reached. */
export class WorkspaceBackendError extends CapstanError<WorkspaceBackendErrorCode> {
  constructor(code: WorkspaceBackendErrorCode, message: string, cause?: unknown) {
    super(code, message, cause === undefined ? undefined : { cause })
  }
}

markErrorClass(WorkspaceBackendError, 'WorkspaceBackendError')
