import type { CompletionUsage } from '../../tool/completion.js'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { ArgumentProblem } from '../../tool/problem.js'

/** The code of an {@link ObjectGenerationError}. */
export type ObjectErrorCode =
  /** The request is invalid: a setting out of range, an invalid schema, or one that is too large. */
  | 'object_request_invalid'
  /** No answer matched the schema, including the last repair. */
  | 'object_invalid'
  | 'object_timeout'

/** One problem of an object, with its path. */
export type ObjectIssue = Pick<ArgumentProblem, 'path' | 'message'>

export type ObjectErrorFacts = {
  readonly issues?: readonly ObjectIssue[]
  readonly mode?: 'native' | 'tool' | 'prompt'
  readonly repairAttempts?: number
  readonly usage?: CompletionUsage
  /** The last text that the model wrote. */
  readonly rawText?: string | undefined
  /** The output limit cut off the last answer. */
  readonly truncated?: boolean
}

/**
 * Thrown when a model returned no object that matches the schema. The message contains the problems of the last answer.
 */
export class ObjectGenerationError extends CapstanError<ObjectErrorCode> {
  readonly issues: readonly ObjectIssue[]
  readonly mode: 'native' | 'tool' | 'prompt' | undefined
  readonly repairAttempts: number
  readonly usage: CompletionUsage | undefined
  readonly rawText: string | undefined
  readonly truncated: boolean

  constructor(code: ObjectErrorCode, message: string, facts: ObjectErrorFacts = {}, cause?: unknown) {
    super(code, message, cause === undefined ? undefined : { cause })
    this.issues = facts.issues ?? []
    this.mode = facts.mode
    this.repairAttempts = facts.repairAttempts ?? 0
    this.usage = facts.usage
    this.rawText = facts.rawText
    this.truncated = facts.truncated ?? false
  }
}

markErrorClass(ObjectGenerationError, 'ObjectGenerationError')
