import { StoreError } from './errors.js'
import type { RunRow, SessionRecord } from './records.js'
import type { SessionStore } from './session-store.js'

export type PruneSessionOptions = {
  /** The last runs whose events stay; none when left out. Those of a run that is not over stay always. */
  readonly keepRuns?: number
  now(): number
}

export type PrunedSession = {
  /** How many records there are now. */
  readonly records: number
  /** How many were taken out, by their type. */
  readonly dropped: Readonly<Record<string, number>>
}

/**
 * Makes the log of a session smaller without changing what it tells: who resumes it finds the same history, runs, rules, todos, open
 * calls, changes to files and counts. What goes is what only looks back (events of old runs, all but the last of each, which has the
 * count) and what was needed for a crash that did not happen: that a call began, or was asked about, once its result is there; all
 * checkpoints of a run but its last.
 */
export async function pruneSession(
  store: SessionStore,
  sessionId: string,
  { keepRuns = 0, now }: PruneSessionOptions,
): Promise<PrunedSession> {
  if (!Number.isInteger(keepRuns) || keepRuns < 0)
    throw new TypeError(`keepRuns must be a whole number from 0 on, not ${keepRuns}.`)
  if (store.rewrite === undefined)
    throw new StoreError(
      'store_failed',
      `The store "${store.backend}" cannot take anything out of a session.`,
    )
  let outcome: PrunedSession | undefined
  await store.rewrite(
    sessionId,
    (records) => {
      const isWorthless = worthlessIn(records, keepRuns)
      const kept = records.filter((record, at) => !isWorthless(record, at))
      outcome = { records: kept.length, dropped: countTypes(records.filter(isWorthless)) }
      return kept.length === records.length ? records : kept
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

/** The newest, and all that are not over. */
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

/** The calls whose result this is. */
function answeredBy(record: SessionRecord): string[] {
  if (record.type !== 'part') return []
  const { content } = record.data
  const result = content.type === 'blob' ? content.stub : content
  if (result.type !== 'tool_result') return []
  return result.callId === undefined ? [result.id] : [result.id, result.callId]
}

/** The call that a note is about, and those around it: with the result of any of them the note has served its time. */
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

/** Notes about a call that has no result yet. */
const forTheMeantime: ReadonlySet<string> = new Set([
  'tool_intent',
  'tool_question',
  'tool_question_refused',
  'tool_step',
])

function countTypes(records: readonly SessionRecord[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { type } of records) counts[type] = (counts[type] ?? 0) + 1
  return counts
}
