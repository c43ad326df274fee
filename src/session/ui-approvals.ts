import { isRecord } from '../tool/json.js'

/** The answers of a chat front end to the approvals at which a response ended, and where the message continues. */
export type UiApprovals = {
  readonly runId: string
  /** The position for `session.watch(runId, { from: sequence })`. */
  readonly sequence: number
  readonly messageId?: string
  readonly answers: readonly UiApprovalAnswer[]
}

/** The answer to one approval. `approvalId` is the id for `session.confirmToolUse`. */
export type UiApprovalAnswer = {
  readonly approvalId: string
  readonly approved: boolean
  readonly reason?: string
}

/**
 * Reads the answers to approvals from the messages that a chat front end sends. Returns undefined unless the last
 * message is one that ended at an approval (`endAtApproval`) and was answered since.
 *
 * @example
 * const waiting = readUiApprovals(messages)
 * for (const { approvalId, approved, reason } of waiting?.answers ?? [])
 *   await session.confirmToolUse(approvalId, approved, reason)
 */
export function readUiApprovals(messages: unknown): UiApprovals | undefined {
  const message: unknown = Array.isArray(messages) ? messages.at(-1) : undefined
  if (!isRecord(message) || message['role'] !== 'assistant' || !Array.isArray(message['parts']))
    return undefined
  const parts: unknown[] = message['parts']
  const answers = parts.flatMap(answerIn)
  const paused = parts.findLast((part) => isRecord(part) && part['type'] === 'data-paused')
  const data = isRecord(paused) ? paused['data'] : undefined
  if (answers.length === 0 || !isRecord(data)) return undefined
  const { runId = message['id'], sequence } = data
  if (typeof runId !== 'string' || !Number.isSafeInteger(sequence)) return undefined
  const messageId = message['id']
  return { runId, sequence: Number(sequence), answers, ...(typeof messageId === 'string' && { messageId }) }
}

function answerIn(part: unknown): UiApprovalAnswer[] {
  if (!isRecord(part) || part['state'] !== 'approval-responded') return []
  const approval = part['approval']
  if (!isRecord(approval)) return []
  const { id: approvalId, approved, reason } = approval
  if (typeof approvalId !== 'string' || typeof approved !== 'boolean') return []
  return [{ approvalId, approved, ...(typeof reason === 'string' && { reason }) }]
}
