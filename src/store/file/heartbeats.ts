const maxAtOnce = 100

/** Something whose lease must be renewed. */
export type Living = { beat(): void }

/** Calls `beat` at an interval, with one timer for all sessions that does not keep the process alive. */
export class Heartbeats {
  readonly #intervalMs: number
  readonly #living = new Set<Living>()
  #timer: NodeJS.Timeout | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Adds an object whose `beat` must not throw. */
  add(one: Living): void {
    this.#living.add(one)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#beatAll([...this.#living]), this.#intervalMs)
    this.#timer.unref()
  }

  /**
   * Processes a few at a time: a beat writes to the disk's cache, and other work must not wait for thousands of them.
   */
  #beatAll(all: Living[]): void {
    for (const one of all.splice(0, maxAtOnce)) if (this.#living.has(one)) one.beat()
    if (all.length > 0) setImmediate(() => this.#beatAll(all)).unref()
  }

  remove(one: Living): void {
    this.#living.delete(one)
    if (this.#living.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
