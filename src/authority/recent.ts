/** What was made for a text, as long as it was asked for lately: so many at most, and what was not asked for longest goes first. */
export class Recent<Value> {
  readonly #most: number
  readonly #kept = new Map<string, Value>()

  constructor(most: number) {
    this.#most = most
  }

  /** What cannot be made is not kept. */
  get(key: string, make: () => Value): Value {
    const known = this.#kept.get(key)
    const value = known === undefined ? make() : known
    this.#kept.delete(key)
    this.#kept.set(key, value)
    if (this.#kept.size > this.#most) this.#kept.delete(this.#kept.keys().next().value ?? '')
    return value
  }
}
