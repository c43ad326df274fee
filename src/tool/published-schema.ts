import { isRecord, type JsonSchema } from './json.js'

/**
 * Limits of arguments that models do not read in every request: a call that violates one gets an error that states
 * it.
 */
const bounds = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'maxLength', 'minItems', 'pattern'])

/**
 * Returns the part of a built-in tool's schema that models read: names, types, choices and descriptions. The whole
 * schema still checks every call. `unlisted` are arguments that are accepted and not shown.
 */
export function publishedSchema(schema: JsonSchema, unlisted: readonly string[] = []): JsonSchema {
  const shown = Object.entries(schema).filter(
    ([keyword, value]) => !bounds.has(keyword) && !(keyword === 'additionalProperties' && value === false),
  )
  return Object.fromEntries(
    shown.map(([keyword, value]) => {
      if (keyword === 'properties' && isRecord(value)) return [keyword, shownProperties(value, unlisted)]
      return [keyword, keyword === 'items' && isRecord(value) ? publishedSchema(value) : value]
    }),
  )
}

function shownProperties(properties: Record<string, unknown>, unlisted: readonly string[]): JsonSchema {
  const shown = Object.entries(properties).filter(([name]) => !unlisted.includes(name))
  return Object.fromEntries(
    shown.map(([name, value]) => [name, isRecord(value) ? publishedSchema(value) : value]),
  )
}
