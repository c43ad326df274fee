import type { QuestionHandler } from '../feature/question.js'
import { askedQuestions } from '../session/journal/asked-questions.js'
import { load } from '../session/journal/restore.js'
import type { Session } from '../session/session.js'
import type { SessionStore } from '../store/session-store.js'
import type { Question, QuestionAnswers } from '../tool/session-services.js'

/** A question of the model that waits for an answer. */
export type PendingQuestion = {
  readonly questionId: string
  readonly questions: readonly Question[]
  readonly askedAtMs: number
  /** The subagent that asks. */
  readonly agent?: string | undefined
  /** It was asked by a process that has ended: the answer resumes the run. */
  readonly fromBefore?: true
}

/** The questions of all sessions that wait for answers of clients. Each is answered once. */
export class Questions {
  readonly #sessions = new Map<string, Map<string, Asked>>()
  readonly #now: () => number
  readonly #newId: () => string

  constructor(now: () => number, newId: () => string) {
    this.#now = now
    this.#newId = newId
  }

  /** Puts the questions of one session to its clients. A call of the model has its own id as the id of its question. */
  handlerOf(sessionId: () => string): QuestionHandler {
    return (questions, from, call) => {
      const asked = this.#of(sessionId())
      const questionId = call?.callId ?? this.#newId()
      const known = asked.get(questionId)
      if (known?.given !== undefined && isSame(known.pending.questions, questions)) {
        const { given } = known
        known.given = undefined
        return given
      }
      const pending = { questionId, questions, askedAtMs: this.#now(), agent: from?.agent }
      return new Promise((resolve) => {
        asked.set(questionId, { pending, resolve })
      })
    }
  }

  list(sessionId: string): PendingQuestion[] {
    return [...(this.#sessions.get(sessionId)?.values() ?? [])].flatMap(({ pending, resolve }) =>
      resolve === undefined ? [] : [pending],
    )
  }

  answer(
    sessionId: string,
    questionId: string,
    answers: QuestionAnswers,
  ): 'answered' | 'already_answered' | 'unknown' {
    const asked = this.#sessions.get(sessionId)?.get(questionId)
    if (asked === undefined) return 'unknown'
    if (asked.resolve === undefined) return 'already_answered'
    const { resolve } = asked
    asked.resolve = undefined
    resolve(answers)
    return 'answered'
  }

  /** Takes the answer to a question of an earlier process, for the run that asks it again. */
  answerSaved(sessionId: string, pending: PendingQuestion, given: QuestionAnswers): void {
    this.#of(sessionId).set(pending.questionId, { pending, resolve: undefined, given })
  }

  /** Forgets an answer that no run asks for. */
  forgetSaved(sessionId: string, questionId: string): void {
    this.#sessions.get(sessionId)?.delete(questionId)
  }

  /** The run that asked has ended: nothing waits for answers any more. */
  withdraw(sessionId: string): void {
    const asked = this.#sessions.get(sessionId)
    for (const one of asked?.values() ?? []) {
      one.resolve = undefined
      one.given = undefined
    }
    for (const id of [...(asked?.keys() ?? [])].slice(0, -maxAnswered)) asked?.delete(id)
  }

  /** The session was closed. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  #of(sessionId: string): Map<string, Asked> {
    const known = this.#sessions.get(sessionId)
    if (known !== undefined) return known
    const made = new Map<string, Asked>()
    this.#sessions.set(sessionId, made)
    return made
  }
}

/** The questions that a process left unanswered when it ended, as the log has them. */
export async function savedQuestions(store: SessionStore, session: Session): Promise<PendingQuestion[]> {
  if ((await session.currentRun()) !== null) return []
  if ((await session.runs()).at(-1)?.status !== 'interrupted') return []
  const state = await load(store, session.sessionId)
  if (state === undefined) return []
  return askedQuestions(state).map(({ questionId, questions, askedAtMs }) => ({
    questionId,
    questions,
    askedAtMs,
    fromBefore: true,
  }))
}

function isSame(a: readonly Question[], b: readonly Question[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** So many answered questions of a session are remembered, to refuse a second answer. */
const maxAnswered = 100

type Asked = {
  readonly pending: PendingQuestion
  resolve: ((answers: QuestionAnswers) => void) | undefined
  /** The answer to a question of an earlier process, until the resumed run takes it. */
  given?: QuestionAnswers | undefined
}
