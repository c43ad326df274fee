import { isRecord } from '../tool/json.js'

/**
 * A JSON value with every string in it rewritten, names of members too. What does not change is given back as it is.
 */
export function redactValue<Value>(value: Value, redact: (text: string) => string): Value {
  return rewrite(value, redact, 0) as Value
}

/** Deeper JSON is not read by anything, and must not break this. */
const deepest = 200
const tooDeep = '[REDACTED:TOO_DEEP]'

function rewrite(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return tooDeep
  if (Array.isArray(value)) {
    const made = value.map((item: unknown) => rewrite(item, redact, depth + 1))
    return made.some((item, at) => item !== value[at]) ? made : value
  }
  if (!isRecord(value) || !isPlain(value)) return value
  const entries = Object.entries(value)
  const made = entries.map(([key, member]) => [redact(key), rewrite(member, redact, depth + 1)] as const)
  const same = made.every(([key, member], at) => key === entries[at]?.[0] && member === entries[at]?.[1])
  return same ? value : Object.fromEntries(made)
}

/** Bytes, dates and the like are not text. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
