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

/**
 * The answers to questions of processes that have ended, until the runs that ask again take them. All other questions
 * wait in their session for `answerQuestion`.
 */
export class SavedAnswers {
  readonly #sessions = new Map<string, Map<string, Given>>()

  /** Answers a question of one session that was answered already. */
  handlerOf(sessionId: () => string): QuestionHandler {
    return (questions, _, call) => {
      const given = this.#take(sessionId(), call?.callId)
      if (given !== undefined && isSame(given.questions, questions)) return given.answers
      return new Promise(() => undefined)
    }
  }

  put(sessionId: string, { questionId, questions }: PendingQuestion, answers: QuestionAnswers): void {
    const ofSession = this.#sessions.get(sessionId) ?? new Map<string, Given>()
    this.#sessions.set(sessionId, ofSession.set(questionId, { questions, answers }))
  }

  /** Forgets the answers that no run asks for. */
  forget(sessionId: string): void {
    this.#sessions.delete(sessionId)
  }

  #take(sessionId: string, callId: string | undefined): Given | undefined {
    const ofSession = callId === undefined ? undefined : this.#sessions.get(sessionId)
    const given = ofSession?.get(callId ?? '')
    ofSession?.delete(callId ?? '')
    return given
  }
}

/** The questions of a session that wait in this process. */
export function openQuestions(session: Session): PendingQuestion[] {
  return session.pendingQuestions().map(({ from, ...pending }) => ({ ...pending, agent: from?.agent }))
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

type Given = { readonly questions: readonly Question[]; readonly answers: QuestionAnswers }
