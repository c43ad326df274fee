import type { SessionKernel } from './kernel.js'
import type { Session as OpenSession } from './session.js'

/** Returns the kernel of a session, for code of this package. */
export function kernelOf(session: SessionHandle): SessionKernel {
  return readKernel(session)
}

let readKernel: (session: SessionHandle) => SessionKernel

/**
 * Holds the kernel of a session where hosts cannot access it. Separate from `Session`, so that `instanceof` loads
 * nothing else.
 */
export abstract class SessionHandle {
  readonly #kernel: SessionKernel

  static {
    readKernel = (session) => session.#kernel
  }

  constructor(kernel: SessionKernel) {
    if (new.target === SessionHandle)
      throw new TypeError('A session is opened by agent.session(workspace, options).')
    this.#kernel = kernel
  }
}

// Hosts import this class as `Session`.
Object.defineProperty(SessionHandle, 'name', { value: 'Session' })

/** A conversation on a workspace. Opened with `agent.session(workspace, options)`. */
export type Session = OpenSession

/**
 * The class of all sessions, for `instanceof`. Sessions are opened with `agent.session(workspace, options)`; importing
 * this value loads nothing that sessions need.
 */
export const Session = SessionHandle as unknown as abstract new (...args: never) => OpenSession
