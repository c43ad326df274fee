/** Objects that `frozenCopy` made: frozen at every level. */
const copies = new WeakSet<object>()

/**
 * Returns a deeply frozen copy of plain data. What a tool publishes is shared by every definition, prompt and grant,
 * so it must not change. A value that this function made is returned unchanged.
 */
export function frozenCopy<Value>(value: Value): Value {
  return copy(value) as Value
}

/** Returns whether a value came from {@link frozenCopy}, so that results derived from it can be cached. */
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
