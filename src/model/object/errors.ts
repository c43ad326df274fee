import type { CompletionUsage } from '../../tool/completion.js'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import type { ArgumentProblem } from '../../tool/problem.js'

export type ObjectErrorCode =
  /** What was asked for cannot be asked for: a setting out of bounds, a schema that is none or too large. */
  | 'object_request_invalid'
  /** No answer fitted, the last repair included. */
  | 'object_invalid'
  | 'object_timeout'

/** What was wrong with one place of an object. */
export type ObjectIssue = Pick<ArgumentProblem, 'path' | 'message'>

export type ObjectErrorFacts = {
  readonly issues?: readonly ObjectIssue[]
  readonly mode?: 'native' | 'tool' | 'prompt'
  readonly repairAttempts?: number
  readonly usage?: CompletionUsage
  /** What the model wrote at last. */
  readonly rawText?: string
  /** The last answer was cut off by the output limit. */
  readonly truncated?: boolean
}

/** A model was asked for data, and there is none that fits. The message has the problems of the last answer. */
export class ObjectGenerationError extends CapstanError {
  declare readonly code: ObjectErrorCode
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
