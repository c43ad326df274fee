import { hostname } from 'node:os'
import { lostLease, SessionLockedError } from '../errors.js'
import { describeProcess, holderState } from '../holder-process.js'
import type { Lease } from '../session-store.js'
import type { SqlDatabase, SqlRow } from './driver.js'
import { integerIn, textIn } from './row.js'

/** Acquires the session with a new fence. Rejected while a live process holds it. */
export function takeLease(
  database: SqlDatabase,
  sessionId: string,
  holder: string,
  now: number,
): { readonly lease: Lease; readonly recordCount: number } {
  const before = assertFree(database, sessionId)
  const lastSeq = before === undefined ? 0 : integerIn(before, 'last_seq')
  const lastAt = typeof before?.['last_at'] === 'number' ? before['last_at'] : null
  database.prepare('INSERT OR IGNORE INTO chat_sessions (id, opened_at) VALUES (?, ?)').run(sessionId, now)
  database.prepare('DELETE FROM leases WHERE session_id = ?').run(sessionId)
  const row = database
    .prepare(
      `INSERT INTO leases (session_id, last_seq, last_at, holder, host, acquired_at, process_json, renewed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, unixepoch()) RETURNING fence`,
    )
    .get(sessionId, lastSeq, lastAt, holder, hostname(), now, describeProcess())
  const fence = integerIn(row, 'fence')
  const lease = { holder, host: hostname(), pid: process.pid, acquiredAtMs: now, fence }
  return { lease, recordCount: lastSeq }
}

/** Throws while a live process holds the session. Returns its row, if it ever had a holder. */
export function assertFree(database: SqlDatabase, sessionId: string): SqlRow | undefined {
  const row = database
    .prepare('SELECT *, unixepoch() - renewed_at AS age FROM leases WHERE session_id = ?')
    .get(sessionId)
  if (row !== undefined && row['holder'] !== null && !isAbandoned(row))
    throw new SessionLockedError(sessionId, {
      holder: textIn(row, 'holder'),
      host: textIn(row, 'host'),
      pid: integerIn(row, 'pid'),
      acquiredAtMs: integerIn(row, 'acquired_at'),
      fence: integerIn(row, 'fence'),
    })
  return row
}

/**
 * Advances the end of the log by a number of records, and returns the position of the last. Rejected once another
 * holder has the session.
 */
export function advance(
  database: SqlDatabase,
  sessionId: string,
  { fence }: Lease,
  count: number,
  lastAt: number | undefined,
): number {
  const row = database
    .prepare(
      `UPDATE leases SET last_seq = last_seq + ?1, last_at = max(coalesce(last_at, ?2), coalesce(?2, last_at)),
      renewed_at = unixepoch() WHERE fence = ?3 AND session_id = ?4 AND holder IS NOT NULL RETURNING last_seq`,
    )
    .get(count, lastAt ?? null, fence, sessionId)
  if (row === undefined) throw lostLease(sessionId)
  return integerIn(row, 'last_seq')
}

/** Renews the leases with these fences, for machines that cannot see the holders' processes. */
export function renewLeases(database: SqlDatabase, fences: readonly number[]): void {
  const renew = database.prepare('UPDATE leases SET renewed_at = unixepoch() WHERE fence = ?')
  for (const fence of fences) renew.run(fence)
}

export const renewEveryMs = 10_000
const expiresAfterSeconds = 60

export function releaseLease(database: SqlDatabase, { fence }: Lease): void {
  database.prepare('UPDATE leases SET holder = NULL WHERE fence = ?').run(fence)
}

function isAbandoned(row: SqlRow): boolean {
  const state = holderState(textIn(row, 'process_json'))
  return state === 'gone' || (state === 'unknown' && integerIn(row, 'age') > expiresAfterSeconds)
}
