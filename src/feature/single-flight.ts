/**
 * Shares one lookup between callers that ask for the same key in the same turn of the event loop, such as hundreds of
 * sessions that start together on one workspace. A caller that asks after the lookup has started causes another one, so
 * no caller gets an answer that is older than its question: a session sees every file change made before its start.
 */
export class SingleFlight<Found> {
  readonly #asked = new Map<string, Promise<Found>>()

  /** `key` must contain everything that the answer depends on. All callers get the same immutable answer object. */
  ask(key: string, look: () => Found | Promise<Found>): Promise<Found> {
    const known = this.#asked.get(key)
    if (known !== undefined) return known
    const found = Promise.resolve().then(() => {
      this.#asked.delete(key)
      return look()
    })
    this.#asked.set(key, found)
    return found
  }
}
