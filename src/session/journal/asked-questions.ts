import { isRecord } from '../../tool/json.js'
import type { AskedStep } from '../services.js'
import type { RestoredSession } from './restore.js'

/** A question of the model that waits for an answer, as recorded in the log. */
export type AskedQuestion = AskedStep & {
  /** The call that asked. */
  readonly questionId: string
  /** The run of the call. */
  readonly runId?: string | undefined
}

/** Returns the calls of the last answer that have asked the user questions and have no result. */
export function askedQuestions({ messages, openSteps }: RestoredSession): AskedQuestion[] {
  const last = messages.findLast(({ hidden }) => !hidden)
  if (last?.message.role !== 'assistant') return []
  return last.message.content.flatMap((part): AskedQuestion[] => {
    if (part.type !== 'tool_call' || part.function.name !== 'question') return []
    const known = openSteps.get(part.id)
    const step: unknown = known?.messageId === last.id && !known.over ? known.steps[0]?.step : undefined
    if (!isAskedStep(step)) return []
    const { questions, askedAtMs } = step
    return [{ questionId: part.id, questions, askedAtMs, runId: last.row.runId }]
  })
}

function isAskedStep(step: unknown): step is AskedStep {
  return isRecord(step) && Array.isArray(step['questions']) && typeof step['askedAtMs'] === 'number'
}
