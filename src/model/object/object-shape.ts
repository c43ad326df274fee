import { isRecord, type JsonSchema } from '../../tool/json.js'

/** A schema as given, and in the form that providers accept, with an object at its root. */
export type ObjectShape = {
  readonly schema: JsonSchema
  readonly sent: JsonSchema
  /** Whether the answer is the member `value` of the sent object. */
  readonly wrapped: boolean
}

/** Wraps lists, single values and unions at the root as the only member of an object. */
export function shapeOf(schema: JsonSchema): ObjectShape {
  const { $schema: _, ...plain } = schema
  if (plain['type'] === 'object' && !rootUnions.some((keyword) => keyword in plain))
    return { schema, sent: plain, wrapped: false }
  return { schema, sent: wrap(plain), wrapped: true }
}

/**
 * Returns the possible interpretations of an answer, the most likely first: a model that should write an object with a
 * `value` sometimes writes only the value.
 */
export function readings({ wrapped }: Pick<ObjectShape, 'wrapped'>, written: unknown): readonly unknown[] {
  if (!wrapped || !isRecord(written) || !Object.hasOwn(written, 'value')) return [written]
  return [written['value'], written]
}

const rootUnions = ['anyOf', 'oneOf', 'allOf', '$ref', 'not', 'if']

function wrap(schema: JsonSchema): JsonSchema {
  // References inside a schema with its own `$id` are relative to that id, so it can be moved.
  if ('$id' in schema) return around(schema)
  const { $defs, definitions, ...value } = schema
  return {
    ...around(redirect(value)),
    ...($defs !== undefined && { $defs: redirect($defs) }),
    ...(definitions !== undefined && { definitions: redirect(definitions) }),
  }
}

function around(value: unknown): JsonSchema {
  return { type: 'object', properties: { value }, required: ['value'], additionalProperties: false }
}

/**
 * Redirects references to the old root to its new position. References to definitions are unchanged, because those stay
 * at the root.
 */
function redirect(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(redirect)
  if (!isRecord(node)) return node
  return Object.fromEntries(
    Object.entries(node).map(([key, member]) => [
      key,
      key === '$ref' && typeof member === 'string' ? movedReference(member) : redirect(member),
    ]),
  )
}

function movedReference(reference: string): string {
  if (reference === '#') return '#/properties/value'
  if (!reference.startsWith('#/') || /^#\/(?:\$defs|definitions)\//.test(reference)) return reference
  return `#/properties/value${reference.slice(1)}`
}
