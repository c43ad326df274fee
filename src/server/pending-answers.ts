import type { PendingConfirmation } from '../session/confirmations.js'
import type { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import { openQuestions, type PendingQuestion, savedQuestions } from './questions.js'
import type { ServerCore } from './server-core.js'

/** The approvals and questions of sessions that wait for a user, and the answers that were given. */
export class PendingAnswers {
  readonly #core: ServerCore
  /** The answers that were given, by session and call or question. */
  readonly #answers = new Map<string, string>()

  constructor(core: ServerCore) {
    this.#core = core
  }

  /** Returns the questions of a session that wait for answers, of this process and of one that has ended. */
  async questions(principal: Principal, session: Session): Promise<PendingQuestion[]> {
    if (this.#core.queued !== undefined) return this.#core.queued.questions(principal, session)
    const live = openQuestions(session)
    const saved = await savedQuestions(this.#core.pool.store, session)
    return [...live, ...saved.filter(({ questionId }) => !live.some((one) => one.questionId === questionId))]
  }

  /** Returns the approvals and questions of a session that wait for a user. */
  async waiting(
    principal: Principal,
    session: Session,
  ): Promise<{ readonly approvals: PendingConfirmation[]; readonly questions: PendingQuestion[] }> {
    if (this.#core.queued === undefined)
      return {
        approvals: session.pendingConfirmations(),
        questions: openQuestions(session),
      }
    // The log may have more records by now.
    const current = await this.#core.pool.current(session.sessionId)
    return {
      approvals: current.pendingConfirmations(),
      questions: await this.#core.queued.questions(principal, current),
    }
  }

  /** Answers a question. If the process that asked has ended, its run is resumed, and the new run is returned. */
  async answerQuestion(
    principal: Principal,
    session: Session,
    questionId: string,
    answers: QuestionAnswers,
  ): Promise<string | undefined> {
    if (await this.#core.queued?.answerQuestion(principal, session, questionId, answers)) return undefined
    const pending = (await this.questions(principal, session)).find((one) => one.questionId === questionId)
    if (pending !== undefined && pending.questions.length !== answers.answers.length)
      throw new ProblemError('invalid_request', `There must be ${pending.questions.length} lists of answers.`)
    if (pending?.fromBefore === true) return this.#answerSaved(session, pending, answers)
    if (await session.answerQuestion(questionId, answers)) {
      this.rememberAnswer(session.sessionId, `question ${questionId}`, 'answered')
      return undefined
    }
    const isKnown = this.answerTo(session.sessionId, `question ${questionId}`) !== undefined
    throw new ProblemError(
      isKnown || hasAsked(session, questionId) ? 'already_answered' : 'question_not_found',
    )
  }

  async #answerSaved(
    session: Session,
    pending: PendingQuestion,
    answers: QuestionAnswers,
  ): Promise<string | undefined> {
    const cut = (await session.runs()).findLast(({ status }) => status === 'interrupted')
    if (cut === undefined) throw new ProblemError('question_not_found')
    this.#core.savedAnswers.put(session.sessionId, pending, answers)
    try {
      const resumed = await this.#core.local.resume(session, cut.id)
      return 'runId' in resumed ? resumed.runId : undefined
    } catch (error) {
      this.#core.savedAnswers.forget(session.sessionId)
      throw error
    }
  }

  rememberAnswer(sessionId: string, callId: string, decision: string): void {
    this.#answers.set(`${sessionId}/${callId}`, decision)
    if (this.#answers.size <= maxAnswers) return
    const [oldest] = this.#answers.keys()
    if (oldest !== undefined) this.#answers.delete(oldest)
  }

  answerTo(sessionId: string, callId: string): string | undefined {
    return this.#answers.get(`${sessionId}/${callId}`)
  }

  /** Whether a call asked for an approval, now or earlier, in a run that this process knows. */
  async wasAsked(session: Session, callId: string): Promise<boolean> {
    for (const { id } of (await session.runs()).toReversed()) {
      const events = await session.runEvents(id)
      if (events.some(({ event }) => event.type === 'confirmation_required' && event.toolId === callId))
        return true
    }
    return false
  }
}

/** Whether a call with this id asked a question in a process that has ended. */
function hasAsked(session: Session, callId: string): boolean {
  return kernelOf(session).log.conversation.messages.some(
    ({ role, content }) =>
      role === 'assistant' &&
      content.some(
        (part) => part.type === 'tool_call' && part.id === callId && part.function.name === 'question',
      ),
  )
}

const maxAnswers = 10_000
