import { tryOr } from '../tool/errors.js'
import { isPlainObject, isRecord } from '../tool/json.js'

/**
 * Returns a value with every string redacted that JSON has of it, including names of members. An unchanged value is
 * returned as the same object.
 */
export function redactValue<Value>(value: Value, redact: (text: string) => string): Value {
  return rewrite(value, redact, 0) as Value
}

/**
 * Returns the JSON text of each value, if a check of the texts shows that nothing in the values has to be rewritten.
 * Every record of a log is checked and very few change: V8 serializes and searches a text faster than this code can
 * traverse a value. The texts are returned because the caller writes them.
 */
export function jsonIfFine<Value>(
  values: readonly Value[],
  isFine: (json: string) => boolean,
): ReadonlyMap<Value, string> | undefined {
  const texts = new Map<Value, string>()
  try {
    // All texts are checked at once: calling a regular expression takes longer than searching a short text.
    let all = ''
    for (const value of values) {
      const json = JSON.stringify(value)
      if (!isShallow(value, json)) return undefined
      texts.set(value, json)
      all = all === '' ? json : `${all}\n${json}`
    }
    return isFine(all) ? texts : undefined
  } catch {
    // A value is too deeply nested for JSON.stringify.
    return undefined
  }
}

/**
 * Whether a value is nested less deeply than the maximum. Its depth is at most the number of brackets in its JSON text;
 * only values with many brackets, such as the text of a program, are traversed.
 */
function isShallow(value: unknown, json: string): boolean {
  return json.length + 2 < 2 * deepest || hasFewBrackets(json) || !isNested(value, deepest - 1)
}

function hasFewBrackets(json: string): boolean {
  // The data of a record is one level below the record.
  let count = 1
  for (const bracket of ['{', '['])
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1))
      if (++count >= deepest) return false
  return true
}

/** Whether a value has objects or arrays at this depth, or may have them in JSON. */
function isNested(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (hasOwnJson(value)) return true
  return depth === 0 || Object.values(value).some((member) => isNested(member, depth - 1))
}

/** The maximum depth. Nothing reads JSON that is nested deeper, and it must not overflow the stack here. */
const deepest = 200
const tooDeep = '[REDACTED:TOO_DEEP]'

function rewrite(value: unknown, redact: (text: string) => string, depth: number): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= deepest) return tooDeep
  if (Array.isArray(value)) return rewriteItems(value, redact, depth)
  if (!isRecord(value) || !isPlainObject(value) || hasOwnJson(value))
    return rewriteInstance(value, redact, depth)
  return rewriteMembers(value, redact, depth)
}

/** Redacts an object of a class: tools return URLs and entities of libraries, and the log has them as JSON. */
function rewriteInstance(value: object, redact: (text: string) => string, depth: number): unknown {
  // As JSON, bytes are numbers.
  if (ArrayBuffer.isView(value)) return value
  // An object that cannot be serialized, such as one with cycles, is in no log.
  const json: unknown = tryOr(() => JSON.parse(JSON.stringify(value)), undefined)
  const rewritten = rewrite(json, redact, depth)
  return rewritten === json ? value : rewritten
}

/** Whether an object creates the value that JSON has of it. */
function hasOwnJson(value: object): boolean {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

// Every record of a log is checked here and very few change, so nothing is copied before the first change.

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
