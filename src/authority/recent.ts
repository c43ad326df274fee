/** A cache of values by text with a maximum size; the value that was not used for the longest time is removed first. */
export class Recent<Value> {
  readonly #most: number
  readonly #values = new Map<string, Value>()

  constructor(most: number) {
    this.#most = most
  }

  /** Returns the value for a key. If `make` throws, nothing is stored. */
  get(key: string, make: () => Value): Value {
    const known = this.#values.get(key)
    const value = known === undefined ? make() : known
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value ?? '')
    return value
  }
}
