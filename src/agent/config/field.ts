import { omitUndefined } from '../../tool/omit-undefined.js'
import type { Item, Value } from './acl/ast.js'
import { describeUnknown, type Reading, type Spot } from './reading.js'

/** A kind of value. `read` returns undefined for an invalid value, and reports the problem. */
export interface Kind<T> {
  /** Describes the expected value; it follows "must be" in messages. */
  readonly expects: string
  read(value: Value, spot: Spot, reading: Reading): T | undefined
  /** Reads all declarations of a field together, for fields that can be declared several times. */
  readAll?(items: readonly Item[], spot: Spot, reading: Reading): T | undefined
  /** The fields one level down; with `named`, those of each named entry. */
  readonly fields?: Table
  readonly named?: true
  readonly hidden?: Hidden
}

/**
 * Why a value must not be shown: it is a secret, an object whose values are secrets, a URL with parts that can contain
 * a key, or a value that can contain a secret but is too common to search for in other text.
 */
export type Hidden = 'secret' | 'secrets' | 'address' | 'private'

export type Field<T> = {
  readonly kind: Kind<T>
  /** The meaning of the field, for the documentation. */
  readonly means: string
  /** Other names, in addition to the camelCase and snake_case forms of its own name. */
  readonly aliases: readonly string[]
}

/** The fields of a configuration object: one entry for each member of its type, so that the two cannot diverge. */
export type Shape<T> = { readonly [K in keyof T]-?: Field<Exclude<T[K], undefined>> }

export type Table = Readonly<Record<string, Field<unknown>>>

export function field<T>(kind: Kind<T>, means: string, ...aliases: string[]): Field<T> {
  return { kind, means, aliases }
}

/**
 * Reads the members of an object or block by their table. Unknown members cause a warning; if a field is repeated, the
 * last one is used.
 */
export function readFields<T extends object>(
  shape: Shape<T>,
  items: readonly Item[],
  spot: Spot,
  reading: Reading,
): Partial<T> {
  const keys = keysOf(shape)
  const given = new Map<keyof T, Item[]>()
  for (const item of items) {
    const key = keys.get(item.name)
    if (key === undefined) {
      const at = item.span === undefined ? spot : { ...spot, span: item.span }
      reading.warn(at, () => describeUnknown(item.name, at, [...keys.keys()]))
    } else {
      const earlier = given.get(key)
      if (earlier === undefined) given.set(key, [item])
      else earlier.push(item)
    }
  }
  const read: Partial<T> = {}
  for (const [key, declared] of given) readInto(read, key, shape[key], declared, spot, reading)
  return read
}

function readInto<T extends object, K extends keyof T>(
  target: Partial<T>,
  key: K,
  { kind }: Field<Exclude<T[K], undefined>>,
  declared: readonly Item[],
  parent: Spot,
  reading: Reading,
): void {
  const last = declared.at(-1)
  if (last === undefined) return
  const spot = below(parent, last)
  if (declared.length > 1 && kind.readAll === undefined) {
    reading.warn(spot, `${spot.path} is given ${declared.length} times; the last one is used`)
  }
  const value = kind.readAll ? kind.readAll(declared, spot, reading) : readItem(kind, last, spot, reading)
  if (value !== undefined) target[key] = value
}

function readItem<T>(kind: Kind<T>, item: Item, spot: Spot, reading: Reading): T | undefined {
  if (item.type === 'attribute') return readValue(kind, item.value, spot, reading)
  const [label, ...more] = item.labels
  if (label === undefined) return readValue(kind, item.body, spot, reading)
  // `default_model "provider/model" {}` means `default_model = "provider/model"`.
  if (more.length === 0 && item.body.items.length === 0 && kind.fields === undefined) {
    return readValue(
      kind,
      { type: 'text', value: label.text, ...omitUndefined({ span: label.span }) },
      spot,
      reading,
    )
  }
  reading.fail(spot, `${spot.path} takes no label`)
  return undefined
}

/** Reads one value: calls are evaluated, `null` means no value. */
export function readValue<T>(kind: Kind<T>, value: Value, spot: Spot, reading: Reading): T | undefined {
  const at = value.span === undefined ? spot : { ...spot, span: value.span }
  const found = value.type === 'call' ? reading.evaluate(value, at) : value
  return found === undefined || found.type === 'null' ? undefined : kind.read(found, at, reading)
}

/** All names of a field, the ACL name first. */
export function spellings(key: string, { aliases }: Field<unknown>): string[] {
  return [...new Set([key, ...aliases].flatMap((name) => [snakeCase(name), camelCase(name)]))]
}

const known = new WeakMap<object, ReadonlyMap<string, unknown>>()

function keysOf<T extends object>(shape: Shape<T>): ReadonlyMap<string, keyof T> {
  const cached = known.get(shape)
  if (cached !== undefined) return cached as ReadonlyMap<string, keyof T>
  const keys = new Map<string, keyof T>()
  for (const [key, declared] of Object.entries<Field<unknown>>(shape)) {
    for (const name of spellings(key, declared)) keys.set(name, key as keyof T)
  }
  known.set(shape, keys)
  return keys
}

/** The position of a member. The name is one from the table, so it can be shown. */
function below({ path }: Spot, { name, span }: Item): Spot {
  return { path: path === '' ? name : `${path}.${name}`, ...omitUndefined({ span }) }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
