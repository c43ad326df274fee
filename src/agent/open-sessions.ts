import type { Session } from '../session/session.js'

/** The sessions of an agent that are open, and those that were closed and have not come to their end. */
export class OpenSessions {
  readonly #open = new Set<Session>()
  readonly #ending = new Set<Promise<void>>()

  add(session: Session): void {
    this.#open.add(session)
  }

  /** It takes no more calls; `ended` settles when nothing of it is left. */
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

  /** Sorted. */
  ids(): string[] {
    return [...new Set([...this.#open].map(({ sessionId }) => sessionId))].sort()
  }

  async close(id: string): Promise<boolean> {
    const open = [...this.#open].filter((session) => session.sessionId === id)
    await Promise.all(open.map((session) => session.close()))
    return open.length > 0
  }

  async closeAll(): Promise<void> {
    const ending = [...this.#open].map((session) => session.close())
    await Promise.all([...ending, ...this.#ending])
  }
}
