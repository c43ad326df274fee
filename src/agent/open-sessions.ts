import type { Session } from '../session/session.js'

/** The open sessions of an agent, and those that are still closing. */
export class OpenSessions {
  readonly #open = new Set<Session>()
  readonly #ending = new Set<Promise<void>>()

  add(session: Session): void {
    this.#open.add(session)
  }

  /** Records that a session takes no more calls; `ended` settles when it is completely closed. */
  closed(session: Session | undefined, ended: Promise<void>): void {
    if (session !== undefined) this.#open.delete(session)
    this.#ending.add(ended)
    const forget = (): unknown => this.#ending.delete(ended)
    ended.then(forget, forget)
  }

  find(id: string): Session | undefined {
    return [...this.#open].find(({ sessionId }) => sessionId === id)
  }

  all(): Session[] {
    return [...this.#open]
  }

  /** The ids of the open sessions, sorted. */
  ids(): string[] {
    return [...new Set([...this.#open].map(({ sessionId }) => sessionId))].sort()
  }

  async close(id: string): Promise<boolean> {
    const open = [...this.#open].filter((session) => session.sessionId === id)
    await Promise.all(open.map((session) => session.close()))
    return open.length > 0
  }

  /** Closes every session, also if one of them fails; throws the first error afterwards. */
  async closeAll(): Promise<void> {
    const ending = [...this.#open].map((session) => session.close())
    for (const end of await Promise.allSettled([...ending, ...this.#ending]))
      if (end.status === 'rejected') throw end.reason
  }
}
