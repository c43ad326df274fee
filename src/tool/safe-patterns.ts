import { format } from '@cfworker/json-schema'
import { schemaMaps } from './assert-json-schema.js'
import { isRecord } from './json.js'
import { type LinearPattern, linearPattern } from './linear-pattern.js'

/**
 * Returns every schema inside a schema, including itself, but not the values in its `enum`, `const` and similar
 * keywords.
 */
export function schemaNodes(schema: unknown): Record<string, unknown>[] {
  const found: Record<string, unknown>[] = []
  const open: unknown[] = [schema]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Array.isArray(one)) open.push(...one)
    if (!isRecord(one)) continue
    found.push(one)
    for (const [keyword, member] of Object.entries(one)) {
      if (valueKeywords.has(keyword) || typeof member !== 'object' || member === null) continue
      if (schemaMaps.includes(keyword) && isRecord(member)) open.push(...Object.values(member))
      else open.push(member)
    }
  }
  return found
}

const valueKeywords = new Set(['enum', 'const', 'default', 'examples', 'required', 'type'])

/**
 * Replaces patterns that could take more than linear time by custom formats that are matched in linear time. Throws
 * `TypeError` with the pattern when that is not possible.
 */
export function makePatternsSafe(nodes: readonly Record<string, unknown>[]): void {
  for (const node of nodes) {
    const { pattern, patternProperties, allOf } = node
    if (isRecord(patternProperties)) for (const name of Object.keys(patternProperties)) assertSimple(name)
    if (typeof pattern !== 'string' || read(pattern).isPlain) continue
    delete node['pattern']
    node['allOf'] = [...(Array.isArray(allOf) ? allOf : []), { format: `${prefix}${pattern}` }]
  }
}

/** Returns the pattern of one of these custom formats. */
export function patternOf(name: unknown): string | undefined {
  return typeof name === 'string' && name.startsWith(prefix) ? name.slice(prefix.length) : undefined
}

const prefix = 'capstan-pattern:'

/** Patterns for field names are matched by the validator itself, so they must be simple. */
function assertSimple(pattern: string): void {
  if (!read(pattern).isSimple)
    throw new TypeError(
      `Not a JSON Schema: the pattern ${JSON.stringify(pattern)} of patternProperties repeats more than one part, which can take too long`,
    )
}

function read(pattern: string): LinearPattern {
  const found = known.get(pattern)
  if (found !== undefined) return found
  let made: LinearPattern
  try {
    made = linearPattern(pattern)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`Not a JSON Schema: the pattern ${JSON.stringify(pattern)} cannot be used: ${why}`, {
      cause,
    })
  }
  if (known.size >= maxKnown) known.clear()
  known.set(pattern, made)
  return made
}

const known = new Map<string, LinearPattern>()
const maxKnown = 200

// The validator looks formats up by name. The custom formats are created on demand, through the prototype of its table.
Object.setPrototypeOf(
  format,
  new Proxy(Object.create(null) as object, {
    get: (_, name) => {
      const pattern = patternOf(name)
      return pattern === undefined ? undefined : (text: string) => read(pattern).test(text)
    },
  }),
)
// The validator's own expression for "url" takes exponential time.
format['url'] = (text) => text.length <= 8192 && /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text)
