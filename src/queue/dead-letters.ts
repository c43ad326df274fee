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

/** The last calls that failed finally, up to a number. */
export class DeadLetters {
  readonly #most: number
  readonly #kept = new Map<string, DeadLetter>()

  constructor(most: number) {
    this.#most = most
  }

  /** Gives the id of the oldest one when it had to go. */
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

  /** False when another caller has taken it. */
  take(commandId: string): boolean {
    return this.#kept.delete(commandId)
  }
}
