import { isRecord, type JsonSchema } from '../../tool/json.js'

/** A schema as it is, and as providers take it: with an object at its root. */
export type ObjectShape = {
  readonly schema: JsonSchema
  readonly sent: JsonSchema
  /** Whether the answer is the member `value` of what is sent. */
  readonly wrapped: boolean
}

/** Lists, single values and unions at the root are sent as the one member of an object. */
export function shapeOf(schema: JsonSchema): ObjectShape {
  const { $schema: _, ...plain } = schema
  if (plain['type'] === 'object' && !rootUnions.some((keyword) => keyword in plain))
    return { schema, sent: plain, wrapped: false }
  return { schema, sent: wrap(plain), wrapped: true }
}

/**
 * What a written value may stand for, the likeliest first: a model that was asked for an object with a `value` now and then gives the
 * value alone.
 */
export function readings({ wrapped }: Pick<ObjectShape, 'wrapped'>, written: unknown): readonly unknown[] {
  if (!wrapped || !isRecord(written) || !Object.hasOwn(written, 'value')) return [written]
  return [written['value'], written]
}

const rootUnions = ['anyOf', 'oneOf', 'allOf', '$ref', 'not', 'if']

function wrap(schema: JsonSchema): JsonSchema {
  // One with an address of its own keeps its references wherever it stands.
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

/** References to the old root lead to where it stands now; those to definitions stay, since these stay at the root. */
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
