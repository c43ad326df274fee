import { messageOf } from '../../tool/errors.js'
import { frozenCopy } from '../../tool/frozen-copy.js'
import { isRecord, type JsonSchema } from '../../tool/json.js'
import { compileJsonSchema } from '../../tool/json-schema.js'
import type { ObjectRequest } from '../../tool/runtime.js'
import type { Validate } from '../../tool/validation.js'
import { ObjectGenerationError } from './errors.js'
import { type ObjectShape, shapeOf } from './object-shape.js'

/** A request with everything filled in and held to its bounds. */
export type ObjectTask = {
  readonly prompt: string
  readonly system?: string
  /** The tool that a model calls with its answer. */
  readonly toolName: string
  readonly schemaDescription?: string
  readonly mode: NonNullable<ObjectRequest['mode']>
  readonly maxRepairAttempts: number
  readonly timeoutMs: number
  readonly shape: ObjectShape
}

const modes = ['auto', 'tool', 'prompt'] as const
const schemaName = /^[A-Za-z0-9_-]{1,59}$/
const most = { repairs: 5, timeoutMs: 600_000, schemaChars: 200_000, schemaDepth: 64 }
const minTimeoutMs = 1_000

/** Throws {@link ObjectGenerationError} with the setting, what it may be, and what it was. */
export function readObjectTask(request: ObjectRequest): ObjectTask {
  const { prompt, system, schemaDescription, mode = 'auto', schemaName: name = 'result' } = request
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw invalid('The prompt is empty: say what is to be generated.')
  if (!modes.includes(mode)) throw invalid(`mode is one of ${modes.join(', ')}, not ${JSON.stringify(mode)}.`)
  if (typeof name !== 'string' || !schemaName.test(name))
    throw invalid(`schemaName is 1 to 59 letters, digits, "_" or "-", not ${JSON.stringify(name)}.`)
  return {
    prompt,
    mode,
    toolName: `emit_${name}`,
    maxRepairAttempts: within('maxRepairAttempts', request.maxRepairAttempts ?? 2, 0, most.repairs),
    timeoutMs: within('timeoutMs', request.timeoutMs ?? 120_000, minTimeoutMs, most.timeoutMs),
    shape: shapeOf(bounded(request.schema)),
    ...(system !== undefined && { system }),
    ...(schemaDescription !== undefined && { schemaDescription }),
  }
}

/** The check of a schema that may come from anywhere. The work of a check is bounded by the schema's own budget. */
export function schemaCheck(schema: JsonSchema): Validate<unknown> {
  try {
    const compiled = compileJsonSchema(schema)
    return (value) => compiled.check(value)
  } catch (error) {
    throw invalid(`${messageOf(error)}.`, error)
  }
}

/** A copy that cannot change, of a schema that is small enough to be sent and checked. */
function bounded(schema: unknown): JsonSchema {
  if (!isRecord(schema)) throw invalid('The schema is no JSON Schema: expected an object.')
  if (!isShallow(schema, most.schemaDepth))
    throw invalid(`The schema is nested deeper than ${most.schemaDepth} levels: use $defs and $ref.`)
  let text: string | undefined
  try {
    text = JSON.stringify(schema)
  } catch (error) {
    throw invalid(`The schema is no JSON: ${messageOf(error)}`, error)
  }
  if (text.length > most.schemaChars)
    throw invalid(
      `The schema has ${text.length} characters of JSON, and ${most.schemaChars} is the most: ask for less at once.`,
    )
  return frozenCopy(JSON.parse(text) as JsonSchema)
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((member) => isShallow(member, levels - 1))
}

function within(name: string, value: number, from: number, to: number): number {
  if (Number.isInteger(value) && value >= from && value <= to) return value
  throw invalid(`${name} is a whole number from ${from} to ${to}, not ${String(value)}.`)
}

function invalid(message: string, cause?: unknown): ObjectGenerationError {
  return new ObjectGenerationError('object_request_invalid', message, {}, cause)
}
