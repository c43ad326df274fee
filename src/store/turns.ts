/** What takes turns: a log to be synced, a journal with records to be written, a session that waits for its user. */
export type TurnTaker = { takeTurn(): void }

type TurnOptions = {
  /** The process does not end before the work is done. */
  readonly keepsAlive?: boolean
  /** So many take their turn at once, and then other work: for turns that take long. Default: all. */
  readonly maxAtOnce?: number
}

/**
 * Lets sessions do work that no caller waits for, with one timer for all of them. Each waits for at most the delay. A
 * turn takes with it everything that has waited for half of it, so that much is done together and what comes meanwhile
 * still has time to join.
 */
export class Turns {
  readonly #delayMs: number
  readonly #options: TurnOptions
  /** When each began to wait, the oldest first. */
  readonly #waiting = new Map<TurnTaker, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(delayMs: number, options: TurnOptions = {}) {
    this.#delayMs = delayMs
    this.#options = options
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
    return this.#options.keepsAlive ? timer : timer.unref()
  }

  #turn(): void {
    const now = performance.now()
    this.#timer = undefined
    let count = 0
    for (const [taker, since] of this.#waiting) {
      const isEarly = now - since < this.#delayMs / 2
      if (isEarly || count++ === this.#options.maxAtOnce) {
        this.#timer ??= this.#nextTurn(isEarly ? since + this.#delayMs - now : 0)
        return
      }
      this.#waiting.delete(taker)
      taker.takeTurn()
    }
  }
}
