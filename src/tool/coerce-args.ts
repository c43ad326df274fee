import { tryOr } from './errors.js'
import { isRecord, type JsonSchema } from './json.js'
import { parseJsonText } from './json-text.js'

export type CoercedArguments = {
  readonly value: unknown
  /** One line with the path for each value that was converted; empty when no value was. */
  readonly coercions: readonly string[]
}

/**
 * Converts arguments that do not fit their schema to what the schema expects, where there is only one reading: `"5"`
 * to a number, `"true"` to a boolean, an integer to text, JSON in a string to its object or list, one value to a list
 * of one, and `null` for an optional field to an absent field. Only for arguments that a model wrote and that failed
 * the check; the result is checked again.
 */
export function coerceToSchema(schema: JsonSchema, value: unknown): CoercedArguments {
  const coercions: string[] = []
  const coerced = coerce(schema, value, { root: schema, coercions, path: '', depth: 0 })
  return { value: coerced, coercions }
}

type Place = {
  readonly root: JsonSchema
  readonly coercions: string[]
  readonly path: string
  readonly depth: number
}

const deepest = 20
const maxCoercions = 50

function coerce(written: unknown, value: unknown, place: Place): unknown {
  const schema = plainSchema(written, place.root)
  if (schema === undefined || place.depth > deepest) return value
  const types = typesOf(schema)
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    const read = readAs(schema, types, value, place)
    if (read === undefined) return value
    note(place, `${read.from} was read as ${read.to}`)
    return into(schema, read.value, place)
  }
  return into(schema, value, place)
}

/** Coerces the members of a value that is already an object or a list. */
function into(schema: JsonSchema, value: unknown, place: Place): unknown {
  if (Array.isArray(value)) {
    if (!isRecord(schema['items'])) return value
    return value.map((item, at) => coerce(schema['items'], item, inside(place, `[${at}]`)))
  }
  if (!isRecord(value) || !isRecord(schema['properties'])) return value
  const properties = schema['properties']
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  const made: [string, unknown][] = []
  for (const [key, member] of Object.entries(value)) {
    const there = inside(place, place.path === '' ? key : `.${key}`)
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (member === null && !required.includes(key) && refusesNull(property, place.root))
      note(there, 'null was left out')
    else made.push([key, coerce(property, member, there)])
  }
  return Object.fromEntries(made)
}

function readAs(
  schema: JsonSchema,
  types: readonly string[],
  value: unknown,
  place: Place,
): { value: unknown; from: string; to: string } | undefined {
  for (const type of types) {
    const read = readAsType(type, value)
    if (read !== undefined) return { value: read, from: 'text', to: type }
  }
  if (types.includes('string') && Number.isSafeInteger(value))
    return { value: String(value), from: 'a number', to: 'text' }
  const items =
    types.includes('array') && !Array.isArray(value) && value !== null ? schema['items'] : undefined
  const itemSchema = plainSchema(items, place.root)
  if (itemSchema !== undefined && typesOf(itemSchema).some((type) => hasType(value, type)))
    return { value: [value], from: 'one value', to: 'a list of one' }
  return undefined
}

function readAsType(type: string, value: unknown): unknown {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  if (type === 'number' || type === 'integer') {
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return undefined
    const number = Number(text)
    return hasType(number, type) && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined
  }
  if (type === 'boolean') return /^true$/i.test(text) ? true : /^false$/i.test(text) ? false : undefined
  if (type !== 'object' && type !== 'array') return undefined
  if (!text.startsWith(type === 'object' ? '{' : '[')) return undefined
  // A text can start like JSON and be something else.
  return tryOr(() => parseJsonText(text), undefined)
}

function refusesNull(schema: unknown, root: JsonSchema): boolean {
  const plain = plainSchema(schema, root)
  const types = plain === undefined ? [] : typesOf(plain)
  return types.length > 0 && !types.includes('null')
}

/**
 * Resolves a schema with one meaning: through local references, and without `null` as the only alternative. Undefined
 * for others.
 */
function plainSchema(schema: unknown, root: JsonSchema, hops = 0): JsonSchema | undefined {
  if (!isRecord(schema) || hops > 5) return undefined
  const reference = schema['$ref']
  if (typeof reference === 'string') return plainSchema(lookUp(reference, root), root, hops + 1)
  const alternatives = schema['anyOf'] ?? schema['oneOf']
  if (alternatives === undefined) return schema
  if (!Array.isArray(alternatives) || schema['type'] !== undefined) return undefined
  const others = alternatives.filter((one) => !(isRecord(one) && one['type'] === 'null'))
  if (others.length !== 1 || others.length === alternatives.length) return undefined
  const only = plainSchema(others[0], root, hops + 1)
  return only === undefined ? undefined : { ...only, type: [...typesOf(only), 'null'] }
}

function lookUp(reference: string, root: JsonSchema): unknown {
  const [start, section, name, ...rest] = reference.split('/')
  if (start !== '#' || name === undefined || rest.length > 0) return undefined
  if (section !== '$defs' && section !== 'definitions') return undefined
  const definitions = root[section]
  return isRecord(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
}

function typesOf(schema: JsonSchema): readonly string[] {
  const type = schema['type']
  return (Array.isArray(type) ? type : [type]).filter((one) => typeof one === 'string')
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'object') return isRecord(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

function inside(place: Place, step: string): Place {
  return { ...place, path: `${place.path}${step}`.slice(0, 200), depth: place.depth + 1 }
}

function note({ coercions, path }: Place, what: string): void {
  if (coercions.length < maxCoercions) coercions.push(`${path === '' ? 'the arguments' : path}: ${what}`)
}
