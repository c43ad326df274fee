import type { ScheduleClock } from './schedule-clock.js'
import type { FireReport } from './serve-events.js'
import type { ServingOptions } from './serve-options.js'

/** Delivers reports to the host, and waits for the deliveries in progress. */
export class Deliveries {
  readonly #onResult: ServingOptions['onResult']
  readonly #clock: ScheduleClock
  readonly #failed: (report: FireReport, error: unknown) => void
  readonly #open = new Set<Promise<void>>()
  /** Aborted when no caller waits for deliveries any more. */
  readonly #patience = new AbortController()

  constructor(
    onResult: ServingOptions['onResult'],
    clock: ScheduleClock,
    failed: (report: FireReport, error: unknown) => void,
  ) {
    this.#onResult = onResult
    this.#clock = clock
    this.#failed = failed
  }

  give(report: FireReport): void {
    const delivery = this.#give(report).finally(() => this.#open.delete(delivery))
    this.#open.add(delivery)
  }

  async #give(report: FireReport): Promise<void> {
    try {
      await this.#onResult?.(report)
    } catch (error) {
      this.#failed(report, error)
    }
  }

  /**
   * Resolves when all reports are delivered, or after the time limit. If several callers wait, the shortest limit
   * applies.
   */
  async taken(withinMs: number): Promise<void> {
    const { signal } = this.#patience
    if (withinMs > 0 && this.#open.size > 0)
      await Promise.race([Promise.all(this.#open), this.#clock.sleep(withinMs, signal)])
    this.#patience.abort()
  }
}
