import type { AhpEvent } from './protocol.js'

/** What is still to be told. A supervisor that is away for long misses the oldest of it, and never fills our memory. */
export class Outbox {
  #events: AhpEvent[] = []
  /** How many nobody was told. */
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
