/**
 * When to try again: at once the first time, then after pauses that double. On the monotonic clock, which a fixed clock
 * of the host does not stop.
 */
export class Backoff {
  readonly #firstMs: number
  #failures = 0
  #dueAt = 0

  constructor(firstMs: number) {
    this.#firstMs = firstMs
  }

  /** How long it still is; 0 when it may be tried. */
  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#dueAt - performance.now()))
  }

  failed(): void {
    const pause = Math.min(this.#firstMs * 2 ** this.#failures, maxMs)
    this.#failures += 1
    this.#dueAt = performance.now() + pause
  }

  /** It answered a question; that it can be connected to is not enough, since it may die of every one. */
  succeeded(): void {
    this.#failures = 0
    this.#dueAt = 0
  }
}

const maxMs = 30_000
