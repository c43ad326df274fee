import type { RunRow } from '../../store/records.js'
import { toleranceMs } from './due-times.js'

/** The fires of one schedule in its log, made by any node. */
export class FiredTimes {
  readonly #times = new Set<number>()
  #latest: number | undefined

  constructor(runs: Iterable<RunRow> = []) {
    for (const { trigger } of runs) if (trigger?.source === 'schedule') this.add(trigger.fired_at)
  }

  add(time: number): void {
    if (!Number.isFinite(time)) return
    this.#times.add(time)
    this.#latest = Math.max(this.#latest ?? time, time)
    if (this.#times.size <= maxKept) return
    const [oldest = time] = this.#times
    this.#times.delete(oldest)
  }

  get latest(): number | undefined {
    return this.#latest
  }

  /**
   * Whether this fire or a later one was made. A fire too far in the future is ignored, because the clock of its node
   * was wrong.
   */
  has(time: number, now: number): boolean {
    if (this.#times.has(time)) return true
    return this.#latest !== undefined && time < this.#latest && this.#latest <= now + toleranceMs
  }
}

const maxKept = 1_000
