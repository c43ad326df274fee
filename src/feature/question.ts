import type { Question, QuestionAnswers } from '../tool/session-services.js'

/** The subagent that asks a question; absent for the session's own model. */
export type QuestionSource = {
  readonly taskId: string
  readonly sessionId: string
  readonly agent: string
  readonly description: string
}

/** The call that asks the question. */
export type QuestionCall = {
  /** The id of the call by the session's own model. A resumed run asks again under the same id. */
  readonly callId?: string | undefined
  /**
   * Aborted when the answer is no longer needed: the call has ended, or `answerQuestion` was called. Then the reason is
   * the {@link QuestionAnswers} that were given.
   */
  readonly signal: AbortSignal
}

/** Answers the questions of a model. */
export type QuestionHandler = (
  questions: readonly Question[],
  from?: QuestionSource,
  call?: QuestionCall,
) => QuestionAnswers | Promise<QuestionAnswers>

/** Asks the user of a session questions and waits for the answers. */
export type AskQuestions = (
  questions: readonly Question[],
  from: QuestionSource | undefined,
  call: QuestionCall,
) => Promise<QuestionAnswers>
