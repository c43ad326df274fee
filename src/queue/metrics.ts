import { createHistogram, type RecordableHistogram } from 'node:perf_hooks'
import { type Lane, laneNames } from '../tool/lane.js'
import type { LaneDepth } from './engine.js'

/** The outcomes of calls. `submitted` is the sum of the next three and of the calls that are still in progress. */
export type CallCounter = 'submitted' | 'completed' | 'failed' | 'cancelled' | 'retried' | 'dead_lettered'

/** The counters of a queue. */
export type QueueMetrics = {
  readonly counters: Readonly<Record<string, number>>
  readonly gauges: Readonly<Record<string, number>>
  /** Durations, in milliseconds. */
  readonly histograms: Readonly<Record<string, HistogramFigures>>
}
/** Figures of a distribution. */
export type HistogramFigures = {
  readonly count: number
  readonly sum: number
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
}

/** Counts what happens in the lanes. Memory does not grow with the calls. */
export class LaneMetrics {
  readonly #counters = new Map<string, number>()
  readonly #histograms = new Map<string, Histogram>()

  count(what: CallCounter, lane: Lane): void {
    for (const name of [`lane.commands.${what}`, `lane.commands.${what}.${lane}`])
      this.#counters.set(name, (this.#counters.get(name) ?? 0) + 1)
  }

  /** Records how long a call waited for a slot, or ran. */
  time(what: 'wait_ms' | 'duration_ms', lane: Lane, ms: number): void {
    const name = `lane.commands.${what}.${lane}`
    const known = this.#histograms.get(name) ?? new Histogram()
    this.#histograms.set(name, known)
    known.record(ms)
  }

  figures(depth: (lane: Lane) => LaneDepth, externalPending: number): QueueMetrics {
    const gauges: Record<string, number> = { 'lane.external.pending': externalPending }
    for (const lane of laneNames) {
      const { waiting, active } = depth(lane)
      gauges[`lane.queue.depth.${lane}`] = waiting
      gauges[`lane.queue.active.${lane}`] = active
    }
    return {
      counters: Object.fromEntries(this.#counters),
      gauges,
      histograms: Object.fromEntries([...this.#histograms].map(([name, one]) => [name, one.figures()])),
    }
  }
}

/** Stores whole microseconds, which Node's histogram requires, with a precision of two significant digits. */
class Histogram {
  readonly #kept: RecordableHistogram = createHistogram({ lowest: 1, highest: longest, figures: 2 })
  #sum = 0

  record(ms: number): void {
    this.#sum += ms
    this.#kept.record(Math.min(longest, Math.max(1, Math.round(ms * 1_000))))
  }

  figures(): HistogramFigures {
    const { count, min, max } = this.#kept
    const at = (part: number): number => this.#kept.percentile(part) / 1_000
    return {
      count,
      sum: this.#sum,
      min: min / 1_000,
      max: max / 1_000,
      mean: count === 0 ? 0 : this.#sum / count,
      p50: at(50),
      p90: at(90),
      p95: at(95),
      p99: at(99),
    }
  }
}

/** One day, in microseconds. */
const longest = 86_400_000_000
