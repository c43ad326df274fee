import type { CompletionUsage } from '../../tool/completion.js'
import type { JsonSchema } from '../../tool/json.js'

/** A request for an answer as data. */
export type ObjectRequest = {
  /** The JSON Schema of the answer, of any kind: object, list or single value. */
  readonly schema: JsonSchema
  readonly prompt: string
  /** Letters, digits, `_` and `-`. Default: `result`. */
  readonly schemaName?: string
  readonly schemaDescription?: string
  readonly system?: string
  /** `auto` uses the best mode that the model supports. */
  readonly mode?: 'auto' | 'tool' | 'prompt'
  /** How often an answer that does not match is sent back to the model. Default: 2; at most 5. */
  readonly maxRepairAttempts?: number
  /** The time limit of all attempts together, in milliseconds. Default: 120,000. */
  readonly timeoutMs?: number
}

/** A generated object with its usage. */
export type GeneratedObject<Value = unknown> = {
  readonly object: Value
  /** How it was requested: `native` where the provider itself enforces the schema. */
  readonly mode: 'native' | 'tool' | 'prompt'
  readonly repairAttempts: number
  /** The usage of all attempts together. */
  readonly usage: CompletionUsage
  /** The last text that the model wrote. */
  readonly rawText: string
}

/**
 * The part of an object that has arrived so far. It only grows within one attempt; each repair starts with an empty
 * one.
 */
export type PartialObject = { readonly value: unknown; readonly repairAttempt: number }

/** Asks the session's model for data. Its usage counts for the session. */
export interface RuntimeObjects {
  /** Generates an object. Rejects with the problems when no answer matches after all repairs. */
  generate(
    request: ObjectRequest,
    options?: { readonly signal?: AbortSignal; onPartial?(partial: PartialObject): void },
  ): Promise<GeneratedObject>
}

declare module '../../tool/session-services.js' {
  interface RuntimeSession {
    readonly objects?: RuntimeObjects
  }
}
