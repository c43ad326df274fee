import { tryOr } from './errors.js'
import { maxJsonDepth } from './json-text.js'

/**
 * Returns a copy of arguments for code that must not change what runs: it can keep the copy and change it later.
 * Objects of a host's own classes cannot be copied and are returned unchanged. Throws `RangeError` for arguments that
 * are nested deeper than any real ones.
 */
export function copyArguments(value: unknown): unknown {
  return copyFlat(value) ?? copy(value, new Map(), 0)
}

/**
 * Copies a literal object without objects and functions inside, as the arguments of most tools are. Returns undefined
 * for any other value, also for one with a symbol as a key, which `copyArguments` does not copy.
 */
export function copyFlat(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.getPrototypeOf(value) !== Object.prototype) return undefined
  const made: Record<string, unknown> = { ...value }
  const members = Object.values(made)
  for (let at = 0; at < members.length; at++) {
    const member = members[at]
    // A function can be a `toJSON`, which is not copied.
    if ((typeof member === 'object' && member !== null) || typeof member === 'function') return undefined
  }
  return Object.getOwnPropertySymbols(made).length === 0 ? made : undefined
}

type Seen = Map<object, unknown>

function copy(value: unknown, seen: Seen, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  const known = seen.get(value)
  if (known !== undefined) return known
  if (depth > maxJsonDepth) throw new RangeError(`nested deeper than ${maxJsonDepth} levels`)
  const isList = Array.isArray(value)
  if (!isList && !isLiteral(value)) return copyOfClass(value, seen, depth)
  const made = isList ? new Array(value.length) : emptyLike(value)
  seen.set(value, made)
  for (const key of Object.keys(value)) {
    const read = (value as Record<string, unknown>)[key]
    // It would run each time the arguments are compared or shown, and could change them.
    if (key === 'toJSON' && typeof read === 'function') continue
    const member = copy(read, seen, depth + 1)
    // Assigning is several times cheaper, but a key that is inherited, such as `__proto__`, must become an own one.
    if (key in made)
      Object.defineProperty(made, key, {
        value: member,
        enumerable: true,
        writable: true,
        configurable: true,
      })
    else (made as Record<string, unknown>)[key] = member
  }
  return made
}

/** Objects that are created as literals are several times cheaper than those of `Object.create`. */
function emptyLike(value: object): object {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype ? {} : Object.create(prototype as object | null)
}

/** Returns whether an object is a literal, also one of another realm, such as a context of `node:vm`. */
function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Copies an object of a class of the language. A subclass is a host's own class, which can have other members. */
function copyOfClass(value: object, seen: Seen, depth: number): unknown {
  if (ArrayBuffer.isView(value)) return tryOr(() => copyOfView(value), value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (value instanceof Map && prototype === Map.prototype) {
    const made = new Map<unknown, unknown>()
    seen.set(value, made)
    for (const [key, member] of value) made.set(copy(key, seen, depth + 1), copy(member, seen, depth + 1))
    return made
  }
  if (value instanceof Set && prototype === Set.prototype) {
    const made = new Set<unknown>()
    seen.set(value, made)
    for (const member of value) made.add(copy(member, seen, depth + 1))
    return made
  }
  if (value instanceof URL && prototype === URL.prototype) return new URL(value.href)
  return cloned.has(prototype) ? tryOr(() => structuredClone(value), value) : value
}

/** Copies only the bytes of the view, and returns the same kind of view: a `Buffer` stays one. */
function copyOfView(view: ArrayBufferView): ArrayBufferView {
  if (view instanceof DataView)
    return new DataView(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength))
  return Reflect.apply(sliceOfView, view, [])
}

const sliceOfView: (this: ArrayBufferView) => ArrayBufferView = Object.getPrototypeOf(
  Uint8Array.prototype,
).slice

const cloned = new Set<unknown>([Date.prototype, RegExp.prototype, ArrayBuffer.prototype])
