/**
 * Begins the syncs of logs that no caller waits for, with one timer for all logs of a store, which does not keep the
 * process alive. A log waits for at most the delay. A turn takes with it every log that has waited for half of it, so
 * that many logs are synced together and the next write of each still has time to join.
 */
export class SyncTurns {
  readonly #delayMs: number
  /** When each log began to wait, the oldest first. */
  readonly #waiting = new Map<() => void, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(delayMs: number) {
    this.#delayMs = delayMs
  }

  /** A sync must not throw. One that waits already keeps its place. */
  add(sync: () => void): void {
    if (this.#waiting.has(sync)) return
    this.#waiting.set(sync, performance.now())
    this.#timer ??= this.#nextTurn(this.#delayMs)
  }

  remove(sync: () => void): void {
    this.#waiting.delete(sync)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #nextTurn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#turn(), ms).unref()
  }

  #turn(): void {
    const now = performance.now()
    this.#timer = undefined
    for (const [sync, since] of this.#waiting) {
      if (now - since < this.#delayMs / 2) {
        this.#timer = this.#nextTurn(since + this.#delayMs - now)
        return
      }
      this.#waiting.delete(sync)
      sync()
    }
  }
}
