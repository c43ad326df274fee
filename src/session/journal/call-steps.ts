import type { PartRow, SessionRecord, ToolStep } from '../../store/records.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { CallStep, CallSteps } from '../../tool/session-services.js'
import type { Journal } from './journal.js'
import type { RestoredSession } from './restore.js'

export type CallStepsOptions = {
  readonly callId: string
  /** The message that contains the call: another message can have the same call id. */
  readonly messageId: string
  readonly sessionId: string
  readonly journal: Journal
  readonly restored: Pick<RestoredSession, 'openSteps' | 'openIntents'> | undefined
}

/** The limit for the steps of one call; a call with more cannot be resumed after a restart. */
const maxBytes = 8 * 1024 * 1024
const maxInlineBytes = 64 * 1024

/** Saves the steps of one call in the log, large ones next to it, up to the limit. */
export function keepSteps({ callId, messageId, sessionId, journal, restored }: CallStepsOptions): CallSteps {
  const known = restored?.openSteps.get(callId)
  const before = known?.messageId === messageId && !known.over ? known.steps : []
  let count = before.length
  let bytes = 0

  const record = async ({ ends, step }: CallStep): Promise<SessionRecord[]> => {
    if (bytes > maxBytes) return []
    const content: ToolStep = { type: 'tool_step', callId, step, ...omitUndefined({ ends }) }
    const json = JSON.stringify(content)
    bytes += json.length
    if (bytes > maxBytes) return [row({ type: 'tool_step', callId, step: null, over: true })]
    if (json.length <= maxInlineBytes) return [row(content)]
    const encoded = new TextEncoder().encode(json)
    const digest = await journal.writeBlob(encoded)
    const stub = { ...content, step: null }
    return [row({ type: 'blob', digest, bytes: encoded.length, stub })]
  }
  const row = (content: PartRow['content']): SessionRecord => ({
    type: 'part',
    data: { id: `${messageId}.${callId}.step${count++}`, messageId, sessionId, index: -1, content },
  })
  const records = async (steps: readonly CallStep[]): Promise<SessionRecord[]> => {
    const rows: SessionRecord[] = []
    for (const step of steps) rows.push(...(await record(step)))
    return rows
  }

  return {
    before,
    begun: (restored?.openIntents ?? []).flatMap((open) => {
      const { callId: id, idempotent } = open.intent
      const inside = open.messageId === messageId && !idempotent && id.startsWith(`${callId}/`)
      return inside ? [id.slice(callId.length + 1)] : []
    }),
    add: (steps) => journal.append(records(steps)),
  }
}

/** Whether a call that had begun has a complete record of its steps, so that it can be made again. */
export function canResumeCall(
  { openSteps }: Pick<RestoredSession, 'openSteps'>,
  messageId: string | undefined,
  callId: string,
): boolean {
  const known = openSteps.get(callId)
  return known !== undefined && known.messageId === messageId && !known.over && known.steps.length > 0
}
