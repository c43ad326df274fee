import type { QuestionHandler } from '../feature/question.js'
import type { AskHandler } from '../loop/ask.js'
import type { SubagentSession } from './options.js'
import type { SubagentTaskSnapshot } from './task-record.js'

/** The questions of one subagent that wait for the user of its parent. */
export class OpenAsks {
  readonly handler: AskHandler | undefined
  readonly question: QuestionHandler | undefined
  readonly #session: SubagentSession
  readonly #waiting = new Set<string>()

  constructor(
    session: SubagentSession,
    { taskId, childSessionId, agent, description }: SubagentTaskSnapshot,
  ) {
    this.#session = session
    const { onAsk, confirmationPolicy } = session.options
    const { ask } = session.questions
    const source = { taskId, sessionId: childSessionId, agent, description }
    if (ask !== undefined)
      this.question = (questions, from = source, call) =>
        ask(questions, from, { signal: call?.signal ?? session.signal })
    if (onAsk === undefined && confirmationPolicy?.enabled !== true) return
    this.handler = async (request) => {
      // Two subagents can use the same call id.
      const toolCallId = `${taskId}:${request.toolCallId ?? request.id}`
      const notes = [`asked by the subagent "${agent}" (${description})`, ...request.notes]
      this.#waiting.add(toolCallId)
      try {
        return await session.confirmations.ask({ ...request, toolCallId, notes })
      } finally {
        this.#waiting.delete(toolCallId)
      }
    }
  }

  /** Rejects the pending questions, because the task has ended. */
  withdraw(): void {
    for (const toolId of this.#waiting)
      this.#session.confirmations.withdraw(toolId, 'The task that asked has ended.')
  }
}
