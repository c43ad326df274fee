const maxAtOnce = 100

/** Calls functions again and again with one timer for all of them, which does not keep the process alive. */
export class Heartbeats {
  readonly #intervalMs: number
  readonly #beats = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** A beat must not throw. */
  add(beat: () => void): void {
    this.#beats.add(beat)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => this.#beatAll([...this.#beats]), this.#intervalMs)
    this.#timer.unref()
  }

  /** A few at a time: a beat writes to the disk's cache, and other work must not wait for thousands of them. */
  #beatAll(beats: (() => void)[]): void {
    for (const beat of beats.splice(0, maxAtOnce)) if (this.#beats.has(beat)) beat()
    if (beats.length > 0) setImmediate(() => this.#beatAll(beats)).unref()
  }

  remove(beat: () => void): void {
    this.#beats.delete(beat)
    if (this.#beats.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
