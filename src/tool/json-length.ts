import { isPlainObject } from './json.js'

/**
 * Returns an upper bound of the length of a value's JSON text. Reading the members of a small value takes a fraction of
 * the time of serializing it, and is enough for most values to find that they are below a limit. `Infinity`: the value
 * has a text longer than `maxText`, or something in it may have any length as JSON, or none.
 */
export function maxJsonLength(value: unknown, maxText: number = Number.POSITIVE_INFINITY, depth = 0): number {
  if (typeof value !== 'object' || value === null) return maxSimpleLength(value, maxText)
  if (depth > maxDepth || 'toJSON' in value) return Number.POSITIVE_INFINITY
  const isList = Array.isArray(value)
  if (isList ? value.length > maxItems : !isPlainObject(value)) return Number.POSITIVE_INFINITY
  const names = Object.keys(value)
  let length = 2
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? ''
    const member: unknown = (value as Readonly<Record<string, unknown>>)[name]
    if (name.length > maxText) return Number.POSITIVE_INFINITY
    length += name.length * maxUnitLength + 4
    // Most members are short texts: a call for each would take longer than everything else here.
    if (typeof member === 'string' && member.length <= maxText) length += member.length * maxUnitLength + 2
    else length += maxJsonLength(member, maxText, depth + 1)
  }
  // The empty places of a list are `null`.
  return isList ? length + value.length * 5 : length
}

function maxSimpleLength(value: unknown, maxText: number): number {
  switch (typeof value) {
    case 'string':
      return value.length > maxText ? Number.POSITIVE_INFINITY : value.length * maxUnitLength + 2
    case 'number':
    case 'boolean':
      return maxNumberLength
    case 'undefined':
      return 4
    default:
      return value === null ? 4 : Number.POSITIVE_INFINITY
  }
}

/** Control characters and lone surrogates are written as `\u0000`. */
const maxUnitLength = 6
/** `-1.2345678901234567e-308` */
const maxNumberLength = 24
const maxDepth = 20
/** Serializing a long list takes less time than listing its indexes. */
const maxItems = 100
