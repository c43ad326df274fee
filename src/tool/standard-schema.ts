import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonSchema } from './json.js'
import { isRecord } from './json.js'
import type { ArgumentProblem } from './problem.js'
import type { Validation } from './validation.js'

/** A schema of any library that speaks Standard Schema: Zod, Valibot, ArkType and others. */
export type AnySchema = StandardSchemaV1
export type SchemaInput<Schema extends AnySchema> = StandardSchemaV1.InferInput<Schema>
export type SchemaOutput<Schema extends AnySchema> = StandardSchemaV1.InferOutput<Schema>

/** Checks a value with the library's own validator; asynchronous only when the schema is. */
export function validateWith<Schema extends AnySchema>(
  schema: Schema,
  input: unknown,
): Validation<SchemaOutput<Schema>> | Promise<Validation<SchemaOutput<Schema>>> {
  const result = schema['~standard'].validate(input) as
    | StandardSchemaV1.Result<SchemaOutput<Schema>>
    | Promise<StandardSchemaV1.Result<SchemaOutput<Schema>>>
  return 'then' in result ? result.then(toValidation) : toValidation(result)
}

/**
 * The JSON Schema of what a caller may write (the input view: a field with a default is optional). The library converts its
 * own schema through Standard JSON Schema; one that cannot needs `parameters` beside it. Throws when there is no conversion.
 */
export function parametersOf(schema: AnySchema, toolName: string): JsonSchema {
  const standard = schema['~standard'] as StandardSchemaV1.Props & Partial<StandardJSONSchemaV1.Props>
  if (typeof standard.jsonSchema?.input !== 'function') {
    throw new TypeError(
      `The input schema of tool "${toolName}" (${standard.vendor}) cannot say its JSON Schema. ` +
        `Give it beside the schema as "parameters", or use a version of ${standard.vendor} that implements Standard JSON Schema (Zod 4.2 or later does).`,
    )
  }
  let parameters: Record<string, unknown>
  try {
    parameters = standard.jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`The input schema of tool "${toolName}" has no JSON Schema form: ${why}`, { cause })
  }
  const { $schema: _, ...rest } = parameters
  return rest
}

/** Whether a value looks like a Standard Schema; ArkType's are functions. */
export function isStandardSchema(value: unknown): value is AnySchema {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  const standard = (value as { '~standard'?: { validate?: unknown } })['~standard']
  return typeof standard?.validate === 'function'
}

function toValidation<Value>(result: StandardSchemaV1.Result<Value>): Validation<Value> {
  if (result.issues === undefined) return { ok: true, value: result.value }
  return { ok: false, problems: result.issues.flatMap((issue) => toProblems(issue, [])) }
}

function toProblems(issue: StandardSchemaV1.Issue, prefix: ArgumentProblem['path']): ArgumentProblem[] {
  const path = [...prefix, ...(issue.path ?? []).map(toKey)]
  const branches = unionBranches(issue)
  if (branches === undefined) return [{ path, message: issue.message }]
  return (
    closestBranch(branches.map((branch) => branch.flatMap((inner) => toProblems(inner, path)))) ?? [
      { path, message: issue.message },
    ]
  )
}

/** Zod reports a failed union as one "Invalid input" with the issues of every branch inside; only those help a model. */
function unionBranches(issue: StandardSchemaV1.Issue): StandardSchemaV1.Issue[][] | undefined {
  const inner = (issue as { errors?: unknown }).errors
  if (!Array.isArray(inner) || inner.length === 0) return undefined
  const readable = inner.every(
    (branch) =>
      Array.isArray(branch) && branch.every((one) => isRecord(one) && typeof one['message'] === 'string'),
  )
  return readable ? (inner as StandardSchemaV1.Issue[][]) : undefined
}

/**
 * Of several shapes that all failed, the one the caller most likely meant: it got furthest, with the fewest problems. When
 * all failed alike at one place, their expectations are put together.
 */
export function closestBranch(branches: readonly ArgumentProblem[][]): ArgumentProblem[] | undefined {
  const told = branches.filter((branch) => branch.length > 0)
  const first = told[0]?.[0]
  if (first === undefined) return undefined
  const alike = told.every((branch) => branch.length === 1 && branch[0]?.path.length === first.path.length)
  if (alike)
    return [{ path: first.path, message: told.map((branch) => branch[0]?.message ?? '').join('; or ') }]
  const depth = (branch: ArgumentProblem[]): number =>
    Math.max(...branch.map((problem) => problem.path.length))
  return told.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0]
}

function toKey(segment: PropertyKey | StandardSchemaV1.PathSegment): string | number {
  const key = typeof segment === 'object' ? segment.key : segment
  return typeof key === 'number' ? key : String(key)
}
