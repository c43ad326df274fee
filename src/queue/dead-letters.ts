import type { Lane } from '../tool/lane.js'

/** A call that failed permanently and is not retried. */
export type DeadLetter = {
  readonly commandId: string
  /** The name of the tool. */
  readonly commandType: string
  readonly lane: Lane
  readonly payload: unknown
  readonly error: string
  readonly attempts: number
  /** When it failed, in milliseconds since 1970. */
  readonly failedAt: number
  /** Whether it may have had effects, which a retry would repeat. */
  readonly mayHaveRun: boolean
  /** Whether it comes from the log of an earlier process; absent: it failed in this one. */
  readonly fromLog?: boolean
}

/** The last calls that failed permanently, up to a limit. */
export class DeadLetters {
  readonly #most: number
  readonly #kept = new Map<string, DeadLetter>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the id of the oldest letter if it was removed to make space. */
  add(letter: DeadLetter): string | undefined {
    this.#kept.set(letter.commandId, letter)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size <= this.#most || oldest === undefined) return undefined
    this.#kept.delete(oldest)
    return oldest
  }

  list(): DeadLetter[] {
    return [...this.#kept.values()]
  }

  get(commandId: string): DeadLetter | undefined {
    return this.#kept.get(commandId)
  }

  /** Removes a letter; false if another caller has removed it already. */
  take(commandId: string): boolean {
    return this.#kept.delete(commandId)
  }
}
