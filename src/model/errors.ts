import { CapstanError, markErrorClass } from '../tool/errors.js'

/** All codes of a {@link ModelError}. */
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
/** The code of a {@link ModelError}. */
export type ModelErrorCode = (typeof modelErrorCodes)[number]

/** Details of a failed request. */
export type ModelErrorFacts = {
  readonly status?: number
  /** The delay that the provider requested. */
  readonly retryAfterMs?: number
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean
  /** Whether part of the answer had been emitted before: a retry restarts the answer, if the caller supports that. */
  readonly emitted?: boolean
  readonly cause?: unknown
}

/** Thrown when a model returns no answer. The message names provider, model and what to do; it never contains a key. */
export class ModelError extends CapstanError<ModelErrorCode> {
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
