/**
 * Decides when a failed operation is tried again: immediately the first time, then after pauses. Uses the monotonic
 * clock, because the system clock can stop or jump, and a host can fix the clock of a session.
 */
export class Backoff {
  readonly #pauseMs: (failures: number) => number
  #failures = 0
  #dueAt = 0

  /** `pauseMs` returns the pause after a failure, given the number of consecutive failures before it. */
  constructor(pauseMs: (failures: number) => number) {
    this.#pauseMs = pauseMs
  }

  /** The remaining pause in milliseconds; 0 when the next attempt is due. */
  get leftMs(): number {
    return Math.max(0, Math.ceil(this.#dueAt - performance.now()))
  }

  failed(): void {
    this.#dueAt = performance.now() + this.#pauseMs(this.#failures)
    this.#failures += 1
  }

  /**
   * Resets the pause. Call it after a successful call, not after a connection: the other side may fail at every call.
   */
  succeeded(): void {
    this.#failures = 0
    this.#dueAt = 0
  }
}

/** A pause that doubles with each failure, up to 30 seconds. */
export function doublingPause(firstMs: number): (failures: number) => number {
  return (failures) => Math.min(firstMs * 2 ** failures, 30_000)
}

/** The pause before a server that failed is started again: 1, 2, 5 and 15 seconds, then a minute each time. */
export function serverPause(failures: number): number {
  return [1_000, 2_000, 5_000, 15_000][failures] ?? 60_000
}
