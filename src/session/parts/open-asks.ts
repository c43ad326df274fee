import type { AskHandler } from '../../loop/ask.js'
import type { SubagentTaskSnapshot } from '../../subagents/task-record.js'
import type { SessionCore } from '../core.js'
import type { QuestionHandler } from '../options.js'

/** The questions of one child that wait for the people of its parent. */
export class OpenAsks {
  readonly handler: AskHandler | undefined
  readonly question: QuestionHandler | undefined
  readonly #core: SessionCore
  readonly #waiting = new Set<string>()

  constructor(core: SessionCore, { taskId, childSessionId, agent, description }: SubagentTaskSnapshot) {
    this.#core = core
    const { onAsk, onQuestion, confirmationPolicy } = core.parts.options
    const source = { taskId, sessionId: childSessionId, agent, description }
    if (onQuestion !== undefined)
      this.question = (questions, from = source) => {
        core.emit({ type: 'user_question', questions, agent: from.agent, taskId: from.taskId })
        return onQuestion(questions, from)
      }
    if (onAsk === undefined && confirmationPolicy?.enabled !== true) return
    this.handler = async (request) => {
      // Two children may well use the same id for a call.
      const toolCallId = `${taskId}:${request.toolCallId ?? request.id}`
      const notes = [`asked by the subagent "${agent}" (${description})`, ...request.notes]
      this.#waiting.add(toolCallId)
      try {
        return await core.confirmations.ask({ ...request, toolCallId, notes })
      } finally {
        this.#waiting.delete(toolCallId)
      }
    }
  }

  /** Nobody waits for an answer any more. */
  withdraw(): void {
    for (const toolId of this.#waiting)
      this.#core.confirmations.withdraw(toolId, 'The task that asked has ended.')
  }
}
