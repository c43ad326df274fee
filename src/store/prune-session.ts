import { StoreError } from './errors.js'
import type { RunRow, SessionRecord } from './records.js'
import type { SessionStore } from './session-store.js'

/** The settings of {@link pruneSession}. */
export type PruneSessionOptions = {
  /**
   * The number of latest runs whose events are retained. Default: 0. Events of a run that has not ended are always
   * retained.
   */
  readonly keepRuns?: number
  now(): number
}

/** The result of {@link pruneSession}. */
export type PrunedSession = {
  /** The number of records now. */
  readonly records: number
  /** The number of removed records, by type. */
  readonly dropped: Readonly<Record<string, number>>
}

/**
 * Makes the log of a session smaller without changing its state: a resumed session has the same history, runs, rules,
 * todos, open calls, file changes and counts. It removes what is only of historical interest (events of old runs,
 * except the last of each, which has the count) and what is only needed after a crash: starts and questions of calls
 * with a result, and all checkpoints of a run except its last.
 */
export async function pruneSession(
  store: SessionStore,
  sessionId: string,
  { keepRuns = 0, now }: PruneSessionOptions,
): Promise<PrunedSession> {
  if (!Number.isInteger(keepRuns) || keepRuns < 0)
    throw new TypeError(`keepRuns must be an integer of at least 0, not ${keepRuns}.`)
  if (store.rewrite === undefined)
    throw new StoreError('store_failed', `The store "${store.backend}" cannot remove records of a session.`)
  let outcome: PrunedSession | undefined
  await store.rewrite(
    sessionId,
    (records) => {
      const isWorthless = worthlessIn(records, keepRuns)
      const remaining = records.filter((record, at) => !isWorthless(record, at))
      outcome = { records: remaining.length, dropped: countTypes(records.filter(isWorthless)) }
      return remaining.length === records.length ? records : remaining
    },
    { holder: 'a pruning', now },
  )
  if (outcome === undefined)
    throw new StoreError('store_not_found', `The store "${store.backend}" has no session '${sessionId}'.`)
  return outcome
}

type Test = (record: SessionRecord, at: number) => boolean

function worthlessIn(records: readonly SessionRecord[], keepRuns: number): Test {
  const keepEventsOf = runsToKeep(records, keepRuns)
  const answeredAt = new Map<string, number>()
  const lastEvent = new Map<string, SessionRecord>()
  const lastCheckpoint = new Map<string, SessionRecord>()
  for (const [at, record] of records.entries()) {
    if (record.type === 'run_event') lastEvent.set(record.data.runId, record)
    else if (record.type === 'checkpoint') lastCheckpoint.set(record.data.runId, record)
    else for (const id of answeredBy(record)) answeredAt.set(id, at)
  }
  return (record, at) => {
    if (record.type === 'run_event')
      return !keepEventsOf.has(record.data.runId) && lastEvent.get(record.data.runId) !== record
    if (record.type === 'checkpoint') return lastCheckpoint.get(record.data.runId) !== record
    return namesFor(record).some((id) => (answeredAt.get(id) ?? -1) > at)
  }
}

/** Returns the newest runs, and all that have not ended. */
function runsToKeep(records: readonly SessionRecord[], count: number): ReadonlySet<string> {
  const runs = new Map<string, RunRow['status']>()
  for (const record of records) if (record.type === 'run') runs.set(record.data.id, record.data.status)
  const ids = [...runs.keys()]
  const newest = count === 0 ? [] : ids.slice(-count)
  return new Set([...newest, ...ids.filter((id) => isOpen(runs.get(id)))])
}

function isOpen(status: RunRow['status'] | undefined): boolean {
  return status === 'queued' || status === 'running'
}

/** Returns the calls whose result this record contains. */
function answeredBy(record: SessionRecord): string[] {
  if (record.type !== 'part') return []
  const { content } = record.data
  const result = content.type === 'blob' ? content.stub : content
  if (result.type !== 'tool_result') return []
  return result.callId === undefined ? [result.id] : [result.id, result.callId]
}

/**
 * Returns the call that a note is about and the calls around it: once one of them has a result, the note is not needed.
 */
function namesFor(record: SessionRecord): string[] {
  if (record.type !== 'part') return []
  const { content } = record.data
  const note = content.type === 'blob' ? content.stub : content
  if (!forTheMeantime.has(note.type) || !('callId' in note) || note.callId === undefined) return []
  const { callId } = note
  const names = [callId]
  for (let at = callId.indexOf('/'); at >= 0; at = callId.indexOf('/', at + 1))
    names.push(callId.slice(0, at))
  return names
}

/** Types of notes about a call that has no result yet. */
const forTheMeantime: ReadonlySet<string> = new Set([
  'tool_intent',
  'tool_question',
  'tool_question_refused',
  'tool_outcome',
  'tool_step',
])

function countTypes(records: readonly SessionRecord[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { type } of records) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
