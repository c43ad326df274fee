/**
 * Plain data as one flat list: each object or array is an entry with its keys or its length, followed by its values. A
 * waiting session stores its messages and events in this form. An object takes 24 bytes more than its values, an array
 * 48, and both are read again only at the next run, or when a host asks. Properties with symbol keys are left out.
 */
export type FlatValue = readonly unknown[]

/** Flattens a value. Returns undefined for a large value: writing and reading it would take noticeable time. */
export function flatten(value: unknown): FlatValue | undefined {
  const flat: unknown[] = []
  write(value, flat, 0)
  // A copy, without the spare capacity that a growing array reserves.
  return flat.length > maxEntries ? undefined : flat.slice()
}

/** Restores the value, in new objects. */
export function unflatten(flat: FlatValue): unknown {
  return read(flat, { at: 0 })
}

const maxEntries = 4_096
const maxDepth = 16
const maxSharedLength = 80

/** The keys of an object, with values that many objects of its kind share: its type, flags. */
class Keys {
  readonly names: readonly string[]
  readonly values: readonly unknown[]

  constructor(names: readonly string[], values: readonly unknown[]) {
    this.names = names
    this.values = values
  }
}

/** The placeholder for a value that comes after the keys. */
const follows = Symbol('follows')

/** The length of an array. */
class Length {
  readonly length: number

  constructor(length: number) {
    this.length = length
  }
}

function write(value: unknown, flat: unknown[], depth: number): void {
  if (flat.length > maxEntries) return
  if (typeof value === 'string' && value.length <= maxSharedLength) share(value)
  if (typeof value !== 'object' || value === null || depth === maxDepth) {
    flat.push(value)
    return
  }
  if (Array.isArray(value)) {
    flat.push(lengthOf(value.length))
    for (const item of value) write(item, flat, depth + 1)
    return
  }
  const keys = Object.getPrototypeOf(value) === Object.prototype ? keysOf(value) : undefined
  flat.push(keys ?? value)
  if (keys === undefined) return
  for (const [at, name] of keys.names.entries())
    if (keys.values[at] === follows) write(value[name as keyof typeof value], flat, depth + 1)
}

function read(flat: FlatValue, place: { at: number }): unknown {
  const entry = flat[place.at++]
  if (entry instanceof Length) {
    const items: unknown[] = []
    for (let count = entry.length; count > 0; count--) items.push(read(flat, place))
    return items
  }
  if (!(entry instanceof Keys)) return entry
  const value: Record<string, unknown> = {}
  for (const [at, name] of entry.names.entries()) {
    const known = entry.values[at]
    value[name] = known === follows ? read(flat, place) : known
  }
  return value
}

/**
 * Makes equal strings of all sessions share memory: V8 stores each property name once. A substring then no longer keeps
 * the larger string that it was cut from in memory.
 */
export function share(text: string): void {
  if (names.count++ > maxNames) names = { count: 0, table: Object.create(null) }
  names.table[text] = undefined
}

let names: { count: number; readonly table: Record<string, unknown> } = {
  count: 0,
  table: Object.create(null),
}
const maxNames = 2_000

const lengths: Length[] = []

function lengthOf(length: number): Length {
  if (length > maxSharedLength) return new Length(length)
  lengths[length] ??= new Length(length)
  return lengths[length]
}

/** Keys by their names. Bounded, because a model can write any keys in arguments. */
const known = new Map<string, Keys>()
const maxKnown = 1_000
const maxKeys = 32

/** Returns the shared keys of an object; undefined when it has too many or new keys and is stored as it is. */
function keysOf(value: object): Keys | undefined {
  const names = Object.keys(value)
  const values: unknown[] = []
  let text = ''
  for (const name of names) {
    const one: unknown = value[name as keyof typeof value]
    const isKnown = isUsual(name, one)
    values.push(isKnown ? one : follows)
    text += isKnown ? `${name}=${String(one)},` : `${name},`
  }
  const there = known.get(text)
  if (there !== undefined)
    return isSame(there.names, names) && isSame(there.values, values) ? there : undefined
  if (names.length > maxKeys || known.size >= maxKnown || names.includes('__proto__')) return undefined
  const keys = new Keys(names, values)
  known.set(text, keys)
  return keys
}

/** Whether this key usually has one of a few values. */
function isUsual(name: string, value: unknown): boolean {
  if (typeof value === 'string') return (name === 'type' || name === 'role') && value.length <= maxTypeLength
  return typeof value === 'boolean' || value === undefined || value === null
}

const maxTypeLength = 32

function isSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at])
}
