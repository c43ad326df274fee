import { ObjectGenerationError } from '../model/object/errors.js'
import type { ObjectRequest, RuntimeObjects } from '../model/object/object-request.js'
import type { CompletionUsage } from '../tool/completion.js'
import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { MissingServiceError, requireService } from './require-service.js'

/** The arguments of `generate_object`. */
export type GenerateObjectArgs = {
  schema: JsonObject
  prompt: string
  schema_name?: string | undefined
  schema_description?: string | undefined
  system?: string | undefined
  mode?: 'auto' | 'tool' | 'prompt' | undefined
  max_repair_attempts?: number | undefined
  include_raw_text?: boolean | undefined
  timeout_ms?: number | undefined
}

/** Generates data that matches a schema, outside of the conversation. */
export const generateObjectTool = builtInTool<GenerateObjectArgs>({
  name: 'generate_object',
  description:
    'Get JSON that fits a JSON Schema, checked and repaired. It sees the prompt alone, so put the material into it.',
  unlisted: [
    'schema_name',
    'schema_description',
    'mode',
    'max_repair_attempts',
    'include_raw_text',
    'timeout_ms',
  ],
  kind: 'other',
  // Truncated output would not be valid JSON; no model writes this much at once.
  limits: { maxBytes: 4 * 1024 * 1024 },
  parameters: objectSchema({
    schema: { type: 'object' },
    prompt: { type: 'string', pattern: '\\S' },
    'schema_name?': { type: 'string', pattern: '^[\\w-]{1,59}$' },
    'schema_description?': { type: 'string' },
    'system?': { type: 'string' },
    'mode?': { enum: ['auto', 'tool', 'prompt'] },
    'max_repair_attempts?': { type: 'integer', minimum: 0, maximum: 5 },
    'include_raw_text?': { type: 'boolean' },
    'timeout_ms?': { type: 'integer', minimum: 1_000, maximum: 600_000 },
  }),
  execute: generate,
})

async function generate(args: GenerateObjectArgs, context: ToolCallContext): Promise<Envelope> {
  const { progress, signal } = context
  try {
    const { object, mode, repairAttempts, usage, rawText } = await objectsOf(context).generate(
      requestOf(args),
      {
        ...omitUndefined({ signal }),
        ...(progress !== undefined && {
          onPartial: ({ value, repairAttempt }) =>
            progress({ object_partial: value, ...(repairAttempt > 0 && { repair_attempt: repairAttempt }) }),
        }),
      },
    )
    return outputEnvelope(
      {
        object,
        repair_attempts: repairAttempts,
        mode_used: mode,
        ...(args.include_raw_text && { raw_text: rawText }),
      },
      metadataOf(args, { mode, repairAttempts, usage }),
    )
  } catch (error) {
    if (!(error instanceof ObjectGenerationError)) throw error
    return failed(args, error)
  }
}

function objectsOf(context: ToolCallContext): RuntimeObjects {
  const { objects } = requireService(context, 'session')
  if (objects === undefined) throw new MissingServiceError('session.objects')
  return objects
}

function requestOf(args: GenerateObjectArgs): ObjectRequest {
  const { schema, prompt, system, mode } = args
  return {
    schema,
    prompt,
    ...omitUndefined({
      schemaName: args.schema_name,
      schemaDescription: args.schema_description,
      system,
      mode,
      maxRepairAttempts: args.max_repair_attempts,
      timeoutMs: args.timeout_ms,
    }),
  }
}

const maxIssues = 20
const maxRawLength = 20_000

function failed(args: GenerateObjectArgs, error: ObjectGenerationError): Envelope {
  const { message, code, issues, rawText, truncated } = error
  const raw =
    args.include_raw_text && rawText !== undefined
      ? `\n\nIts last answer was:\n${rawText.slice(0, maxRawLength)}`
      : ''
  return errorEnvelope(`${message}${raw}`, {
    ...metadataOf(args, error),
    error_code: code,
    truncated_answer: truncated,
    issues: issues
      .slice(0, maxIssues)
      .map(({ path, message: words }) => ({ path: [...path], message: words.slice(0, 200) })),
  })
}

function metadataOf(
  { schema_name = 'result' }: GenerateObjectArgs,
  { mode, repairAttempts, usage }: Pick<ObjectGenerationError, 'mode' | 'usage' | 'repairAttempts'>,
): JsonObject {
  return {
    schema_name,
    repair_attempts: repairAttempts,
    ...omitUndefined({ mode_used: mode }),
    ...(usage !== undefined && { usage: snakeUsage(usage) }),
  }
}

function snakeUsage({ inputTokens, outputTokens, totalTokens }: CompletionUsage): JsonObject {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens }
}
