import type { RunRow, RunTrigger } from '../../store/records.js'
import { toleranceMs } from './due-times.js'

/** The fires of one schedule that its log contains, made by any node. */
export class FiredTimes {
  readonly #times = new Set<number>()
  /** Wake-ups and webhook deliveries, which are not necessarily made in the order of their times. */
  readonly #others = new Set<string>()
  #latest: number | undefined

  constructor(runs: Iterable<RunRow> = []) {
    for (const { trigger } of runs) if (trigger !== undefined) this.add(trigger)
  }

  add(trigger: RunTrigger): void {
    const { source, fired_at: time } = trigger
    const other = otherName(trigger)
    if (other !== undefined) addBounded(this.#others, other)
    if (source !== 'schedule' || !Number.isFinite(time)) return
    this.#latest = Math.max(this.#latest ?? time, time)
    addBounded(this.#times, time)
  }

  get latest(): number | undefined {
    return this.#latest
  }

  /**
   * Whether this fire, or a later one of the cron pattern, was made. A fire too far in the future is ignored, because
   * the clock of its node was wrong.
   */
  has(trigger: RunTrigger, now: number): boolean {
    const other = otherName(trigger)
    if (other !== undefined) return this.#others.has(other)
    const { fired_at: time } = trigger
    if (this.#times.has(time)) return true
    return this.#latest !== undefined && time < this.#latest && this.#latest <= now + toleranceMs
  }
}

function otherName({ source, fired_at: time, delivery }: RunTrigger): string | undefined {
  return delivery ?? (source === 'wake_up' ? `wake-up ${time}` : undefined)
}

function addBounded<Value>(all: Set<Value>, value: Value): void {
  all.add(value)
  const [oldest] = all
  if (all.size > maxKept && oldest !== undefined) all.delete(oldest)
}

const maxKept = 1_000
