import { StoreError } from '../errors.js'
import type { SessionRecord, SessionRecordType } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { StoredSession } from '../session-store.js'
import { type SqlDatabase, SqliteFault, type SqlRow } from './driver.js'
import { damageFault, isDamage } from './faults.js'
import { integerIn, textIn } from './row.js'
import { checksum, tables } from './write-records.js'

/**
 * Reads the records of a session in the order in which they were appended. Their numbers have no gaps, so a lost row is
 * detected. In that case, and where SQLite reports damage, the rows are read one by one, and those before the first
 * missing one are returned.
 */
export function readRecords(database: SqlDatabase, sessionId: string): StoredSession | undefined {
  const stored = readStored(database, sessionId)
  for (const record of stored?.records ?? []) refuseFutureSchema(sessionId, record)
  return stored
}

function readStored(database: SqlDatabase, sessionId: string): StoredSession | undefined {
  const head = tolerant(() => readHead(database, sessionId))
  if (head === 'none') return undefined
  const quick = head && readAll(database, sessionId, head.lastSeq)
  if (quick !== undefined) return { records: quick }
  const saved = inOrder(sources.flatMap((source) => salvageTable(database, source, sessionId)))
  if (head === undefined && saved.length === 0) throw damageFault('its list of sessions cannot be read')
  if (head !== undefined && saved.length === head.lastSeq) return { records: saved }
  const known = head === undefined ? '' : `${head.lastSeq} `
  return {
    records: saved,
    damage: `The log of session '${sessionId}' is damaged: of its ${known}records only the first ${saved.length} form whole batches that are as they were written.`,
  }
}

/** Returns how many records were written; for a damaged file, how many can be read. */
export function countRecords(database: SqlDatabase, sessionId: string): number {
  const head = tolerant(() => readHead(database, sessionId))
  if (head === undefined) return readRecords(database, sessionId)?.records.length ?? 0
  return head === 'none' ? 0 : head.lastSeq
}

/** Throws unless every record is present: records appended after a gap could never be read. */
export function assertWhole(database: SqlDatabase, sessionId: string): void {
  const counts = sources.map(
    ({ name }) => `(SELECT count(*) FROM ${name} WHERE session_id = leases.session_id)`,
  )
  const row = database
    .prepare(`SELECT last_seq, ${counts.join(' + ')} AS found FROM leases WHERE session_id = ?`)
    .get(sessionId)
  if (row === undefined || integerIn(row, 'last_seq') === integerIn(row, 'found')) return
  throw new StoreError(
    'store_damaged',
    `Session '${sessionId}' has lost ${integerIn(row, 'last_seq') - integerIn(row, 'found')} of ${row['last_seq']} records, so it accepts no more. The records before the damage can be read: continue in a new session made from them.`,
  )
}

type Head = { readonly lastSeq: number }
/** A table of records; `type` is undefined where each row has its own type. */
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

/**
 * Reads every record, if all are present and unchanged. Rows are read many at a time, as one list of JSON: drivers take
 * longer to return a row than SQLite to find it, and one long text is parsed faster than many short ones.
 */
function readAll(
  database: SqlDatabase,
  sessionId: string,
  lastSeq: number,
): readonly SessionRecord[] | undefined {
  const slots = new Slots(lastSeq)
  try {
    for (const source of sources)
      for (const rows of rowsOf(database, source, sessionId))
        if (!slots.put(rows, source.type)) return undefined
  } catch (thrown) {
    // The file is damaged, or the text is too long: reading row by row may return more.
    if (thrown instanceof SqliteFault || thrown instanceof SyntaxError) return undefined
    throw thrown
  }
  return slots.whole()
}

/** Several rows: `[seq, more, crc, type?, …]`, and their records, each on its own line. */
type SomeRows = { readonly facts: string; readonly data: string }

function* rowsOf(
  database: SqlDatabase,
  { name, type }: Source,
  sessionId: string,
): Generator<SomeRows, void, undefined> {
  const found = database
    .prepare(`SELECT group_concat(rowid) AS places FROM ${name} WHERE session_id = ?`)
    .get(sessionId)
  if (typeof found?.['places'] !== 'string') return
  const places = found['places'].split(',')
  const facts = `seq || ',' || more || ',' || crc${type === undefined ? ` || ',"' || type || '"'` : ''}`
  const some = database.prepare(
    `SELECT '[' || group_concat(${facts}) || ']' AS facts, '[' || group_concat(data_json, '${between}') || ']' AS data
    FROM ${name} WHERE rowid IN (SELECT value FROM json_each(?))`,
  )
  for (let at = 0; at < places.length; at += rowsAtOnce) {
    const row = some.get(`[${places.slice(at, at + rowsAtOnce).join()}]`)
    yield { facts: textIn(row, 'facts'), data: textIn(row, 'data') }
  }
}

const between = ',\n'
const rowsAtOnce = 128

/** The records of a session by their position. */
class Slots {
  readonly #records: (SessionRecord | undefined)[]
  #empty: number
  #lastMore: unknown = 0

  constructor(count: number) {
    this.#records = Array.from({ length: count })
    this.#empty = count
  }

  /** Adds rows. Returns false when one of them differs from what was written, or is not at its position. */
  put({ facts, data }: SomeRows, known: SessionRecordType | undefined): boolean {
    const columns: unknown[] = JSON.parse(facts)
    const values: unknown[] = JSON.parse(data)
    const texts = data.slice(1, -1).split(between)
    const each = known === undefined ? 4 : 3
    if (columns.length !== each * values.length || texts.length !== values.length) return false
    for (let at = 0; at < values.length; at++) {
      const first = at * each
      const seq = columns[first]
      const type = known ?? columns[first + 3]
      if (typeof seq !== 'number' || !(seq >= 1 && seq <= this.#records.length)) return false
      if (typeof type !== 'string' || !isRecordType(type)) return false
      if (this.#records[seq - 1] !== undefined || checksum(texts[at] ?? '', seq) !== columns[first + 2])
        return false
      // The checksum proves that this is exactly the text that was written from a valid record.
      this.#records[seq - 1] = { type, data: values[at] } as SessionRecord
      this.#empty--
      if (seq === this.#records.length) this.#lastMore = columns[first + 1]
    }
    return true
  }

  whole(): readonly SessionRecord[] | undefined {
    return this.#empty === 0 && this.#lastMore === 0 ? (this.#records as SessionRecord[]) : undefined
  }
}

/** Reads row by row, in the order of writing and without an index, up to the first row that SQLite cannot return. */
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

/** Lists the columns by name, because the computed columns cannot be read from a row whose JSON is damaged. */
function columnsOf(type: Source['type']): string {
  return type === undefined ? 'seq, more, crc, data_json, type' : 'seq, more, crc, data_json'
}

function foundIn(row: SqlRow, known: SessionRecordType | undefined): Found | undefined {
  const seq = integerIn(row, 'seq')
  const json = textIn(row, 'data_json')
  const type = known ?? textIn(row, 'type')
  if (checksum(json, seq) !== integerIn(row, 'crc') || !isRecordType(type)) return undefined
  // The checksum proves that this is exactly the text that was written from a valid record.
  return { seq, more: integerIn(row, 'more'), record: { type, data: JSON.parse(json) } as SessionRecord }
}

function isRecordType(type: string): type is SessionRecordType {
  return type === 'session' || Object.hasOwn(tables, type)
}

/** Returns the complete batches before the first gap. */
function inOrder(found: readonly Found[]): SessionRecord[] {
  const sorted = found.toSorted((one, other) => one.seq - other.seq)
  const gap = sorted.findIndex(({ seq }, index) => seq !== index + 1)
  const unbroken = gap < 0 ? sorted : sorted.slice(0, gap)
  const end = unbroken.findLastIndex(({ more }) => more === 0) + 1
  return unbroken.slice(0, end).map(({ record }) => record)
}

/** Returns undefined where the file is damaged. */
function tolerant<Result>(read: () => Result): Result | undefined {
  try {
    return read()
  } catch (thrown) {
    if (isDamage(thrown)) return undefined
    throw thrown
  }
}
