import { isPlainObject, isRecord, type JsonValue } from './json.js'

/** Deeper nesting is rejected: no real argument needs it, and recursive readers would exceed the stack. */
export const maxJsonDepth = 200

/** More values are rejected where they would be checked one by one. */
const maxJsonValues = 100_000

/** JSON text that does not parse, with the position of the error: `line` and `column` from 1, `position` from 0. */
export class JsonTextError extends SyntaxError {
  override readonly name = 'JsonTextError'
  readonly position: number
  readonly line: number
  readonly column: number

  constructor(text: string, position: number, problem: string) {
    const before = text.slice(0, position)
    const line = before.split('\n').length
    const column = position - before.lastIndexOf('\n')
    super(
      `Invalid JSON at line ${line}, column ${column} (position ${position}): ${problem}${excerpt(text, position)}`,
    )
    this.position = position
    this.line = line
    this.column = column
  }
}

/**
 * Parses untrusted JSON text. Keys that could reach a prototype are left out (see {@link withoutPrototypeKeys}).
 * Throws only {@link JsonTextError}.
 */
export function parseJsonText(text: string): JsonValue {
  let value: JsonValue
  try {
    value = JSON.parse(text) as JsonValue
  } catch {
    // The engine's own message differs between engines and versions and often has no position.
    throw locateJsonError(text)
  }
  if (
    text.length > 2 * maxJsonDepth &&
    nestingOf(text) > maxJsonDepth &&
    jsonDepth(value, maxJsonDepth + 1) > maxJsonDepth
  ) {
    throw new JsonTextError(text, 0, `nested deeper than ${maxJsonDepth} levels`)
  }
  return mayHoldPrototypeKey(text) ? (withoutPrototypeKeys(value) as JsonValue) : value
}

/**
 * Copies a value as plain JSON data and counts its values. Leaves out keys that a later merge could turn into
 * prototype pollution (every own `__proto__`, and a `constructor` that has a `prototype`; a plain `constructor` field
 * is data and is copied) and members that are `undefined`. Throws `RangeError` beyond {@link maxJsonDepth} levels or
 * 100,000 values.
 */
export function copyJson(value: unknown): { value: unknown; values: number } {
  const seen = { values: 0 }
  return { value: copy(value, 0, seen), values: seen.values }
}

/** Returns the value without keys that could reach a prototype. Copies only if there are such keys. */
export function withoutPrototypeKeys(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null || depth > maxJsonDepth) return value
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => withoutPrototypeKeys(item, depth + 1))
    return items.every((item, at) => Object.is(item, value[at])) ? value : items
  }
  if (!isRecord(value) || !isPlainObject(value)) return value
  const entries = Object.entries(value)
  const safe = entries
    .filter(([key, member]) => !isPrototypeKey(key, member))
    .map(([key, member]): [string, unknown] => [key, withoutPrototypeKeys(member, depth + 1)])
  const same = safe.length === entries.length && safe.every(([key, member]) => Object.is(member, value[key]))
  return same ? value : Object.fromEntries(safe)
}

/** Counts the levels of lists and objects in a value, up to a limit. */
function jsonDepth(value: unknown, limit: number): number {
  let level = [value].filter(isContainer)
  let depth = 0
  while (level.length > 0 && depth < limit) {
    depth++
    level = level.flatMap((item) => Object.values(item)).filter(isContainer)
  }
  return depth
}

function copy(value: unknown, depth: number, seen: { values: number }): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth >= maxJsonDepth) throw new RangeError(`nested deeper than ${maxJsonDepth} levels`)
  if (Array.isArray(value)) {
    countValues(seen, value.length)
    return value.map((item) => copy(item, depth + 1, seen))
  }
  // Dates, maps and the like are not plain data; the schema's error says what was expected.
  if (!isRecord(value) || !isPlainObject(value)) return value
  const keys = Object.keys(value)
  countValues(seen, keys.length)
  const made: Record<string, unknown> = {}
  for (const key of keys) {
    const member = value[key]
    if (member !== undefined && !isPrototypeKey(key, member)) made[key] = copy(member, depth + 1, seen)
  }
  return made
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function countValues(seen: { values: number }, more: number): void {
  seen.values += more
  if (seen.values > maxJsonValues) throw new RangeError(`more than ${maxJsonValues} values`)
}

function isPrototypeKey(key: string, member: unknown): boolean {
  return (
    key === '__proto__' || (key === 'constructor' && isRecord(member) && Object.hasOwn(member, 'prototype'))
  )
}

/** A quick test of the text that saves the walk for nearly every call; `\` covers keys written with escapes. */
function mayHoldPrototypeKey(text: string): boolean {
  return text.includes('__proto__') || text.includes('constructor') || text.includes('\\u')
}

/** Returns an upper bound of the depth, from the text alone. */
function nestingOf(text: string): number {
  let open = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if ((code === 0x5b || code === 0x7b) && ++open > maxJsonDepth) return open
  }
  return open
}

function excerpt(text: string, position: number): string {
  if (text.length === 0) return ''
  const from = Math.max(0, position - 20)
  const shown = JSON.stringify(text.slice(from, position + 20))
    .slice(1, -1)
    .replaceAll('\\"', '"')
  return `, near: ${from > 0 ? '…' : ''}${shown}${position + 20 < text.length ? '…' : ''}`
}

/** Reads the text by the JSON grammar and returns the first error. Iterative, so depth uses no stack. */
export function locateJsonError(text: string): JsonTextError {
  const space = /[ \t\n\r]*/y
  const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
  const escaped = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
  const open: ('{' | '[')[] = []
  let at = 0
  let want: 'value' | 'first' | 'key' | 'colon' | 'after' = 'value'

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null) return false
    at += found[0].length
    return found[0].length > 0
  }
  const fail = (expected: string): JsonTextError => {
    const found =
      at >= text.length
        ? 'the text ends here'
        : `found ${JSON.stringify(String.fromCodePoint(text.codePointAt(at) ?? 0))}`
    return new JsonTextError(text, at, `expected ${expected}, ${found}`)
  }
  const readString = (): JsonTextError | undefined => {
    // Character by character: a regular expression over the whole string would need a stack as deep as the string is
    // long.
    at++
    while (at < text.length) {
      const char = text[at]
      if (char === '"') {
        at++
        return undefined
      }
      if (char === '\\') {
        if (!skip(escaped)) return fail('a valid escape')
      } else if (text.charCodeAt(at) < 0x20) {
        return fail('a string without raw control characters (write \\n, \\t or \\u00XX)')
      } else at++
    }
    return fail('a closing quote')
  }

  for (;;) {
    skip(space)
    const char = text[at]
    if (want === 'after') {
      const inside = open.at(-1)
      if (inside === undefined)
        return at < text.length ? fail('the end of the text') : new JsonTextError(text, at, 'not accepted')
      if (char === ',') {
        at++
        want = inside === '{' ? 'key' : 'value'
      } else if (char === (inside === '{' ? '}' : ']')) {
        at++
        open.pop()
      } else return fail(inside === '{' ? '"," or "}"' : '"," or "]"')
    } else if (want === 'colon') {
      if (char !== ':') return fail('":"')
      at++
      want = 'value'
    } else if (want === 'key' || (want === 'first' && open.at(-1) === '{')) {
      if (want === 'first' && char === '}') {
        at++
        open.pop()
        want = 'after'
        continue
      }
      if (char !== '"')
        return fail(want === 'first' ? 'a key in double quotes or "}"' : 'a key in double quotes')
      const broken = readString()
      if (broken) return broken
      want = 'colon'
    } else if (want === 'first' && char === ']') {
      at++
      open.pop()
      want = 'after'
    } else if (char === '{' || char === '[') {
      at++
      open.push(char)
      want = 'first'
    } else if (char === '"') {
      const broken = readString()
      if (broken) return broken
      want = 'after'
    } else {
      if (!skip(scalar)) return fail('a value')
      want = 'after'
    }
  }
}
