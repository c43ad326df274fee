import { messageOf } from '../../tool/errors.js'
import { frozenCopy } from '../../tool/frozen-copy.js'
import { isRecord, type JsonSchema } from '../../tool/json.js'
import { compileJsonSchema } from '../../tool/json-schema.js'
import type { Validate } from '../../tool/validation.js'
import { ObjectGenerationError } from './errors.js'
import type { ObjectRequest } from './object-request.js'
import { type ObjectShape, shapeOf } from './object-shape.js'

/** A request with defaults filled in and limits checked. */
export type ObjectTask = {
  readonly prompt: string
  readonly system?: string | undefined
  /** The tool that a model calls with its answer. */
  readonly toolName: string
  readonly schemaDescription?: string | undefined
  readonly mode: NonNullable<ObjectRequest['mode']>
  readonly maxRepairAttempts: number
  readonly timeoutMs: number
  readonly shape: ObjectShape
}

const modes = ['auto', 'tool', 'prompt'] as const
const schemaName = /^[A-Za-z0-9_-]{1,59}$/
const most = { repairs: 5, timeoutMs: 600_000, schemaChars: 200_000, schemaDepth: 64 }
const minTimeoutMs = 1_000

/** Parses a request. Throws {@link ObjectGenerationError} with the setting, its range, and the given value. */
export function readObjectTask(request: ObjectRequest): ObjectTask {
  const { prompt, system, schemaDescription, mode = 'auto', schemaName: name = 'result' } = request
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalid('The prompt is empty: describe what to generate.')
  if (!modes.includes(mode))
    throw invalid(`mode must be one of ${modes.join(', ')}, not ${JSON.stringify(mode)}.`)
  if (typeof name !== 'string' || !schemaName.test(name))
    throw invalid(`schemaName must be 1 to 59 letters, digits, "_" or "-", not ${JSON.stringify(name)}.`)
  return {
    prompt,
    mode,
    toolName: `emit_${name}`,
    maxRepairAttempts: within('maxRepairAttempts', request.maxRepairAttempts ?? 2, 0, most.repairs),
    timeoutMs: within('timeoutMs', request.timeoutMs ?? 120_000, minTimeoutMs, most.timeoutMs),
    shape: shapeOf(bounded(request.schema)),
    system,
    schemaDescription,
  }
}

/** Returns a check for an untrusted schema. The schema's budget limits the work of a check. */
export function schemaCheck(schema: JsonSchema): Validate<unknown> {
  try {
    const compiled = compileJsonSchema(schema)
    return (value) => compiled.check(value)
  } catch (error) {
    throw invalid(`${messageOf(error)}.`, error)
  }
}

/** Returns a frozen copy of a schema that is small enough to be sent and checked. */
function bounded(schema: unknown): JsonSchema {
  if (!isRecord(schema)) throw invalid('The schema is not a JSON Schema: expected an object.')
  if (!isShallow(schema, most.schemaDepth))
    throw invalid(`The schema is nested deeper than ${most.schemaDepth} levels: use $defs and $ref.`)
  let text: string | undefined
  try {
    text = JSON.stringify(schema)
  } catch (error) {
    throw invalid(`The schema is not JSON: ${messageOf(error)}`, error)
  }
  if (text.length > most.schemaChars)
    throw invalid(
      `The schema has ${text.length} characters of JSON; the maximum is ${most.schemaChars}. Request less at once.`,
    )
  return frozenCopy(JSON.parse(text) as JsonSchema)
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1))
}

function within(name: string, value: number, from: number, to: number): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value
  throw invalid(`${name} must be an integer from ${from} to ${to}, not ${String(value)}.`)
}

function invalid(message: string, cause?: unknown): ObjectGenerationError {
  return new ObjectGenerationError('object_request_invalid', message, {}, cause)
}
