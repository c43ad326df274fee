import { type Lane, laneNames } from '../tool/lane.js'

export type QueueAlert = {
  readonly level: 'warning' | 'critical'
  readonly alertType: 'queue_depth' | 'dead_letters_full'
  readonly message: string
  readonly lane: Lane
}

/**
 * Reports when a lane is crowded: once when the threshold is reached, and again only after the lane was half empty.
 */
export class DepthAlerts {
  readonly #warning: number
  readonly #reported = new Map<Lane, number>(laneNames.map((lane) => [lane, 0]))

  constructor(warning: number) {
    this.#warning = warning
  }

  see(lane: Lane, waiting: number): QueueAlert | undefined {
    const reported = this.#reported.get(lane) ?? 0
    const level = waiting >= this.#warning * 2 ? 2 : waiting >= this.#warning ? 1 : 0
    if (waiting < this.#warning / 2) this.#reported.set(lane, 0)
    if (level <= reported) return undefined
    this.#reported.set(lane, level)
    return {
      level: level === 2 ? 'critical' : 'warning',
      alertType: 'queue_depth',
      lane,
      message: `${waiting} calls wait in the lane '${lane}'. More concurrency, more workers or fewer calls help.`,
    }
  }
}
