import type { JsonSchema } from '../../tool/json.js'
import type { AnySchema, SchemaOutput } from '../../tool/standard-schema.js'
import { type ObjectOptions, type ObjectResult, objectForHost } from '../objects-for-host.js'
import { coreOf } from './session-surface.js'
import { VerificationSurface } from './verification.js'

/** Structured output. */
export abstract class ObjectSurface extends VerificationSurface {
  /**
   * Asks the session's model for data: a value of a Zod schema, or of any Standard Schema, or one that fits a JSON Schema. It says
   * nothing into the conversation. Throws `ObjectGenerationError` when no answer fits.
   *
   * ```ts
   * const { object } = await session.generateObject(z.object({ mood: z.enum(['good', 'bad']) }), 'Classify: "Amazing!"')
   * ```
   */
  async generateObject<Schema extends AnySchema>(
    schema: Schema,
    request: string | ObjectOptions,
  ): Promise<ObjectResult<SchemaOutput<Schema>>>
  async generateObject(schema: JsonSchema, request: string | ObjectOptions): Promise<ObjectResult<unknown>>
  async generateObject(
    schema: AnySchema | JsonSchema,
    request: string | ObjectOptions,
  ): Promise<ObjectResult<unknown>> {
    return objectForHost(coreOf(this), schema, request)
  }
}
