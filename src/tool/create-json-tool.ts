import type { GovernedTool, ToolCallContext } from './contract.js'
import type { Unwrapped } from './envelope.js'
import { frozenCopy } from './frozen-copy.js'
import { assembleTool, type GovernedOptions } from './govern.js'
import type { JsonObject, JsonSchema } from './json.js'
import { compileJsonSchema } from './json-schema.js'
import { publishedSchema } from './published-schema.js'
import type { Validation } from './validation.js'

/** The definition and the function of a tool with a JSON Schema. */
export type CreateJsonToolOptions<Args = JsonObject, Returned = unknown> = GovernedOptions<Args> & {
  name: string
  /** What a model reads to decide whether to call the tool. */
  description: string
  /** The JSON Schema of the arguments: draft 2020-12, or draft-07 when `$schema` says so. */
  parameters: JsonSchema
  execute(args: Args, context: ToolCallContext): Returned | Promise<Returned>
}

/**
 * Creates a tool from a JSON Schema, for tools whose schema comes from a server or a file, and for programs that should
 * load no schema library. Throws when the schema is invalid.
 *
 * @example
 * ```ts
 * const add = createJsonTool<{ a: number; b: number }>({
 *   name: 'add',
 *   description: 'Add two numbers.',
 *   parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
 *   execute: ({ a, b }) => a + b,
 * })
 * ```
 */
export function createJsonTool<Args = JsonObject, Returned = unknown>(
  options: CreateJsonToolOptions<Args, Returned>,
): GovernedTool<Args, Unwrapped<Returned>> {
  const parameters = frozenCopy(options.parameters)
  const schema = compileJsonSchema(parameters)
  return toolWith({ ...options, parameters }, () => schema)
}

/**
 * Creates a built-in tool. A test checks the schemas of all built-in tools, so a schema is compiled at the first call:
 * most sessions use few of their tools. Models read a shorter schema (`publishedSchema`); `unlisted` are arguments
 * that it leaves out: other names for an argument, and what few calls need.
 */
export function builtInTool<Args = JsonObject, Returned = unknown>(
  options: CreateJsonToolOptions<Args, Returned> & { unlisted?: readonly string[] },
): GovernedTool<Args, Unwrapped<Returned>> {
  const parameters = frozenCopy(options.parameters)
  const shown = frozenCopy(publishedSchema(parameters, options.unlisted))
  // Compiled once: the copy cannot change.
  return toolWith({ ...options, parameters }, () => compileJsonSchema(parameters), shown)
}

function toolWith<Args, Returned>(
  options: CreateJsonToolOptions<Args, Returned>,
  schema: () => ReturnType<typeof compileJsonSchema>,
  shown?: JsonSchema,
): GovernedTool<Args, Unwrapped<Returned>> {
  return assembleTool<Args, Unwrapped<Returned>>({
    ...options,
    shown,
    // The schema is the caller's promise that a value that fits it is an `Args`.
    validate: (args) => schema().check(args) as Validation<Args>,
  })
}
