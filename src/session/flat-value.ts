import { deflateRawSync, inflateRawSync } from 'node:zlib'

/**
 * Plain data in a smaller form, in which a waiting session stores its messages and events. It is read again only at the
 * next run, or when a host asks. Properties with symbol keys are left out.
 *
 * The value becomes one flat list: each object or array is an entry with its keys or its length, followed by its
 * values. The list is compressed to one string with a character for each byte. If it contains values that JSON does not
 * have, or if compressing it would take noticeable time, the list itself is stored: an object then takes 24 bytes more
 * than its values, an array 48.
 */
export type FlatValue = string | readonly unknown[]

/** Flattens a value. Returns undefined for a large value: writing and reading it would take noticeable time. */
export function flatten(value: unknown): FlatValue | undefined {
  const flat: unknown[] = []
  write(value, flat, 0)
  if (flat.length > maxEntries) return undefined
  const packed = pack(flat)
  if (packed !== undefined) return packed
  for (const entry of flat) if (typeof entry === 'string' && entry.length <= maxSharedLength) share(entry)
  // A copy, without the spare capacity that a growing array reserves.
  return flat.slice()
}

/** Restores the value, in new objects. */
export function unflatten(flat: FlatValue): unknown {
  return read(typeof flat === 'string' ? unpack(flat) : flat, { at: 0 })
}

const maxEntries = 4_096
const maxDepth = 16
const maxSharedLength = 80

/** The keys of an object, with values that many objects of its kind share: its type, flags. */
class Keys {
  /** The position in `keysByNumber`; undefined for keys of one object, whose values all come after them. */
  readonly number: number | undefined
  readonly names: readonly string[]
  readonly values: readonly unknown[]

  constructor(number: number | undefined, names: readonly string[], values: readonly unknown[]) {
    this.number = number
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

/** Entries of a list that JSON does not have: in the packed list, an array of one of these and what belongs to it. */
const mark = { keys: 0, length: 1, repeated: 2, undefined: 3, ownKeys: 4 } as const

/** In characters. Longer texts would delay other sessions by more than a millisecond. */
const maxPackedText = 65_536
const minRepeatedLength = 16
/** Of the usual window and tables, small texts use a part, and allocating all of them takes longer than compressing. */
const compression = { level: 3, memLevel: 6, windowBits: 14 }

/** Returns the list as one compressed string; undefined when it is too long or has values that JSON does not have. */
function pack(flat: readonly unknown[]): string | undefined {
  const entries: unknown[] = []
  const positions = new Map<string, number>()
  let length = 0
  for (const [at, entry] of flat.entries()) {
    const earlier = typeof entry === 'string' ? positions.get(entry) : undefined
    const packed = earlier === undefined ? packedEntry(entry) : [mark.repeated, earlier]
    if (packed === undefined) return undefined
    entries.push(packed)
    if (typeof packed !== 'string') continue
    length += packed.length
    if (length > maxPackedText) return undefined
    if (packed.length >= minRepeatedLength) positions.set(packed, at)
  }
  return deflateRawSync(JSON.stringify(entries), compression).toString('latin1')
}

function packedEntry(entry: unknown): unknown {
  if (entry instanceof Keys)
    return entry.number === undefined ? [mark.ownKeys, entry.names] : [mark.keys, entry.number]
  if (entry instanceof Length) return [mark.length, entry.length]
  if (entry === undefined) return [mark.undefined, 0]
  if (typeof entry === 'number') return Number.isFinite(entry) && !Object.is(entry, -0) ? entry : undefined
  return typeof entry === 'string' || typeof entry === 'boolean' || entry === null ? entry : undefined
}

function unpack(packed: string): readonly unknown[] {
  const text = inflateRawSync(Buffer.from(packed, 'latin1'), compression).toString()
  const flat: unknown[] = []
  for (const entry of JSON.parse(text) as unknown[])
    flat.push(Array.isArray(entry) ? unpackedEntry(entry as Marked, flat) : entry)
  return flat
}

type Marked =
  | [kind: typeof mark.ownKeys, names: string[]]
  | [kind: Exclude<(typeof mark)[keyof typeof mark], typeof mark.ownKeys>, number: number]

function unpackedEntry([kind, more]: Marked, flat: readonly unknown[]): unknown {
  if (kind === mark.ownKeys) return ownKeys(more)
  if (kind === mark.keys) return keysByNumber[more]
  if (kind === mark.length) return lengthOf(more)
  return kind === mark.repeated ? flat[more] : undefined
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
const keysByNumber: Keys[] = []
const maxKnown = 1_000
const maxKeys = 32

/** Returns the keys of an object, shared if possible; undefined when the object must be stored as it is. */
function keysOf(value: object): Keys | undefined {
  const names = Object.keys(value)
  if (names.includes('__proto__')) return undefined
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
    return isSame(there.names, names) && isSame(there.values, values) ? there : ownKeys(names)
  if (names.length > maxKeys || known.size >= maxKnown) return ownKeys(names)
  const keys = new Keys(keysByNumber.length, names, values)
  known.set(text, keys)
  keysByNumber.push(keys)
  return keys
}

function ownKeys(names: readonly string[]): Keys {
  return new Keys(
    undefined,
    names,
    names.map(() => follows),
  )
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
