import { dereference, type OutputUnit, type Schema, type SchemaDraft, validate } from '@cfworker/json-schema'
import { isRecord, type JsonSchema } from './json.js'
import { explainSchemaErrors, type ReadySchema } from './json-schema-problems.js'
import { cleanJson } from './json-text.js'
import type { Validation } from './validation.js'

/** A JSON Schema made ready for checking values: once for each schema object, however many tools and calls share it. */
type CompiledSchema = {
  check(input: unknown): Validation<unknown>
}

const compiled = new WeakMap<JsonSchema, CompiledSchema>()

/**
 * Compiles a JSON Schema (draft 2020-12, 2019-09, 07 or 04 by its `$schema`), once for each frozen schema. Throws `TypeError`
 * when it is not a schema.
 */
export function compileJsonSchema(schema: JsonSchema): CompiledSchema {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  assertJsonSchema(schema)
  // The validator annotates the schema it works on, and ours may be frozen or shared.
  const own = structuredClone(schema) as Schema
  const ready: ReadySchema = { schema: own, lookup: dereference(own), draft: draftOf(schema) }
  assertReferences(own, ready.lookup)
  const made: CompiledSchema = { check: (input) => check(ready, input) }
  // A schema that may still change is compiled anew: what was compiled must be what is published.
  if (copies.has(schema)) compiled.set(schema, made)
  return made
}

/**
 * A copy of a schema that cannot change: it is shared by every definition and prompt, and what is checked must stay what is
 * shown. One that is frozen already is taken as it is.
 */
export function frozenSchema(schema: JsonSchema): JsonSchema {
  return frozenCopy(schema) as JsonSchema
}

function frozenCopy(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || copies.has(value)) return value
  const copy = Array.isArray(value)
    ? value.map(frozenCopy)
    : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, frozenCopy(member)]))
  copies.add(copy)
  return Object.freeze(copy)
}

/** What frozenCopy made: frozen all the way down. */
const copies = new WeakSet<object>()

function check(ready: ReadySchema, input: unknown): Validation<unknown> {
  let value: unknown
  let errors: OutputUnit[]
  try {
    value = cleanJson(input)
    const first = validate(value, ready.schema, ready.draft, ready.lookup, true)
    if (first.valid) return { ok: true, value }
    // All problems at once help a model most, but a value of a million fields must not buy a million errors.
    errors = isSmall(value)
      ? validate(value, ready.schema, ready.draft, ready.lookup, false).errors
      : first.errors
  } catch (error) {
    // Values that JSON cannot hold, nesting without end, keys that are not well-formed text.
    const why = error instanceof Error ? error.message : String(error)
    return { ok: false, problems: [{ path: [], message: `expected plain JSON data (${why})` }] }
  }
  return { ok: false, problems: explainSchemaErrors(errors, ready, value) }
}

const smallValue = 5000

function isSmall(value: unknown): boolean {
  let left = smallValue
  const count = (part: unknown): void => {
    if (left-- <= 0 || typeof part !== 'object' || part === null) return
    const members: unknown[] = Object.values(part)
    if (members.length > left) left = 0
    else members.forEach(count)
  }
  count(value)
  return left > 0
}

function draftOf(schema: JsonSchema): SchemaDraft {
  const named = String(schema['$schema'] ?? '')
  if (named.includes('draft-07') || named.includes('draft-06')) return '7'
  if (named.includes('draft-04')) return '4'
  return named.includes('2019-09') ? '2019-09' : '2020-12'
}

const typeNames = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const schemaMaps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']
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

/** Finds what would otherwise fail, or silently pass, at the first call. */
function assertJsonSchema(schema: unknown, at = '#'): void {
  if (typeof schema === 'boolean') return
  if (!isRecord(schema)) throw new TypeError(`Not a JSON Schema at ${at}: expected an object or a boolean`)
  const types = schema['type'] === undefined ? [] : [schema['type']].flat()
  for (const type of types) {
    if (typeof type !== 'string' || !typeNames.has(type))
      throw new TypeError(`Not a JSON Schema at ${at}/type: unknown type ${JSON.stringify(type)}`)
  }
  const required = schema['required']
  if (
    required !== undefined &&
    !(Array.isArray(required) && required.every((name) => typeof name === 'string')) &&
    typeof required !== 'boolean'
  ) {
    throw new TypeError(`Not a JSON Schema at ${at}/required: expected an array of names`)
  }
  if (schema['enum'] !== undefined && !Array.isArray(schema['enum']))
    throw new TypeError(`Not a JSON Schema at ${at}/enum: expected an array`)
  assertPattern(schema['pattern'], `${at}/pattern`)
  for (const keyword of schemaMaps) {
    const members = schema[keyword]
    if (members === undefined) continue
    if (!isRecord(members)) throw new TypeError(`Not a JSON Schema at ${at}/${keyword}: expected an object`)
    for (const [name, member] of Object.entries(members)) {
      if (keyword === 'patternProperties') assertPattern(name, `${at}/${keyword}`)
      assertJsonSchema(member, `${at}/${keyword}/${name}`)
    }
  }
  for (const keyword of schemaLists) {
    const members = schema[keyword]
    if (members === undefined) continue
    if (!Array.isArray(members))
      throw new TypeError(`Not a JSON Schema at ${at}/${keyword}: expected an array`)
    for (const [index, member] of members.entries()) assertJsonSchema(member, `${at}/${keyword}/${index}`)
  }
  for (const keyword of singleSchemas) {
    const member = schema[keyword]
    if (member === undefined) continue
    // Draft-07 allows a list of schemas under `items`.
    for (const one of keyword === 'items' && Array.isArray(member) ? member : [member])
      assertJsonSchema(one, `${at}/${keyword}`)
  }
}

function assertPattern(pattern: unknown, at: string): void {
  if (pattern === undefined) return
  try {
    new RegExp(String(pattern), 'u')
  } catch (cause) {
    throw new TypeError(
      `Not a JSON Schema at ${at}: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    )
  }
}

/** Every `$ref` must lead somewhere inside the schema: nothing is fetched. */
function assertReferences(schema: unknown, lookup: Readonly<Record<string, unknown>>): void {
  if (Array.isArray(schema)) {
    for (const item of schema) assertReferences(item, lookup)
    return
  }
  if (!isRecord(schema)) return
  const reference = schema['__absolute_ref__']
  if (typeof reference === 'string' && lookup[reference] === undefined) {
    throw new TypeError(
      `Not a JSON Schema: "$ref": ${JSON.stringify(schema['$ref'])} leads nowhere inside the schema`,
    )
  }
  for (const member of Object.values(schema)) assertReferences(member, lookup)
}
