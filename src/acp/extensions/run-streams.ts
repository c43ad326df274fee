/** Events of runs that a client reads in batches, at its own speed. */
export class RunStreams {
  readonly #streams = new Map<number, RunStream>()
  #lastId = 0

  /** Adds a stream. Returns the id with which the client requests its events. */
  add(source: AsyncIterator<unknown, unknown>): number {
    this.#lastId += 1
    this.#streams.set(this.#lastId, { source, next: undefined })
    return this.#lastId
  }

  /** Waits for at least one event, unless the stream has ended, and returns the available ones, up to a limit. */
  async next(id: number): Promise<{ readonly events: readonly unknown[]; readonly done: boolean }> {
    const stream = this.#streams.get(id)
    if (stream === undefined) return { events: [], done: true }
    const events: unknown[] = []
    while (events.length < maxBatch) {
      stream.next ??= stream.source.next()
      const result = events.length === 0 ? await stream.next : await ready(stream.next)
      if (result === undefined) break
      stream.next = undefined
      if (result.done === true) {
        this.#streams.delete(id)
        return { events, done: true }
      }
      events.push(result.value)
    }
    return { events, done: false }
  }

  /** Closes a stream; a stream that owns its run cancels it. */
  async close(id: number): Promise<void> {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    await stream?.source.return?.()
  }
}

type RunStream = {
  readonly source: AsyncIterator<unknown, unknown>
  /** Requested from the source, and not returned to the client yet. */
  next: Promise<IteratorResult<unknown, unknown>> | undefined
}

/** The maximum number of events in one answer. */
const maxBatch = 256

/** Returns the result if it is available already; otherwise undefined. */
async function ready<Result>(promise: Promise<Result>): Promise<Result | undefined> {
  const later = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
  return Promise.race([promise, later])
}
