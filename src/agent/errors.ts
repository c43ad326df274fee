import { SessionOptionError } from '../session/errors.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'

/** A session cannot be opened on this directory. */
export class WorkspaceError extends CapstanError {
  constructor(path: string, why: string, cause?: unknown) {
    super('workspace_unusable', `The workspace ${path} cannot be used: ${why}.`, { cause })
  }
}

markErrorClass(WorkspaceError, 'WorkspaceError')

/** The store has no session of that id. */
export class SessionNotFoundError extends CapstanError {
  constructor(sessionId: string, backend: string, doing = 'resume') {
    super(
      'session_not_found',
      `Failed to ${doing} session: the store "${backend}" has no session '${sessionId}'.`,
    )
  }
}

markErrorClass(SessionNotFoundError, 'SessionNotFoundError')

/** What is kept of the session does not say where it works: it was imported from lines that nobody vouched for. */
export function noWorkspace(sessionId: string, doing: string): SessionOptionError {
  return new SessionOptionError(
    'workspace',
    `Failed to ${doing} session: it is not known on which workspace '${sessionId}' works. Give workspace.`,
  )
}

/** The log names a directory that a host has to name itself. */
export function implausibleWorkspace(sessionId: string, root: string): SessionOptionError {
  return new SessionOptionError(
    'workspace',
    `Failed to resume session: the log of '${sessionId}' names the workspace ${root}, a home or system directory that a log cannot choose. Give workspace: '${root}' if that is meant.`,
  )
}
