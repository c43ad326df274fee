import { hostname } from 'node:os'
import { SessionLockedError } from '../errors.js'
import { holderState } from '../holder-process.js'
import type { Lease } from '../session-store.js'
import type { Run } from './database.js'
import { parseInfo, type StoredInfo } from './encode.js'
import { lockSpace, settleMs } from './presence.js'
import { decodeText, encodeText } from './text.js'

/** The head of a session, locked by the current transaction. */
export type Head = {
  readonly sid: number
  readonly lastSeq: number
  readonly found: number
  readonly info: StoredInfo
  readonly lease: Lease | undefined
  /** The attempt that took the lease, or created the session. */
  readonly attempt: string | null
  readonly isAbandoned: boolean
}

/** Locks the head of a session until the transaction ends. Undefined when there is no such session. */
export async function lockHead(
  run: Run,
  schema: string,
  id: string,
  canJudge: boolean,
): Promise<Head | undefined> {
  // A separate statement: what a statement reads besides a row that it waited for can be older than that row.
  const [locked] = await run<{ sid: string }>({
    name: 'capstan_lock_head',
    text: `select h.sid from ${schema}.sessions s join ${schema}.heads h using (sid) where s.id = $1 for update of h`,
    values: [id],
  })
  if (locked === undefined) return undefined
  const [row] = await run<HeadRow>({
    name: 'capstan_read_head',
    text: `select h.sid::float8 as sid, h.last_seq::float8 as last_seq, h.fence::float8 as fence, h.holder, h.host, h.pid,
        h.acquired_at::float8 as acquired_at, h.attempt, s.info, n.process,
        (select count(*) from ${schema}.records r where r.sid = h.sid)::float8 as found,
        extract(epoch from clock_timestamp() - n.seen_at)::float8 as age,
        extract(epoch from clock_timestamp() - pg_postmaster_start_time())::float8 as server_age,
        case when h.holder is not null and n.seen_at < clock_timestamp() - interval '${silentSeconds} s'
          then pg_try_advisory_xact_lock(${lockSpace(schema)}, n.id) end as is_unlocked
      from ${schema}.heads h join ${schema}.sessions s using (sid) left join ${schema}.nodes n on n.id = h.node
      where h.sid = $1`,
    values: [locked.sid],
  })
  return row && headIn(row, canJudge)
}

/** Throws while a live process holds the session. */
export function assertFree(sessionId: string, head: Head): void {
  if (head.lease !== undefined && !head.isAbandoned) throw new SessionLockedError(sessionId, head.lease)
}

/** Acquires a locked head with a new fence. */
export async function acquire(
  run: Run,
  schema: string,
  sid: number,
  { holder, node, now, attempt }: Acquisition,
): Promise<Lease> {
  const host = hostname()
  const [row] = await run<{ fence: number }>({
    name: 'capstan_acquire',
    text: `update ${schema}.heads
      set fence = nextval('${schema}.fences'), holder = $2, host = $3, pid = $4, acquired_at = $5, node = $6, attempt = $7
      where sid = $1 returning fence::float8 as fence`,
    values: [sid, encodeText(holder), encodeText(host), process.pid, now, node, attempt],
  })
  return { holder, host, pid: process.pid, acquiredAtMs: now, fence: row?.fence ?? 0 }
}

export type Acquisition = {
  readonly holder: string
  readonly node: number
  readonly now: number
  readonly attempt: string
}

type HeadRow = {
  readonly sid: number
  readonly last_seq: number
  readonly found: number
  readonly fence: number
  readonly holder: string | null
  readonly host: string | null
  readonly pid: number | null
  readonly acquired_at: number | null
  readonly attempt: string | null
  readonly info: string
  readonly process: string | null
  readonly age: number | null
  readonly server_age: number
  readonly is_unlocked: boolean | null
}

function headIn(row: HeadRow, canJudge: boolean): Head {
  const { holder, host, pid, acquired_at: acquiredAtMs, fence } = row
  return {
    sid: row.sid,
    lastSeq: row.last_seq,
    found: row.found,
    info: parseInfo(row.info),
    lease:
      holder === null
        ? undefined
        : {
            holder: decodeText(holder),
            host: decodeText(host ?? ''),
            pid: pid ?? 0,
            acquiredAtMs: acquiredAtMs ?? 0,
            fence,
          },
    attempt: row.attempt,
    isAbandoned: isAbandoned(row, canJudge),
  }
}

/**
 * Whether the process of the holder has ended. A free lock is not enough, because a connection can be lost for a
 * moment. A held lock does not prove that it runs, because a paused process has one too; the fence rejects its late
 * writes.
 */
function isAbandoned(
  { process, age, server_age: serverAge, is_unlocked }: HeadRow,
  canJudge: boolean,
): boolean {
  // Without a row, the process has left, or was removed after it ended.
  if (process === null || age === null || holderState(process) === 'gone') return true
  if (!canJudge || serverAge < settleMs / 1_000) return false
  return age > expiredSeconds || (age > silentSeconds && is_unlocked === true)
}

/** Longer than the interval of heartbeats plus the time to reconnect. */
export const silentSeconds = 1.5
export const expiredSeconds = 15
