import type { QuestionHandler } from '../feature/question.js'
import type { Question, QuestionAnswers } from '../tool/runtime.js'

/** A question of the model that waits for an answer. */
export type PendingQuestion = {
  readonly questionId: string
  readonly questions: readonly Question[]
  readonly askedAtMs: number
  /** The subagent that asks. */
  readonly agent?: string | undefined
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

  /** Puts the questions of one session before its clients. */
  handlerOf(sessionId: () => string): QuestionHandler {
    return (questions, from) =>
      new Promise((resolve) => {
        const asked = this.#of(sessionId())
        const pending = {
          questionId: this.#newId(),
          questions,
          askedAtMs: this.#now(),
          ...(from !== undefined && { agent: from.agent }),
        }
        asked.set(pending.questionId, { pending, resolve })
      })
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

  /** The run that asked has ended: nothing waits for answers any more. */
  withdraw(sessionId: string): void {
    const asked = this.#sessions.get(sessionId)
    for (const one of asked?.values() ?? []) one.resolve = undefined
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

/** So many answered questions of a session are remembered, to refuse a second answer. */
const maxAnswered = 100

type Asked = { readonly pending: PendingQuestion; resolve: ((answers: QuestionAnswers) => void) | undefined }
