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
  /** The subagent that asked. */
  readonly agent?: string | undefined
  /** Whether the process that asked has ended. The answer then resumes the run. */
  readonly fromBefore?: true
}

/**
 * Stores answers to questions of processes that have ended, until the resumed runs ask again. All other questions wait
 * in their session for `answerQuestion`.
 */
export class SavedAnswers {
  readonly #sessions = new Map<string, Map<string, Given>>()

  /** Returns the handler of a session, which returns stored answers. */
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

  /** Drops the stored answers of a session that no run asks for. */
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

/** Returns the questions of a session that wait in this process. */
export function openQuestions(session: Session): PendingQuestion[] {
  return session.pendingQuestions().map(({ from, ...pending }) => ({ ...pending, agent: from?.agent }))
}

/** Returns the questions in the log that were unanswered when their process ended. */
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
