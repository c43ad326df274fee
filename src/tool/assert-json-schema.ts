import { messageOf } from './errors.js'
import { isRecord } from './json.js'

const typeNames = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
export const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
const schemaLists = ['allOf', 'anyOf', 'oneOf', 'prefixItems']
const singleSchemas = [
  'items',
  'additionalProperties',
  'additionalItems',
  'contains',
  'not',
  'if',
  'then',
  'else',
  'propertyNames',
  'unevaluatedItems',
  'unevaluatedProperties',
]
const numbers = [
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]

/**
 * Finds errors that would otherwise appear, or stay unnoticed, at the first call. Throws `TypeError` with the
 * location.
 */
export function assertJsonSchema(schema: unknown, at = '#'): void {
  if (typeof schema === 'boolean') return
  if (!isRecord(schema)) throw wrong(at, 'expected an object or a boolean')
  if (schema['$dynamicRef'] !== undefined)
    throw wrong(`${at}/$dynamicRef`, 'dynamic references are not supported; use $ref')
  for (const type of schema['type'] === undefined ? [] : [schema['type']].flat()) {
    if (typeof type !== 'string' || !typeNames.has(type))
      throw wrong(`${at}/type`, `unknown type ${JSON.stringify(type)}`)
  }
  const required = schema['required']
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((name) => typeof name === 'string'))
  ) {
    throw wrong(`${at}/required`, 'expected an array of names')
  }
  if (schema['enum'] !== undefined && !Array.isArray(schema['enum']))
    throw wrong(`${at}/enum`, 'expected an array')
  for (const keyword of numbers) {
    if (schema[keyword] !== undefined && typeof schema[keyword] !== 'number')
      throw wrong(`${at}/${keyword}`, 'expected a number')
  }
  assertPattern(schema['pattern'], `${at}/pattern`)
  assertMembers(schema, at)
}

function assertMembers(schema: Record<string, unknown>, at: string): void {
  for (const keyword of schemaMaps) {
    const members = schema[keyword]
    if (members === undefined) continue
    if (!isRecord(members)) throw wrong(`${at}/${keyword}`, 'expected an object')
    for (const [name, member] of Object.entries(members)) {
      if (keyword === 'patternProperties') assertPattern(name, `${at}/${keyword}`)
      assertJsonSchema(member, `${at}/${keyword}/${name}`)
    }
  }
  for (const keyword of schemaLists) {
    const members = schema[keyword]
    if (members === undefined) continue
    if (!Array.isArray(members)) throw wrong(`${at}/${keyword}`, 'expected an array')
    for (const [index, member] of members.entries()) assertJsonSchema(member, `${at}/${keyword}/${index}`)
  }
  for (const keyword of singleSchemas) {
    const member = schema[keyword]
    if (member === undefined) continue
    // Draft-07 allows a list of schemas under `items`.
    const list = keyword === 'items' && Array.isArray(member) ? member : [member]
    for (const one of list) assertJsonSchema(one, `${at}/${keyword}`)
  }
}

function assertPattern(pattern: unknown, at: string): void {
  if (pattern === undefined) return
  try {
    new RegExp(String(pattern), 'u')
  } catch (cause) {
    throw wrong(at, messageOf(cause), cause)
  }
}

type Lookup = Readonly<Record<string, unknown>>

/**
 * Checks that every `$ref` points to a location inside the schema and not only to itself: nothing is fetched, and no
 * reference can loop.
 */
export function assertReferences(schema: unknown, lookup: Lookup): void {
  const sound = new Set<unknown>()
  for (const node of nodesOf(schema)) {
    const chain = new Set<unknown>()
    for (
      let next: unknown = node;
      isRecord(next) && next['__absolute_ref__'] !== undefined;
      next = target(next, lookup)
    ) {
      if (sound.has(next)) break
      if (chain.has(next))
        throw new TypeError(`Not a JSON Schema: "$ref": ${JSON.stringify(node['$ref'])} refers to itself`)
      chain.add(next)
      if (target(next, lookup) === undefined) {
        throw new TypeError(
          `Not a JSON Schema: "$ref": ${JSON.stringify(next['$ref'])} points to nothing inside the schema`,
        )
      }
    }
    for (const one of chain) sound.add(one)
  }
}

function target(node: Record<string, unknown>, lookup: Lookup): unknown {
  const reference = node['__absolute_ref__']
  return typeof reference === 'string' ? lookup[reference] : undefined
}

/** Returns every object inside a schema, including the schema itself. */
function nodesOf(schema: unknown, found: Record<string, unknown>[] = []): Record<string, unknown>[] {
  if (typeof schema !== 'object' || schema === null) return found
  if (isRecord(schema)) found.push(schema)
  for (const member of Object.values(schema)) nodesOf(member, found)
  return found
}

function wrong(at: string, problem: string, cause?: unknown): TypeError {
  return new TypeError(`Not a JSON Schema at ${at}: ${problem}`, cause === undefined ? undefined : { cause })
}
