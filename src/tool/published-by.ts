import type { AnyTool } from './contract.js'
import type { ToolDefinition } from './definition.js'
import { CapstanError, messageOf } from './errors.js'
import { frozenCopy } from './frozen-copy.js'
import { isRecord, type JsonSchema } from './json.js'
import { compileJsonSchema } from './json-schema.js'
import { copyJson } from './json-text.js'
import { jsonTextOf } from './serialize.js'
import type { Validation } from './validation.js'

/** The usable part of a hand-written tool's definition. */
type Published = {
  readonly description: string
  readonly parameters: JsonSchema
  check(input: unknown): Validation<unknown>
  /** Why the arguments are not checked. */
  readonly unchecked?: string
}

/**
 * Reads the definition of a hand-written tool. If the validator does not support its schema, its arguments are not
 * checked. Rejects with the code `tool_definition_failed` when there is no definition.
 */
export async function publishedBy(tool: AnyTool): Promise<Published> {
  const definition = await definitionOf(tool)
  const description = typeof definition.description === 'string' ? definition.description : ''
  try {
    const parameters = objectSchema(definition.parameters)
    return { description, parameters, check: compileJsonSchema(parameters).check }
  } catch (error) {
    const unchecked = messageOf(error)
    return { description, parameters: publishable(definition.parameters), check: asItIs, unchecked }
  }
}

async function definitionOf(tool: AnyTool): Promise<ToolDefinition> {
  try {
    const definition: unknown = await tool.definition('')
    if (isRecord(definition)) return definition as ToolDefinition
    throw new TypeError('it is not an object')
  } catch (cause) {
    const message = `The tool ${JSON.stringify(tool.name)} cannot be used, its definition failed: ${messageOf(cause)}`
    throw new CapstanError(definitionFailed, message, { cause })
  }
}

export const definitionFailed = 'tool_definition_failed'

function objectSchema(given: unknown): JsonSchema {
  if (!isRecord(given)) throw new TypeError('Not a JSON Schema: it is not an object')
  const type = given['type']
  if (type !== undefined && type !== 'object')
    throw new TypeError(`Not the JSON Schema of an object: its type is ${JSON.stringify(type)}`)
  return frozenCopy(given)
}

/** Returns the schema unchanged if it is JSON and can describe an object: providers may support more than this code. */
function publishable(given: unknown): JsonSchema {
  const fits = isRecord(given) && (given['type'] ?? 'object') === 'object'
  const text = fits ? jsonTextOf(given) : undefined
  return text === undefined ? anyObject : frozenCopy(JSON.parse(text) as JsonSchema)
}

const anyObject: JsonSchema = frozenCopy({ type: 'object' })

/** Copies the arguments without a check: what is judged must not change before it runs. */
function asItIs(input: unknown): Validation<unknown> {
  try {
    return { ok: true, value: copyJson(input).value }
  } catch (error) {
    return { ok: false, problems: [{ path: [], message: `expected plain JSON data (${messageOf(error)})` }] }
  }
}
