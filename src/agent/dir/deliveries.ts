import type { ScheduleClock } from './schedule-clock.js'
import type { FireReport } from './serve-events.js'
import type { ServingOptions } from './serve-options.js'

export type DeliveriesParts = {
  readonly onResult: ServingOptions['onResult']
  readonly clock: ScheduleClock
  failed(report: FireReport, error: unknown): void
}

/** Reports that the host is given, and those that it is just taking. */
export class Deliveries {
  readonly #parts: DeliveriesParts
  readonly #open = new Set<Promise<void>>()
  /** Aborted when nobody waits any more. */
  readonly #patience = new AbortController()

  constructor(parts: DeliveriesParts) {
    this.#parts = parts
  }

  give(report: FireReport): void {
    const delivery = this.#give(report).finally(() => this.#open.delete(delivery))
    this.#open.add(delivery)
  }

  async #give(report: FireReport): Promise<void> {
    try {
      await this.#parts.onResult?.(report)
    } catch (error) {
      this.#parts.failed(report, error)
    }
  }

  /** Until the host has all of them, or has had time enough: of several who wait the least patient counts. */
  async taken(withinMs: number): Promise<void> {
    const { signal } = this.#patience
    if (withinMs > 0 && this.#open.size > 0)
      await Promise.race([Promise.all(this.#open), this.#parts.clock.sleep(withinMs, signal)])
    this.#patience.abort()
  }
}
