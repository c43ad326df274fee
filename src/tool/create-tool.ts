import type { GovernedTool, ToolCallContext } from './contract.js'
import type { Envelope, Unwrapped } from './envelope.js'
import { assembleTool, type GovernedOptions } from './govern.js'
import type { JsonSchema } from './json.js'
import {
  type AnySchema,
  isStandardSchema,
  parametersOf,
  type SchemaInput,
  type SchemaOutput,
  validateWith,
} from './standard-schema.js'
import { ToolOutputError } from './validation.js'

/** The output type of a tool with or without an output schema. */
export type ToolOutput<OutputSchema extends AnySchema | undefined> = OutputSchema extends AnySchema
  ? SchemaOutput<OutputSchema>
  : unknown

/** A value or a promise of it, plain or in an envelope. */
type Returns<Value> = Value | Envelope<Value> | Promise<Value | Envelope<Value>>

type CommonOptions<InputSchema extends AnySchema> = GovernedOptions<SchemaOutput<InputSchema>> & {
  name: string
  /** What a model reads to decide whether to call the tool. */
  description: string
  /** A Zod 4 schema, or a schema of any library that implements Standard Schema. */
  input: InputSchema
  /** The JSON Schema of `input`, for libraries that cannot convert their schemas. */
  parameters?: JsonSchema
}

/** The definition and the function of a tool with a schema of a schema library. */
export type CreateToolOptions<
  InputSchema extends AnySchema,
  OutputSchema extends AnySchema | undefined = undefined,
> = CommonOptions<InputSchema> & {
  output?: OutputSchema
  /** The work of the tool. Its result is checked against the `output` schema, if there is one. */
  execute(args: SchemaOutput<InputSchema>, context: ToolCallContext): unknown
}

/** A result of a known type must fit the output schema; `unknown` is checked at run time. */
type UnknownOnly<Returned> = unknown extends Awaited<Returned> ? unknown : never

/**
 * Creates a tool from a schema and a function. Arguments are checked before the function runs. With an `output`
 * schema, the result is checked too. Throws when the schema cannot be converted to JSON Schema.
 *
 * @example
 * ```ts
 * const add = createTool({
 *   name: 'add',
 *   description: 'Add two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * })
 * await add.call({ a: 1, b: 2 }) // 3
 * ```
 */
export function createTool<InputSchema extends AnySchema, OutputSchema extends AnySchema>(
  options: CommonOptions<InputSchema> & {
    output: OutputSchema
    execute(args: SchemaOutput<InputSchema>, context: ToolCallContext): Returns<SchemaInput<OutputSchema>>
  },
): GovernedTool<SchemaOutput<InputSchema>, ToolOutput<OutputSchema>>
export function createTool<InputSchema extends AnySchema, Returned = unknown>(
  options: CommonOptions<InputSchema> & {
    output?: undefined
    execute(args: SchemaOutput<InputSchema>, context: ToolCallContext): Returned | Promise<Returned>
  },
): GovernedTool<SchemaOutput<InputSchema>, Unwrapped<Returned>>
export function createTool<
  InputSchema extends AnySchema,
  OutputSchema extends AnySchema | undefined = undefined,
  Returned = unknown,
>(
  options: CommonOptions<InputSchema> & {
    output?: OutputSchema
    execute(args: SchemaOutput<InputSchema>, context: ToolCallContext): Returned
  } & UnknownOnly<Returned>,
): GovernedTool<SchemaOutput<InputSchema>, ToolOutput<OutputSchema>>
export function createTool(options: CreateToolOptions<AnySchema, AnySchema | undefined>): GovernedTool {
  const { name, input, output, execute, parameters, ...rest } = options
  if (!isStandardSchema(input)) {
    throw new TypeError(
      `The input of tool "${name}" is not a schema (Zod 4, or any Standard Schema); for a JSON Schema use createJsonTool`,
    )
  }
  return assembleTool<unknown, unknown>({
    ...rest,
    name,
    parameters: parameters ?? parametersOf(input, name),
    validate: (args) => validateWith(input, args),
    execute,
    finish: output && ((result) => checkOutput(name, output, result)),
  })
}

async function checkOutput(name: string, schema: AnySchema, result: unknown): Promise<unknown> {
  const validation = await validateWith(schema, result)
  if (!validation.ok) throw new ToolOutputError(name, validation.problems)
  return validation.value
}
