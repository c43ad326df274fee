import type { SessionCore } from '../core.js'

/** What a session consists of, for the files around it. */
export function coreOf(session: SessionSurface): SessionCore {
  return readCore(session)
}

let readCore: (session: SessionSurface) => SessionCore

/** The ground of what a host sees of a session: each file beside this one adds the methods of one concern. */
export abstract class SessionSurface {
  readonly #core: SessionCore

  static {
    readCore = (session) => session.#core
  }

  constructor(core: SessionCore) {
    this.#core = core
  }
}
