import { CapstanError, markErrorClass } from '../tool/errors.js'
import { isPlainObject } from '../tool/json.js'

/** Thrown for a value without a canonical JSON text, so that nothing can be bound to it. */
export class CanonicalJsonError extends CapstanError {
  constructor(problem: string) {
    super('not_canonical_json', `The value has no canonical JSON text: ${problem}`)
  }
}

markErrorClass(CanonicalJsonError, 'CanonicalJsonError')

/**
 * Returns the same text for the same content in any order of members, and different text for different content.
 * Undefined members count as absent. Throws {@link CanonicalJsonError} for values that are not JSON: two different
 * maps must not look equal.
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0)
}

const deepest = 1000

function write(value: unknown, depth: number): string {
  if (depth > deepest) throw new CanonicalJsonError(`deeper than ${deepest}`)
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new CanonicalJsonError(`the number ${value}`)
    return Object.is(value, -0) ? '-0' : String(value)
  }
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  if (typeof value !== 'object' || !isPlainObject(value)) throw new CanonicalJsonError(`a ${nameOf(value)}`)
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${write(member, depth + 1)}`).join(',')}}`
}

function nameOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? value.constructor.name : typeof value
}
