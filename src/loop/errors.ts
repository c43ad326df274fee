import type { Message } from '../tool/completion.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'

/** All codes of errors that end a run. */
export const runErrorCodes = [
  'cancelled',
  'run_timeout',
  'round_timeout',
  'max_tool_rounds',
  'malformed_calls',
  'repeated_calls',
  'compaction_failed',
  'blocked_by_hook',
  'budget_exhausted',
] as const
/** Why a run failed. Codes are stable; the messages with them can change. */
export type RunErrorCode = (typeof runErrorCodes)[number]

/**
 * Thrown when a run ended before its answer: it was cancelled, or reached a limit. The message names the limit and its
 * option.
 */
export class RunError extends CapstanError<RunErrorCode> {}

markErrorClass(RunError, 'RunError')

/** Thrown when the model called tools in one turn more than allowed; these calls did not run. */
export class MaxTurnsError extends RunError {
  readonly limit: number
  /** The conversation so far, including these calls. */
  declare readonly messages: readonly Message[]

  constructor(limit: number, option: string, messages: readonly Message[] = []) {
    super(
      'max_tool_rounds',
      `The run used all of its ${limit} tool rounds and the model asked for another. Raise ${option}, or ask for less at once.`,
    )
    this.limit = limit
    // Not enumerable: a log of the error must not print the whole conversation.
    Object.defineProperty(this, 'messages', { value: messages })
  }
}

markErrorClass(MaxTurnsError, 'MaxTurnsError')

/** Thrown when the budget guard refused a model call. The session stays open: raise the budget and send again. */
export class BudgetExhaustedError extends RunError {
  /** The resource that is used up, such as `llm_tokens`. */
  readonly resource: string
  /** The guard's reason for the refusal. */
  readonly reason: string

  constructor(resource: string, reason: string) {
    super('budget_exhausted', `Budget exhausted on '${resource}': ${reason}`)
    this.resource = resource
    this.reason = reason
  }
}

markErrorClass(BudgetExhaustedError, 'BudgetExhaustedError')
