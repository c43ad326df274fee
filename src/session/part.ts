import type { SessionCore } from './core.js'

/**
 * What one concern keeps for one session: made with its first use and closed with the session, so that a session pays only for what
 * it uses. `core.part(memory)` gives the same thing every time.
 */
export type SessionPart<T> = {
  readonly name: string
  make(core: SessionCore): T
  /** Called once when the session ends, after its runs have. */
  close?(made: T): void | Promise<void>
}

/** The parts that a session has made so far. */
export class MadeParts {
  readonly #made = new Map<SessionPart<unknown>, unknown>()

  get<T>(part: SessionPart<T>, core: SessionCore): T {
    if (!this.#made.has(part as SessionPart<unknown>))
      this.#made.set(part as SessionPart<unknown>, part.make(core))
    return this.#made.get(part as SessionPart<unknown>) as T
  }

  /** The part, if anybody has used it. */
  peek<T>(part: SessionPart<T>): T | undefined {
    return this.#made.get(part as SessionPart<unknown>) as T | undefined
  }

  /** Closes the last one first; one that fails keeps none of the others open. What needs no closing can be read afterwards. */
  async close(): Promise<void> {
    const errors: unknown[] = []
    const closing = [...this.#made].filter(([{ close }]) => close !== undefined).reverse()
    for (const [part, made] of closing) {
      try {
        await part.close?.(made)
      } catch (error) {
        errors.push(error)
      }
    }
    for (const [part] of closing) this.#made.delete(part)
    if (errors.length > 0) throw errors[0]
  }
}
