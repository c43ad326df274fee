import { isPlainObject } from './json.js'

/**
 * Returns an upper bound of the length of a value's JSON text. Reading the members of a small value takes a fraction of
 * the time of serializing it, and is enough for most values to find that they are below a limit. `Infinity`: the value
 * has a text longer than `maxText`, or something in it may have any length as JSON, or none.
 */
export function maxJsonLength(value: unknown, maxText: number = Number.POSITIVE_INFINITY, depth = 0): number {
  if (typeof value === 'string')
    return value.length > maxText ? Number.POSITIVE_INFINITY : value.length * maxUnitLength + 2
  if (value === null || value === undefined) return 4
  if (typeof value === 'number' || typeof value === 'boolean') return maxNumberLength
  if (typeof value !== 'object' || depth > maxDepth || 'toJSON' in value) return Number.POSITIVE_INFINITY
  let length = 2
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && length < Number.POSITIVE_INFINITY; at++)
      length += maxJsonLength(value[at], maxText, depth + 1) + 1
    return length
  }
  if (!isPlainObject(value)) return Number.POSITIVE_INFINITY
  const names = Object.keys(value)
  for (let at = 0; at < names.length && length < Number.POSITIVE_INFINITY; at++) {
    const name = names[at] ?? ''
    const member = (value as Readonly<Record<string, unknown>>)[name]
    length += maxJsonLength(name, maxText) + maxJsonLength(member, maxText, depth + 1) + 2
  }
  return length
}

/** Control characters and lone surrogates are written as `\u0000`. */
const maxUnitLength = 6
/** `-1.2345678901234567e-308` */
const maxNumberLength = 24
const maxDepth = 20
