import type { Item, Value } from './acl/ast.js'
import { describeUnknown, type Reading, type Spot } from './reading.js'

/** A kind of value: how it is read, and how it is told. Reading gives undefined where nothing usable was found, and says why. */
export interface Kind<T> {
  /** What is expected, as it follows "must be". */
  readonly expects: string
  read(value: Value, spot: Spot, reading: Reading): T | undefined
  /** For what may be declared many times: reads all declarations together. */
  readAll?(items: readonly Item[], spot: Spot, reading: Reading): T | undefined
  /** What is inside, one level down; with `named`, inside each of the things that the user gave a name. */
  readonly fields?: Table
  readonly named?: true
  readonly hidden?: Hidden
}

/**
 * What must not be shown: a secret, an object whose values are secrets, the parts of an address that may hold a key, or what is too
 * ordinary to be searched for as a secret and may hold one all the same.
 */
export type Hidden = 'secret' | 'secrets' | 'address' | 'private'

export type Field<T> = {
  readonly kind: Kind<T>
  /** What it means, for people. */
  readonly means: string
  /** Further names, beside the camelCase and snake_case of its own. */
  readonly aliases: readonly string[]
}

/** The fields of a configuration object: one entry for each member of its type, so that neither can drift from the other. */
export type Shape<T> = { readonly [K in keyof T]-?: Field<Exclude<T[K], undefined>> }

export type Table = Readonly<Record<string, Field<unknown>>>

export function field<T>(kind: Kind<T>, means: string, ...aliases: string[]): Field<T> {
  return { kind, means, aliases }
}

/** Reads the members of an object or block by their table. Unknown members are warned about; of a field given twice the last counts. */
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
    reading.warn(spot, `${spot.path} is given ${declared.length} times; the last counts`)
  }
  const value = kind.readAll ? kind.readAll(declared, spot, reading) : readItem(kind, last, spot, reading)
  if (value !== undefined) target[key] = value
}

function readItem<T>(kind: Kind<T>, item: Item, spot: Spot, reading: Reading): T | undefined {
  if (item.type === 'attribute') return readValue(kind, item.value, spot, reading)
  const [label, ...more] = item.labels
  if (label === undefined) return readValue(kind, item.body, spot, reading)
  // `default_model "provider/model" {}` says the same as `default_model = "provider/model"`.
  if (more.length === 0 && item.body.items.length === 0 && kind.fields === undefined) {
    return readValue(
      kind,
      { type: 'text', value: label.text, ...(label.span && { span: label.span }) },
      spot,
      reading,
    )
  }
  reading.fail(spot, `${spot.path} takes no label`)
  return undefined
}

/** Reads one value: calls are evaluated, `null` means that nothing is given. */
export function readValue<T>(kind: Kind<T>, value: Value, spot: Spot, reading: Reading): T | undefined {
  const at = value.span === undefined ? spot : { ...spot, span: value.span }
  const found = value.type === 'call' ? reading.evaluate(value, at) : value
  return found === undefined || found.type === 'null' ? undefined : kind.read(found, at, reading)
}

/** Every name that a field answers to, the one for ACL first. */
export function spellings(key: string, { aliases }: Field<unknown>): string[] {
  return [...new Set([key, ...aliases].flatMap((name) => [snakeCase(name), camelCase(name)]))]
}

const known = new WeakMap<object, ReadonlyMap<string, unknown>>()

function keysOf<T extends object>(shape: Shape<T>): ReadonlyMap<string, keyof T> {
  const kept = known.get(shape)
  if (kept !== undefined) return kept as ReadonlyMap<string, keyof T>
  const keys = new Map<string, keyof T>()
  for (const [key, declared] of Object.entries<Field<unknown>>(shape)) {
    for (const name of spellings(key, declared)) keys.set(name, key as keyof T)
  }
  known.set(shape, keys)
  return keys
}

/** A member's spot. Its name is one of the table, so it can be said. */
function below({ path }: Spot, { name, span }: Item): Spot {
  return { path: path === '' ? name : `${path}.${name}`, ...(span && { span }) }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
