/** Events of runs that a client reads in batches, at its own speed. */
export class RunStreams {
  readonly #streams = new Map<number, RunStream>()
  #lastId = 0

  /** Gives the id under which the client asks for the events. */
  add(source: AsyncIterator<unknown, unknown>): number {
    this.#lastId += 1
    this.#streams.set(this.#lastId, { source, next: undefined })
    return this.#lastId
  }

  /** Waits for at least one event, unless the stream has ended, and gives those that are there, up to a limit. */
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

  /** Ends a stream; one that owns its run cancels it. */
  async close(id: number): Promise<void> {
    const stream = this.#streams.get(id)
    this.#streams.delete(id)
    await stream?.source.return?.()
  }
}

type RunStream = {
  readonly source: AsyncIterator<unknown, unknown>
  /** Asked for, and not given to the client yet. */
  next: Promise<IteratorResult<unknown, unknown>> | undefined
}

/** So many events fit in one answer. */
const maxBatch = 256

/** The result when it is there already; undefined when it must be waited for. */
async function ready<Result>(promise: Promise<Result>): Promise<Result | undefined> {
  const later = new Promise<undefined>((resolve) => setImmediate(() => resolve(undefined)))
  return Promise.race([promise, later])
}
