import type { SessionCore } from '../core.js'

/** What a session consists of, for the files around it. */
export function coreOf(session: SessionSurface): SessionCore {
  return readCore(session)
}

let readCore: (session: SessionSurface) => SessionCore

/** The base class of what a host sees of a session: each file next to this one adds the methods of one concern. */
export abstract class SessionSurface {
  readonly #core: SessionCore

  static {
    readCore = (session) => session.#core
  }

  constructor(core: SessionCore) {
    if (new.target === SessionSurface)
      throw new TypeError('A session is opened by agent.session(workspace, options).')
    this.#core = core
  }
}

// What a host imports as `Session` is this class.
Object.defineProperty(SessionSurface, 'name', { value: 'Session' })
