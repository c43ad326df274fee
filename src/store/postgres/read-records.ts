import type { SessionRecord, SessionRecordType } from '../records.js'
import type { StoredSession } from '../session-store.js'
import { checksum } from './encode.js'

/** A row of `records` with the end of its log; without records there is one row that has only the end. */
export type RecordRow = {
  readonly last_seq: number
  readonly seq: number | null
  readonly more: number
  readonly crc: number
  readonly type: string
  readonly data: string
}

/** Returns the records of a session, up to the first one that is missing or differs from what was written. */
export function storedSession(sessionId: string, rows: readonly RecordRow[]): StoredSession | undefined {
  const lastSeq = rows[0]?.last_seq
  if (lastSeq === undefined) return undefined
  const records: SessionRecord[] = []
  let whole = 0
  for (const { seq, more, crc, type, data } of rows) {
    if (seq === null) break
    if (seq !== records.length + 1 || checksum(data, seq) !== crc || !isRecordType(type)) break
    // The checksum proves that this is exactly the text that was written from a valid record.
    records.push({ type, data: JSON.parse(data) } as SessionRecord)
    if (more === 0) whole = records.length
  }
  if (whole === lastSeq) return { records }
  return {
    records: records.slice(0, whole),
    damage: `The log of session '${sessionId}' is damaged: of its ${lastSeq} records only the first ${whole} form whole batches that are as they were written.`,
  }
}

const types: ReadonlySet<string> = new Set<SessionRecordType>([
  'session',
  'message',
  'part',
  'run',
  'run_event',
  'checkpoint',
])

function isRecordType(type: string): type is SessionRecordType {
  return types.has(type)
}
