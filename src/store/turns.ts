/**
 * Work that waits for its turn: a log to be synced, a journal with records to be written, a session that waits for its
 * user.
 */
export type TurnTaker = { takeTurn(): void }

type TurnOptions = {
  /** Whether the timer keeps the process alive until the work is done. */
  readonly keepsAlive?: boolean
  /** The maximum number of turns before other work runs, for turns that take long. Default: all. */
  readonly maxAtOnce?: number
}

/**
 * Runs deferred work of many sessions, for which no caller waits, with one timer. Nothing waits longer than the delay.
 * A turn also runs all work that has waited for at least half of the delay, so that much is done together and new work
 * still has time to join the next turn.
 */
export class Turns {
  readonly #delayMs: number
  readonly #options: TurnOptions
  /** When each taker began to wait, the oldest first. */
  readonly #waiting = new Map<TurnTaker, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(delayMs: number, options: TurnOptions = {}) {
    this.#delayMs = delayMs
    this.#options = options
  }

  /** Adds a taker, whose turn must not throw. One that already waits keeps its place. */
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
