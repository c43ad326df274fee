/** What takes turns: a log to be synced, a journal with records to be written, a session that waits for its user. */
export type TurnTaker = { takeTurn(): void }

/** Other work must not wait for thousands of turns. */
const maxAtOnce = 100

/**
 * Lets sessions do work that no caller waits for, with one timer for all of them. Each waits for at most the delay. A
 * turn takes with it everything that has waited for half of it, so that much is done together and what comes meanwhile
 * still has time to join.
 */
export class Turns {
  readonly #delayMs: number
  readonly #keepsAlive: boolean
  /** When each began to wait, the oldest first. */
  readonly #waiting = new Map<TurnTaker, number>()
  #timer: NodeJS.Timeout | undefined

  /** `keepsAlive`: the process does not end before the work is done. */
  constructor(delayMs: number, keepsAlive: boolean) {
    this.#delayMs = delayMs
    this.#keepsAlive = keepsAlive
  }

  /** A turn must not throw. What waits already keeps its place. */
  add(taker: TurnTaker): void {
    if (this.#waiting.has(taker)) return
    this.#waiting.set(taker, performance.now())
    this.#timer ??= this.#nextTurn(this.#delayMs)
  }

  remove(taker: TurnTaker): void {
    this.#waiting.delete(taker)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #nextTurn(ms: number): NodeJS.Timeout {
    const timer = setTimeout(() => this.#turn(), ms)
    return this.#keepsAlive ? timer : timer.unref()
  }

  #turn(): void {
    const now = performance.now()
    this.#timer = undefined
    let count = 0
    for (const [taker, since] of this.#waiting) {
      const isEarly = now - since < this.#delayMs / 2
      if (isEarly || count++ === maxAtOnce) {
        this.#timer ??= this.#nextTurn(isEarly ? since + this.#delayMs - now : 0)
        return
      }
      this.#waiting.delete(taker)
      taker.takeTurn()
    }
  }
}
