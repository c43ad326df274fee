import type { Question, QuestionAnswers } from '../tool/session-services.js'

/** The subagent that asks a question, when it is not the session's own model. */
export type QuestionSource = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: string
  readonly description: string
}

/** The call that asks. A run that is resumed asks again under the same id. */
export type QuestionCall = { readonly callId: string }

/** Answers the questions of a model. */
export type QuestionHandler = (
  questions: readonly Question[],
  from?: QuestionSource,
  call?: QuestionCall,
) => QuestionAnswers | Promise<QuestionAnswers>
