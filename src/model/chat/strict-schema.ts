import { isRecord, type JsonSchema } from '../../tool/json.js'

/**
 * Returns whether a schema can be enforced strictly: every object is closed, and all its properties are required.
 * Providers reject a strict request with any other schema.
 */
export function isStrictSchema(schema: JsonSchema): boolean {
  return isStrict(schema, 0)
}

function isStrict(schema: unknown, depth: number): boolean {
  if (depth > 20 || !isRecord(schema)) return false
  const { properties, items, anyOf, $defs } = schema
  if (schema['type'] === 'object' || properties !== undefined) {
    if (schema['additionalProperties'] !== false || !isRecord(properties)) return false
    const required = new Set(Array.isArray(schema['required']) ? schema['required'] : [])
    if (!Object.keys(properties).every((name) => required.has(name))) return false
  }
  const inner = [
    ...(isRecord(properties) ? Object.values(properties) : []),
    ...(items === undefined ? [] : [items]),
    ...(Array.isArray(anyOf) ? anyOf : []),
    ...(isRecord($defs) ? Object.values($defs) : []),
  ]
  return inner.every((one) => isStrict(one, depth + 1))
}
