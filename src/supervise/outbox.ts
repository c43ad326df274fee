import type { AhpEvent } from './protocol.js'

/**
 * Events that are not sent yet. If a supervisor is disconnected for long, the oldest are dropped, to limit memory.
 */
export class Outbox {
  #events: AhpEvent[] = []
  /** The number of dropped events. */
  dropped = 0

  get size(): number {
    return this.#events.length
  }

  add(event: AhpEvent): void {
    this.#events.push(event)
    if (this.#events.length <= maxKept) return
    this.#events.shift()
    this.dropped += 1
  }

  take(most: number): AhpEvent[] {
    return this.#events.splice(0, most)
  }
}

const maxKept = 1_000
