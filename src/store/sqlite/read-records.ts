import { schemaVersion, type SessionRecord, type SessionRecordType } from '../records.js'
import { StoreError } from '../errors.js'
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
  const head = tolerant(() => readHead(database, sessionId))
  if (head === 'none') return undefined
  const quick = tolerant(() => sources.flatMap((source) => readTable(database, source, sessionId)))
  const found = quick && inOrder(quick)
  if (head !== undefined && found?.length === head.lastSeq) return { records: found }
  const saved = inOrder(sources.flatMap((source) => salvageTable(database, source, sessionId)))
  if (head === undefined && saved.length === 0) throw damageFault('its list of sessions cannot be read')
  if (head !== undefined && saved.length === head.lastSeq) return { records: saved }
  const known = head === undefined ? '' : ` of ${head.lastSeq}`
  return {
    records: saved,
    damage: `record ${saved.length + 1}${known} of session '${sessionId}' is missing, changed or unreadable; the ${saved.length} before it are intact`,
  }
}

/** Refuses what a later version wrote. */
export function assertReadable(database: SqlDatabase, sessionId: string): void {
  const version = database.prepare('SELECT schema_version FROM chat_sessions WHERE id = ?').get(sessionId)?.[
    'schema_version'
  ]
  if (typeof version === 'number' && version > schemaVersion)
    throw new StoreError(
      'store_future_schema',
      `Session '${sessionId}' was written with schema version ${version}, and this version of Capstan knows up to ${schemaVersion}. Use the version that wrote it, or a later one.`,
    )
}

/** Whether every record is still there. What was appended behind a gap would never be read again. */
export function assertWhole(database: SqlDatabase, sessionId: string): void {
  const counts = sources.map(({ name }) => `(SELECT count(*) FROM ${name} WHERE session_id = leases.session_id)`)
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
type Source = { readonly name: string; readonly type: string }
type Found = { readonly seq: number; readonly record: SessionRecord }

const sources: readonly Source[] = [
  ...Object.values(tables).map(({ name, type }) => ({ name, type: `'${type}'` })),
  { name: 'record_history', type: 'type' },
]

function readHead(database: SqlDatabase, sessionId: string): Head | 'none' {
  assertReadable(database, sessionId)
  const row = database
    .prepare(
      `SELECT coalesce(last_seq, 0) AS last_seq
      FROM chat_sessions LEFT JOIN leases ON session_id = id WHERE id = ?`,
    )
    .get(sessionId)
  return row === undefined ? 'none' : { lastSeq: integerIn(row, 'last_seq') }
}

function readTable(database: SqlDatabase, { name, type }: Source, sessionId: string): Found[] {
  return database
    .prepare(`SELECT seq, crc, data_json, ${type} AS type FROM ${name} WHERE session_id = ?`)
    .all(sessionId)
    .flatMap((row) => foundIn(row) ?? [])
}

/** Row by row, in the order of writing and around every index, up to the first that SQLite cannot give. */
function salvageTable(database: SqlDatabase, { name, type }: Source, sessionId: string): Found[] {
  const found: Found[] = []
  let at = 0
  for (;;) {
    const row = tolerant(() =>
      database
        .prepare(
          `SELECT rowid AS at, seq, crc, data_json, ${type} AS type FROM ${name} NOT INDEXED
          WHERE rowid > ? AND session_id = ? ORDER BY rowid LIMIT 1`,
        )
        .get(at, sessionId),
    )
    if (row === undefined) return found
    at = integerIn(row, 'at')
    found.push(...(tolerant(() => foundIn(row)) ?? []))
  }
}

function foundIn(row: SqlRow): Found[] | undefined {
  const seq = integerIn(row, 'seq')
  const json = textIn(row, 'data_json')
  const type = textIn(row, 'type')
  if (checksum(json, seq) !== integerIn(row, 'crc') || !isRecordType(type)) return undefined
  // The checksum says that these are the very characters that were written from such a record.
  return [{ seq, record: { type, data: JSON.parse(json) } as SessionRecord }]
}

function isRecordType(type: string): type is SessionRecordType {
  return type === 'session' || Object.hasOwn(tables, type)
}

function inOrder(found: readonly Found[]): SessionRecord[] {
  const sorted = found.toSorted((one, other) => one.seq - other.seq)
  const gap = sorted.findIndex(({ seq }, index) => seq !== index + 1)
  return (gap < 0 ? sorted : sorted.slice(0, gap)).map(({ record }) => record)
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
