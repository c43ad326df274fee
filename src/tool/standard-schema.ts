import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import { messageOf } from './errors.js'
import type { JsonSchema } from './json.js'
import { isRecord } from './json.js'
import { withoutPrototypeKeys } from './json-text.js'
import { type ArgumentProblem, closestShape } from './problem.js'
import type { Validation } from './validation.js'

/** A schema of any library that implements Standard Schema: Zod, Valibot, ArkType and others. */
export type AnySchema = StandardSchemaV1
export type SchemaInput<Schema extends AnySchema> = StandardSchemaV1.InferInput<Schema>
/**
 * The output type of a schema. For Zod it is written exactly like `z.output`, including `any`: in a generic function
 * TypeScript treats the two types as equal only when they are written alike.
 */
// biome-ignore lint/suspicious/noExplicitAny: `unknown` would be a different type than Zod's.
export type SchemaOutput<Schema extends AnySchema> = Schema extends { _zod: { output: any } }
  ? Schema['_zod']['output']
  : StandardSchemaV1.InferOutput<Schema>

/** Checks a value with the library's own validator; asynchronous only when the schema is. */
export function validateWith<Schema extends AnySchema>(
  schema: Schema,
  input: unknown,
): Validation<SchemaOutput<Schema>> | Promise<Validation<SchemaOutput<Schema>>> {
  const result = schema['~standard'].validate(withoutPrototypeKeys(input)) as
    | StandardSchemaV1.Result<SchemaOutput<Schema>>
    | Promise<StandardSchemaV1.Result<SchemaOutput<Schema>>>
  return 'then' in result ? result.then(toValidation) : toValidation(result)
}

/**
 * Returns the JSON Schema of what a caller can write (the input view: a field with a default is optional). The
 * library converts its own schema through Standard JSON Schema; other libraries need `parameters`. Throws when there
 * is no conversion.
 */
export function parametersOf(schema: AnySchema, toolName: string): JsonSchema {
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (typeof standard.jsonSchema?.input !== 'function') {
    throw new TypeError(
      `The input schema of tool "${toolName}" (${standard.vendor}) cannot be converted to JSON Schema. ` +
        `Pass its JSON Schema as "parameters", or use a version of ${standard.vendor} that implements Standard JSON Schema (Zod 4.2 or later does).`,
    )
  }
  let parameters: Record<string, unknown>
  try {
    parameters = standard.jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    throw new TypeError(
      `The input schema of tool "${toolName}" has no JSON Schema form: ${messageOf(cause)}`,
      { cause },
    )
  }
  const { $schema: _, ...rest } = parameters
  return rest
}

/** Returns whether a value looks like a Standard Schema; those of ArkType are functions. */
export function isStandardSchema(value: unknown): value is AnySchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const standard = (value as { '~standard'?: { validate?: unknown } })['~standard']
  return typeof standard?.validate === 'function'
}

function toValidation<Value>(result: StandardSchemaV1.Result<Value>): Validation<Value> {
  if (result.issues === undefined) return { ok: true, value: result.value }
  return {
    ok: false,
    problems: result.issues.flatMap((issue) => toProblems(issue, [])),
    cause: result.issues,
  }
}

function toProblems(
  issue: StandardSchemaV1.Issue,
  prefix: ArgumentProblem['path'],
): readonly ArgumentProblem[] {
  const path = [...prefix, ...(issue.path ?? []).map(toKey)]
  const own: ArgumentProblem = {
    path,
    message: issue.message,
    ...(isFixedValue(issue) ? { fixed: true } : {}),
  }
  const branches = unionBranches(issue)?.map((branch) => branch.flatMap((inner) => toProblems(inner, path)))
  return (branches && closestShape(branches, path.length)) ?? [own]
}

/** Zod reports a failed union as one "Invalid input" with the issues of each branch inside; only those help a model. */
function unionBranches(issue: StandardSchemaV1.Issue): StandardSchemaV1.Issue[][] | undefined {
  const inner = (issue as { errors?: unknown }).errors
  if (!Array.isArray(inner) || inner.length === 0) return undefined
  const readable = inner.every(
    (branch) =>
      Array.isArray(branch) && branch.every((one) => isRecord(one) && typeof one['message'] === 'string'),
  )
  return readable ? (inner as StandardSchemaV1.Issue[][]) : undefined
}

function isFixedValue(issue: StandardSchemaV1.Issue): boolean {
  return (issue as { code?: unknown }).code === 'invalid_value'
}

function toKey(segment: PropertyKey | StandardSchemaV1.PathSegment): string | number {
  const key = typeof segment === 'object' ? segment.key : segment
  return typeof key === 'number' ? key : String(key)
}
