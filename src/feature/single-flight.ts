/**
 * One look for all who ask for the same thing in one moment: hundreds of sessions that begin together on one workspace find the same
 * files there. It begins when everybody has asked, and whoever asks once it has begun causes another: nobody is told what was before
 * they asked, so that a file that was changed is seen by every session that is begun after the change.
 */
export class SingleFlight<Found> {
  readonly #asked = new Map<string, Promise<Found>>()

  /** `key` must hold everything that the answer depends on. The answer is handed to all of them, and nobody may change it. */
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
