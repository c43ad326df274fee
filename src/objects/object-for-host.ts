import type { FeatureContext } from '../feature/feature-context.js'
import { redactValue } from '../feature/redact-value.js'
import { type Usage, usageOf } from '../loop/usage.js'
import { ObjectGenerationError } from '../model/object/errors.js'
import type { GeneratedObject, ObjectRequest, PartialObject } from '../model/object/object-request.js'
import { messageOf } from '../tool/errors.js'
import type { JsonSchema } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { type AnySchema, isStandardSchema, parametersOf, validateWith } from '../tool/standard-schema.js'
import type { Validation } from '../tool/validation.js'
import { generateFor } from './generate.js'

/** The options of `generateObject`. */
export type ObjectOptions = Omit<ObjectRequest, 'schema'> & {
  /** The JSON Schema, for a schema library that cannot produce it. */
  readonly jsonSchema?: JsonSchema
  readonly signal?: AbortSignal
  /** Called with the part of the object that has arrived so far, at most ten times a second. */
  readonly onPartial?: (partial: PartialObject) => void
}

/** A generated object with its cost. */
export type ObjectResult<Value> = Omit<GeneratedObject<Value>, 'usage'> & {
  readonly usage: Usage
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number
}

/**
 * Generates a value that a schema library or a JSON Schema accepts. Secrets are redacted as everywhere in the
 * session.
 */
export async function objectForHost<Value>(
  session: FeatureContext,
  schema: AnySchema | JsonSchema,
  given: string | ObjectOptions,
): Promise<ObjectResult<Value>> {
  const { jsonSchema, signal, onPartial, ...request }: ObjectOptions =
    typeof given === 'string' ? { prompt: given } : given
  const standard = isStandardSchema(schema) ? schema : undefined
  const json = standard === undefined ? (schema as JsonSchema) : (jsonSchema ?? jsonFormOf(standard))
  const clean = (text: string): string => session.redactor.text(text)
  try {
    const made = await generateFor<Value>(
      session,
      { ...request, schema: json },
      {
        signal,
        onPartial:
          onPartial && (({ value, ...rest }) => onPartial({ ...rest, value: redactValue(value, clean) })),
        // The library decides in the end: it can reject more than its JSON Schema does, and return another value.
        check: standard && (async (value) => (await validateWith(standard, value)) as Validation<Value>),
      },
    )
    const { object, rawText, usage, ...rest } = made
    return { ...rest, object: redactValue(object, clean), rawText: clean(rawText), usage: usageOf(usage) }
  } catch (error) {
    throw error instanceof ObjectGenerationError ? cleanError(error, clean) : error
  }
}

function jsonFormOf(schema: AnySchema): JsonSchema {
  try {
    return parametersOf(schema, 'generate_object')
  } catch (error) {
    const { vendor } = schema['~standard']
    throw new ObjectGenerationError(
      'object_request_invalid',
      `This schema of ${vendor} has no JSON Schema form that a model could be shown: give one as the option jsonSchema.`,
      { issues: [{ path: [], message: messageOf(error) }] },
      error,
    )
  }
}

function cleanError(error: ObjectGenerationError, clean: (text: string) => string): ObjectGenerationError {
  const { code, message, issues, mode, repairAttempts, usage, rawText, truncated, cause } = error
  return new ObjectGenerationError(
    code,
    clean(message),
    {
      issues: redactValue(issues, clean),
      repairAttempts,
      truncated,
      ...omitUndefined({ mode, usage }),
      ...(rawText !== undefined && { rawText: clean(rawText) }),
    },
    cause,
  )
}
