import { SessionOptionError } from '../session/errors.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'

/** Thrown when a session cannot be opened on a directory. */
export class WorkspaceError extends CapstanError {
  constructor(path: string, why: string, cause?: unknown) {
    super('workspace_unusable', `The workspace ${path} cannot be used: ${why}.`, { cause })
  }
}

markErrorClass(WorkspaceError, 'WorkspaceError')

/** Thrown when the store has no session with the id. */
export class SessionNotFoundError extends CapstanError {
  constructor(sessionId: string, backend: string, doing = 'resume') {
    super(
      'session_not_found',
      `Failed to ${doing} session: the store "${backend}" has no session '${sessionId}'.`,
    )
  }
}

markErrorClass(SessionNotFoundError, 'SessionNotFoundError')

/** Creates the error for a stored session without a workspace, because it was imported from untrusted lines. */
export function noWorkspace(sessionId: string, doing: string): SessionOptionError {
  return new SessionOptionError(
    'workspace',
    `Failed to ${doing} session: the workspace of '${sessionId}' is not known. Set workspace.`,
  )
}

/** Creates the error for a log that names a directory which only the host can choose. */
export function implausibleWorkspace(sessionId: string, root: string): SessionOptionError {
  return new SessionOptionError(
    'workspace',
    `Failed to resume session: the log of '${sessionId}' names the workspace ${root}, a home or system directory that a log cannot choose. Set workspace: '${root}' if you want it.`,
  )
}
