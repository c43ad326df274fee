import { foldSession } from '../../store/fold-session.js'
import { messageRecords } from '../../store/message-records.js'
import { type MessageRow, type SessionRecord, type SessionRow, schemaVersion } from '../../store/records.js'
import type { SessionState, StoredMessage } from '../../store/session-state.js'
import type { SessionStore } from '../../store/session-store.js'
import type { Message } from '../../tool/completion.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { SessionOptionError } from '../errors.js'
import { interruptedResults, type OpenCalls } from '../journal/interrupted.js'
import { load, type RestoredSession } from '../journal/restore.js'
import { HistoryError } from './errors.js'

/** Where a session is forked: after a message, or before one. Absent: at its end. */
export type ForkPoint = {
  /** The last message that is copied, together with the results of its calls. */
  readonly fromMessageId?: string
  /** The first message that is not copied, to send another one in its place. */
  readonly beforeMessageId?: string
}

/** The session that is forked. */
export type ForkSource = {
  readonly sessionId: string
  readonly session?: SessionRow | undefined
} & OpenCalls &
  Pick<SessionState, 'order'>

export type ForkTarget = {
  readonly sessionId: string
  /** Absent: the fork is only in memory. */
  readonly store?: SessionStore
  now(): number
  newId(): string
}

/**
 * Copies the conversation of a session, up to a point, into a new session: messages with new ids and their usage, so
 * that the totals match what was copied; labels, options and mode. The user's approvals for the session and its runs
 * are not copied.
 */
export async function forkSession(
  source: ForkSource,
  point: ForkPoint,
  target: ForkTarget,
): Promise<RestoredSession> {
  const { store, sessionId } = target
  const copied = upTo(source, point)
  if (store === undefined) {
    const records = await recordsOf(source, copied, point, target)
    return { ...foldSession(records), recordCount: 0 }
  }
  if ((await store.read(sessionId)) !== undefined)
    throw new SessionOptionError(
      'sessionId',
      `The store "${store.backend}" has a session '${sessionId}' already: a fork needs an id of its own.`,
    )
  const log = await store.open(sessionId, {
    holder: `a fork of session '${source.sessionId}'`,
    now: target.now,
  })
  try {
    await log.append(await recordsOf(source, copied, point, target, (bytes) => log.writeBlob(bytes)))
  } finally {
    await log.close()
  }
  const made = await load(store, sessionId)
  return made ?? { ...foldSession([]), recordCount: 0 }
}

/** Returns the visible messages up to the point, including compactions. */
function upTo(
  { sessionId, order }: ForkSource,
  { fromMessageId, beforeMessageId }: ForkPoint,
): StoredMessage[] {
  if (fromMessageId !== undefined && beforeMessageId !== undefined)
    throw new HistoryError('fork_point', 'Give fromMessageId or beforeMessageId, not both.')
  const visible = order.filter(({ hidden }) => !hidden)
  const id = fromMessageId ?? beforeMessageId
  if (id === undefined) return visible
  const at = visible.findIndex((one) => one.id === id && one.row.role !== 'compaction')
  const target = visible[at]
  if (target === undefined)
    throw new HistoryError(
      'message_not_found',
      `Session '${sessionId}' has no message '${id}', or it is hidden. See session.messages().`,
    )
  if (beforeMessageId !== undefined) {
    if (target.message.role === 'tool')
      throw new HistoryError(
        'fork_point',
        `Message '${id}' holds the results of calls, which belong to the message before it. Fork before that one, or from this one on.`,
      )
    return visible.slice(0, at)
  }
  const hasResults = target.message.role === 'assistant' && visible[at + 1]?.message.role === 'tool'
  return visible.slice(0, at + (hasResults ? 2 : 1))
}

async function recordsOf(
  source: ForkSource,
  copied: readonly StoredMessage[],
  point: ForkPoint,
  target: ForkTarget,
  writeBlob?: (bytes: Uint8Array) => Promise<string>,
): Promise<SessionRecord[]> {
  const ids = new Map(copied.map(({ id }) => [id, target.newId()]))
  const last = copied.findLast(({ row }) => row.role !== 'compaction')
  const isWhole = point.fromMessageId === undefined && point.beforeMessageId === undefined
  const records: SessionRecord[] = [{ type: 'session', data: sessionRow(source, last?.id, isWhole, target) }]
  const add = async (
    message: Message,
    row: CopiedRow,
    envelopes?: StoredMessage['envelopes'],
  ): Promise<void> => {
    const made = await messageRecords(message, {
      row,
      envelopes,
      partId: (index) => `${row.id}.${index}`,
      ...omitUndefined({ writeBlob }),
    })
    for (const record of made) records.push(record)
  }
  for (const { id, row, message, envelopes } of copied)
    await add(message, copiedRow(row, ids.get(id) ?? id, ids, target.sessionId), envelopes)
  // Calls that the other session's process did not finish get a result here that states what is known.
  const results = last && interruptedResults([last.message], source, target.now())
  if (results !== undefined) {
    const row = { id: target.newId(), sessionId: target.sessionId, createdAtMs: target.now() }
    await add(results.message, row, results.envelopes)
  }
  return records
}

type CopiedRow = Omit<MessageRow, 'role' | 'providerId'> & { readonly role?: 'compaction' }

function copiedRow(
  row: MessageRow,
  id: string,
  ids: ReadonlyMap<string, string>,
  sessionId: string,
): CopiedRow {
  const { createdAtMs, usage, model, metadata, tailStart, pruned } = row
  return {
    id,
    sessionId,
    createdAtMs,
    ...omitUndefined({ usage, model, metadata }),
    ...(row.role === 'compaction' && { role: row.role }),
    ...(tailStart !== undefined && { tailStart: tailStart === null ? null : (ids.get(tailStart) ?? null) }),
    ...omitUndefined({ pruned: pruned?.flatMap((one) => ids.get(one) ?? []) }),
  }
}

function sessionRow(
  { sessionId, session }: ForkSource,
  parentMessageId: string | undefined,
  isWhole: boolean,
  target: ForkTarget,
): SessionRow {
  const now = target.now()
  const { agent, workspaceRoot, title, model, labels, options, mode, todos } = session ?? {}
  return {
    id: target.sessionId,
    schemaVersion,
    createdAtMs: now,
    updatedAtMs: now,
    parentId: sessionId,
    ...omitUndefined({ parentMessageId, agent, workspaceRoot }),
    ...(title !== undefined && title !== '' && { title: `${title} (copy)` }),
    ...omitUndefined({ model, labels, options, mode }),
    // The list belongs to the end of the session and does not apply to an earlier point.
    ...(todos !== undefined && isWhole && { todos }),
  }
}
