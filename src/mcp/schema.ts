import { isRecord, type JsonSchema } from '../tool/json.js'
import { visibleText } from '../toolbox/untrusted-text.js'

/** The limits of a schema from a server; tools written by people are far below them. */
const limits = { bytes: 64 * 1024, depth: 24, nodes: 4_000, description: 500 }

export type ReadSchema =
  | {
      readonly ok: true
      /** The schema for the model: without invisible text, with descriptions cut. */
      readonly shown: JsonSchema
      /** The schema that arguments are checked against: without patterns, which would run on this thread. */
      readonly checked: JsonSchema
    }
  | { readonly ok: false; readonly problem: string }

/** Reads the schema of a tool's arguments from a server: bounded, and without external references (SEC-177). */
export function readSchema(given: unknown): ReadSchema {
  const schema = given === undefined ? { type: 'object' } : given
  if (!isRecord(schema)) return bad('its parameters are not a schema')
  const type = schema['type']
  if (type !== undefined && type !== 'object') return bad('its parameters are not an object')
  const problem = problemOf(schema)
  if (problem !== undefined) return bad(problem)
  if (JSON.stringify(schema).length > limits.bytes)
    return bad(`its parameters are longer than ${limits.bytes} characters`)
  const shown = clean({ ...schema, type: 'object' })
  return { ok: true, shown: shown as JsonSchema, checked: withoutPatterns(shown, false) as JsonSchema }
}

function bad(problem: string): ReadSchema {
  return { ok: false, problem }
}

/** Walks without recursion: a schema that is too deep must be found before anything recurses into it. */
function problemOf(schema: unknown): string | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: schema, depth: 0 }]
  let nodes = 0
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value !== 'object' || value === null) continue
    if (++nodes > limits.nodes) return `its parameters have more than ${limits.nodes} parts`
    if (depth > limits.depth) return `its parameters are nested deeper than ${limits.depth} levels`
    for (const [key, member] of Object.entries(value)) {
      if (
        (key === '$ref' || key === '$dynamicRef' || key === '$recursiveRef') &&
        typeof member === 'string' &&
        !member.startsWith('#')
      )
        return 'its parameters refer to something outside of themselves'
      if (visibleText(key) !== key || key.length > 200)
        return 'a name in its parameters is too long or has invisible characters'
      open.push({ value: member, depth: depth + 1 })
    }
  }
  return undefined
}

/**
 * Removes invisible text and cuts descriptions. `isNames`: the keys are property names, which can be equal to
 * keywords such as `description`.
 */
function clean(value: unknown, isNames = false): unknown {
  if (Array.isArray(value)) return value.map((one) => clean(one))
  if (typeof value === 'string') return visibleText(value)
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      if (isNames) return [key, clean(member)]
      if ((key === 'description' || key === 'title' || key === '$comment') && typeof member === 'string')
        return [key, cut(visibleText(member), limits.description)]
      return [key, clean(member, mapsOfNames.has(key))]
    }),
  )
}

const mapsOfNames = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

function withoutPatterns(value: unknown, isNames: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => withoutPatterns(one, false))
  if (!isRecord(value)) return value
  const entries = Object.entries(value)
  if (isNames)
    return Object.fromEntries(entries.map(([key, member]) => [key, withoutPatterns(member, false)]))
  // Properties that `patternProperties` would have allowed must not be rejected because the patterns were removed.
  const open = value['patternProperties'] !== undefined
  return Object.fromEntries(
    entries
      .filter(([key]) => !unchecked.has(key) && !(open && closing.has(key)))
      .map(([key, member]) => [
        key,
        untouched.has(key) ? member : withoutPatterns(member, mapsOfNames.has(key)),
      ]),
  )
}

const unchecked = new Set(['pattern', 'patternProperties', 'format', 'propertyNames', '$comment', 'examples'])
const closing = new Set(['additionalProperties', 'unevaluatedProperties'])
const untouched = new Set(['enum', 'const', 'default'])

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
