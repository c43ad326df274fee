import { isPlainObject, isRecord } from '../tool/json.js'

/**
 * Returns a JSON value with every string redacted, including names of members. An unchanged value is returned as the
 * same object.
 */
export function redactValue<Value>(value: Value, redact: (text: string) => string): Value {
  return rewrite(value, redact, 0) as Value
}

/**
 * Whether a check of its JSON text says that nothing in a value has to be rewritten. Every record of a log is looked
 * at, and next to none changes: V8 writes a text and searches it faster than code of ours walks along a value.
 */
export function isFineAsJson(value: unknown, isFine: (json: string) => boolean): boolean {
  try {
    const json = JSON.stringify(value)
    // A value that is too deep has at least as many objects and lists.
    const isShallow = json.length < 2 * deepest || json.split('{').length + json.split('[').length <= deepest
    return isShallow && isFine(json)
  } catch {
    // Deeper than JSON can be written.
    return false
  }
}

/** Deeper JSON is not read by anything, and must not break this. */
const deepest = 200
const tooDeep = '[REDACTED:TOO_DEEP]'

function rewrite(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return tooDeep
  if (Array.isArray(value)) return rewriteItems(value, redact, depth)
  if (!isRecord(value) || !isPlainObject(value)) return value
  return rewriteMembers(value, redact, depth)
}

// Every record of a log passes here, and next to none changes: nothing is copied before something does.

function rewriteItems(items: readonly unknown[], redact: (text: string) => string, depth: number): unknown {
  let made: unknown[] | undefined
  for (let at = 0; at < items.length; at++) {
    const item = items[at]
    const rewritten = rewrite(item, redact, depth + 1)
    if (made === undefined && rewritten !== item) made = items.slice(0, at)
    made?.push(rewritten)
  }
  return made ?? items
}

function rewriteMembers(
  value: Readonly<Record<string, unknown>>,
  redact: (text: string) => string,
  depth: number,
): unknown {
  let made: [string, unknown][] | undefined
  const keys = Object.keys(value)
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at] ?? ''
    const member = value[key]
    const name = redact(key)
    const rewritten = rewrite(member, redact, depth + 1)
    if (made === undefined && (name !== key || rewritten !== member))
      made = keys.slice(0, at).map((one) => [one, value[one]])
    made?.push([name, rewritten])
  }
  return made === undefined ? value : Object.fromEntries(made)
}
