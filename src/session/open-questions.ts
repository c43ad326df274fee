import type { AskQuestions, QuestionCall, QuestionHandler, QuestionSource } from '../feature/question.js'
import type { AgentEvent } from '../loop/events.js'
import type { Question, QuestionAnswers } from '../tool/session-services.js'

/** A question of a model that waits for an answer. */
export type PendingQuestion = {
  /** The id of the call that asks; a separate id for a question of a subagent or of an MCP server. */
  readonly questionId: string
  readonly questions: readonly Question[]
  readonly askedAtMs: number
  /** The subagent that asks. */
  readonly from?: QuestionSource | undefined
}

/** What the questions need from their session. */
type QuestionHost = {
  readonly options: { readonly onQuestion?: QuestionHandler }
  emit(event: AgentEvent): void
  now(): number
  newId(): string
}

/** The questions of one session that wait for a user. Each is answered once: by the host's handler, or by `answer`. */
export class OpenQuestions {
  readonly #host: QuestionHost
  #waiting: Map<string, Waiting> | undefined

  constructor(host: QuestionHost) {
    this.#host = host
  }

  /** Asks the user questions and waits for the answers. Undefined when the host has no handler: there is no user. */
  get ask(): AskQuestions | undefined {
    const { onQuestion } = this.#host.options
    return onQuestion && ((questions, from, call) => this.#ask(onQuestion, questions, from, call))
  }

  pending(): PendingQuestion[] {
    return [...(this.#waiting?.values() ?? [])].map(({ pending }) => pending)
  }

  /** Returns the waiting calls of the session's own model. A resumed run makes them again. */
  calls(): string[] {
    return [...(this.#waiting?.values() ?? [])].flatMap(({ callId }) => callId ?? [])
  }

  /** Answers a question. Returns false when none waits under this id. */
  answer(questionId: string, answers: QuestionAnswers): boolean {
    const asked = this.#waiting?.get(questionId)
    this.#waiting?.delete(questionId)
    asked?.answer(answers)
    return asked !== undefined
  }

  async #ask(
    onQuestion: QuestionHandler,
    questions: readonly Question[],
    from: QuestionSource | undefined,
    { callId, signal }: QuestionCall,
  ): Promise<QuestionAnswers> {
    const { agent, taskId } = from ?? {}
    this.#host.emit({ type: 'user_question', questions, toolId: callId, agent, taskId })
    signal.throwIfAborted()
    // A model can use the same id for two calls: an answer to one must not apply to the other.
    this.#waiting ??= new Map()
    const waiting = this.#waiting
    const isOwnId = callId !== undefined && !waiting.has(callId)
    const questionId = isOwnId ? callId : this.#host.newId()
    const pending: PendingQuestion = { questionId, questions, askedAtMs: this.#host.now(), from }
    const over = new AbortController()
    const withdraw = (): void => over.abort(signal.reason)
    signal.addEventListener('abort', withdraw, { once: true })
    try {
      return await new Promise<QuestionAnswers>((resolve, reject) => {
        waiting.set(questionId, {
          pending,
          callId,
          answer: (answers) => {
            resolve(answers)
            over.abort(answers)
          },
        })
        // After an answer, this has no effect.
        over.signal.addEventListener('abort', () => reject(over.signal.reason), { once: true })
        const handled = async () => onQuestion(questions, from, { callId, signal: over.signal })
        handled().then(resolve, reject)
      })
    } finally {
      // After an answer, another question may already have the id.
      if (waiting.get(questionId)?.pending === pending) waiting.delete(questionId)
      signal.removeEventListener('abort', withdraw)
    }
  }
}

type Waiting = {
  readonly pending: PendingQuestion
  readonly callId: string | undefined
  answer(answers: QuestionAnswers): void
}
