/**
 * One look for all callers that ask for the same thing at one moment: hundreds of sessions that start together on one
 * workspace find the same files there. It starts when all of them have asked, and a caller that asks once it has
 * started causes another look: no caller gets an answer from before it asked, so that a changed file is seen by every
 * session that starts after the change.
 */
export class SingleFlight<Found> {
  readonly #asked = new Map<string, Promise<Found>>()

  /**
   * `key` must hold everything that the answer depends on. All callers get the same answer object, and none can change
   * it.
   */
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
