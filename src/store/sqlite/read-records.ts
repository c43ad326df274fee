import { StoreError } from '../errors.js'
import type { SessionRecord, SessionRecordType } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { StoredSession } from '../session-store.js'
import type { SqlDatabase, SqlRow } from './driver.js'
import { damageFault, isDamage } from './faults.js'
import { integerIn, textIn } from './row.js'
import { checksum, tables } from './write-records.js'

/**
 * The records of a session in the order in which they were appended. They count without gaps, so a row that got lost is noticed; then,
 * and where SQLite finds the file damaged, the rows are looked for one by one and those before the first that is missing are given.
 */
export function readRecords(database: SqlDatabase, sessionId: string): StoredSession | undefined {
  const stored = readStored(database, sessionId)
  for (const record of stored?.records ?? []) refuseFutureSchema(sessionId, record)
  return stored
}

function readStored(database: SqlDatabase, sessionId: string): StoredSession | undefined {
  const head = tolerant(() => readHead(database, sessionId))
  if (head === 'none') return undefined
  const quick = tolerant(() => sources.flatMap((source) => readTable(database, source, sessionId)))
  const found = quick && inOrder(quick)
  if (head !== undefined && found?.length === head.lastSeq) return { records: found }
  const saved = inOrder(sources.flatMap((source) => salvageTable(database, source, sessionId)))
  if (head === undefined && saved.length === 0) throw damageFault('its list of sessions cannot be read')
  if (head !== undefined && saved.length === head.lastSeq) return { records: saved }
  const known = head === undefined ? '' : `${head.lastSeq} `
  return {
    records: saved,
    damage: `The log of session '${sessionId}' is damaged: of its ${known}records only the first ${saved.length} form whole batches that are as they were written.`,
  }
}

/** Whether every record is still there. What was appended behind a gap would never be read again. */
export function assertWhole(database: SqlDatabase, sessionId: string): void {
  const counts = sources.map(
    ({ name }) => `(SELECT count(*) FROM ${name} WHERE session_id = leases.session_id)`,
  )
  const row = database
    .prepare(`SELECT last_seq, ${counts.join(' + ')} AS kept FROM leases WHERE session_id = ?`)
    .get(sessionId)
  if (row === undefined || integerIn(row, 'last_seq') === integerIn(row, 'kept')) return
  throw new StoreError(
    'store_damaged',
    `Session '${sessionId}' has lost ${integerIn(row, 'last_seq') - integerIn(row, 'kept')} of ${row['last_seq']} records, so it takes no more. What is before the damage can be read: go on in a new session made from it.`,
  )
}

type Head = { readonly lastSeq: number }
/** Where the rows are of several types, each says its own. */
type Source = { readonly name: string; readonly type: SessionRecordType | undefined }
type Found = { readonly seq: number; readonly more: number; readonly record: SessionRecord }

const sources: readonly Source[] = [...Object.values(tables), { name: 'record_history', type: undefined }]

function readHead(database: SqlDatabase, sessionId: string): Head | 'none' {
  const row = database
    .prepare(
      `SELECT coalesce(last_seq, 0) AS last_seq
      FROM chat_sessions LEFT JOIN leases ON session_id = id WHERE id = ?`,
    )
    .get(sessionId)
  return row === undefined ? 'none' : { lastSeq: integerIn(row, 'last_seq') }
}

function readTable(database: SqlDatabase, { name, type }: Source, sessionId: string): Found[] {
  const found: Found[] = []
  for (const row of database
    .prepare(`SELECT ${columnsOf(type)} FROM ${name} WHERE session_id = ?`)
    .all(sessionId)) {
    const one = foundIn(row, type)
    if (one !== undefined) found.push(one)
  }
  return found
}

/** Row by row, in the order of writing and around every index, up to the first that SQLite cannot give. */
function salvageTable(database: SqlDatabase, { name, type }: Source, sessionId: string): Found[] {
  const found: Found[] = []
  let at = 0
  for (;;) {
    const row = tolerant(() =>
      database
        .prepare(
          `SELECT rowid AS at, ${columnsOf(type)} FROM ${name} NOT INDEXED
          WHERE rowid > ? AND session_id = ? ORDER BY rowid LIMIT 1`,
        )
        .get(at, sessionId),
    )
    if (row === undefined) return found
    at = integerIn(row, 'at')
    const one = tolerant(() => foundIn(row, type))
    if (one !== undefined) found.push(one)
  }
}

/** Named one by one: the computed columns cannot be had of a row whose JSON is damaged. */
function columnsOf(type: Source['type']): string {
  return type === undefined ? 'seq, more, crc, data_json, type' : 'seq, more, crc, data_json'
}

function foundIn(row: SqlRow, known: SessionRecordType | undefined): Found | undefined {
  const seq = integerIn(row, 'seq')
  const json = textIn(row, 'data_json')
  const type = known ?? textIn(row, 'type')
  if (checksum(json, seq) !== integerIn(row, 'crc') || !isRecordType(type)) return undefined
  // The checksum says that these are the very characters that were written from such a record.
  return { seq, more: integerIn(row, 'more'), record: { type, data: JSON.parse(json) } as SessionRecord }
}

function isRecordType(type: string): type is SessionRecordType {
  return type === 'session' || Object.hasOwn(tables, type)
}

/** The whole batches before the first gap. */
function inOrder(found: readonly Found[]): SessionRecord[] {
  const sorted = found.toSorted((one, other) => one.seq - other.seq)
  const gap = sorted.findIndex(({ seq }, index) => seq !== index + 1)
  const unbroken = gap < 0 ? sorted : sorted.slice(0, gap)
  const end = unbroken.findLastIndex(({ more }) => more === 0) + 1
  return unbroken.slice(0, end).map(({ record }) => record)
}

/** Undefined where the file is damaged. */
function tolerant<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (thrown) {
    if (isDamage(thrown)) return undefined
    throw thrown
  }
}
