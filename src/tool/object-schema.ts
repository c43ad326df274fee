import type { JsonSchema } from './json.js'

/** The fields of an object by name. A name that ends with `?` is optional. */
export type SchemaFields = Readonly<Record<string, JsonSchema>>

/**
 * Creates the JSON Schema of an object with these fields and no others.
 *
 * @example
 * objectSchema({ path: { type: 'string' }, 'limit?': { type: 'integer' } })
 */
export function objectSchema(fields: SchemaFields): JsonSchema {
  return { ...openObjectSchema(fields), additionalProperties: false }
}

/** Creates the JSON Schema of an object with at least these fields. */
export function openObjectSchema(fields: SchemaFields): JsonSchema {
  const names = Object.keys(fields)
  const required = names.filter((name) => !name.endsWith('?'))
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), fields[name] ?? {}])),
    ...(required.length > 0 && { required }),
  }
}
