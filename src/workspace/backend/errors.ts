import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** The kinds of {@link WorkspaceBackendError}. */
export type WorkspaceBackendErrorCode =
  | 'commands_unavailable'
  | 'servers_unavailable'
  | 'commit_unavailable'
  | 'backend_unreachable'
  | 'backend_invalid'
  | 'overlay_full'

/** The backend of a workspace cannot do what was asked, or cannot be reached. */
export class WorkspaceBackendError extends CapstanError {
  declare readonly code: WorkspaceBackendErrorCode

  constructor(code: WorkspaceBackendErrorCode, message: string, cause?: unknown) {
    super(code, message, cause === undefined ? undefined : { cause })
  }
}

/** The changes of an overlay do not fit into what it may hold in memory. */
export class OverlayFullError extends WorkspaceBackendError {
  constructor(wanted: string, most: string) {
    super(
      'overlay_full',
      `The change was not made: the overlay would hold ${wanted} in memory, and it can hold ${most}. Commit or discard its changes, or give it a higher limit.`,
    )
  }
}

markErrorClass(OverlayFullError, 'OverlayFullError')
markErrorClass(WorkspaceBackendError, 'WorkspaceBackendError')
