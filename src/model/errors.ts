import { CapstanError, markErrorClass } from '../tool/errors.js'

export const modelErrorCodes = [
  'model_auth',
  'model_rate_limited',
  'model_unreachable',
  'model_stalled',
  'model_timeout',
  'model_context_overflow',
  'model_request_refused',
  'model_server_error',
  'model_bad_response',
  'model_answer_too_large',
  'model_unavailable',
  'model_circuit_open',
] as const
export type ModelErrorCode = (typeof modelErrorCodes)[number]

export type ModelErrorFacts = {
  readonly status?: number
  /** What the provider asked to wait. */
  readonly retryAfterMs?: number
  /** Whether the same request may work later. */
  readonly retryable?: boolean
  /** Whether the model had said something before it failed: a retry starts the answer again, where the caller can take that. */
  readonly emitted?: boolean
  readonly cause?: unknown
}

/** A model gave no answer. The message names provider, model and what to do; it never holds a key. */
export class ModelError extends CapstanError {
  declare readonly code: ModelErrorCode
  readonly status?: number
  readonly retryAfterMs?: number
  readonly retryable: boolean
  readonly emitted: boolean

  constructor(code: ModelErrorCode, message: string, facts: ModelErrorFacts = {}) {
    super(code, message, facts.cause === undefined ? undefined : { cause: facts.cause })
    if (facts.status !== undefined) this.status = facts.status
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs
    this.retryable = facts.retryable ?? false
    this.emitted = facts.emitted ?? false
  }
}

markErrorClass(ModelError, 'ModelError')
