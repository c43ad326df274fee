import type { Session as OpenSession } from './session.js'
import { SessionSurface } from './surface/session-surface.js'

/** A conversation on a workspace: the object that a host holds. */
export type Session = OpenSession

/**
 * The class of all sessions, for `instanceof`. Sessions are opened by `agent.session(workspace, options)`; this value loads nothing of
 * what they need.
 */
export const Session = SessionSurface as unknown as abstract new (...args: never) => OpenSession
