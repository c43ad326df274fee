/** What frozenCopy made: frozen all the way down. */
const copies = new WeakSet<object>()

/**
 * A copy of plain data that cannot change: what a tool publishes is shared by every definition, prompt and grant. What it made
 * before is given back as it is.
 */
export function frozenCopy<Value>(value: Value): Value {
  return copy(value) as Value
}

/** Whether a value came from {@link frozenCopy}, so that what is derived from it may be kept. */
export function isFrozenCopy(value: object): boolean {
  return copies.has(value)
}

function copy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || copies.has(value)) return value
  const made = Array.isArray(value)
    ? value.map(copy)
    : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copy(member)]))
  copies.add(made)
  return Object.freeze(made)
}
