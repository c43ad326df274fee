/** Seconds until a server that failed is tried again, by how often it has; the last one holds from then on. */
const delays = [1, 2, 5, 15, 60]

/** When to try again. Uses the monotonic clock, because the system clock can stop or jump. */
export class Backoff {
  #failures = 0
  #dueAt = 0

  get isDue(): boolean {
    return performance.now() >= this.#dueAt
  }

  failed(): void {
    const seconds = delays[Math.min(this.#failures, delays.length - 1)] ?? 60
    this.#failures++
    this.#dueAt = performance.now() + seconds * 1_000
  }

  /** It did what it is for. That it can be connected to is not enough: it may die of every call. */
  succeeded(): void {
    this.#failures = 0
  }
}
