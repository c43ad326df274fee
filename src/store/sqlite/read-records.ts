import { StoreError } from '../errors.js'
import type { SessionRecord, SessionRecordType } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type { StoredSession } from '../session-store.js'
import { type SqlDatabase, SqliteFault, type SqlRow } from './driver.js'
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

/**
 * Every record, if all of them are there as they were written. Rows come many at a time, as one list of JSON: drivers take longer to hand
 * over a row than SQLite to find it, and one long text is parsed faster than many short ones.
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
    // What is damaged, or too long for one text: row by row more may be had of it.
    if (thrown instanceof SqliteFault || thrown instanceof SyntaxError) return undefined
    throw thrown
  }
  return slots.whole()
}

/** Some rows: `[seq, more, crc, type?, …]`, and their records, each on a line of its own. JSON has no other line breaks. */
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

/** The records of a session by their place. */
class Slots {
  readonly #records: (SessionRecord | undefined)[]
  #empty: number
  #lastMore: unknown = 0

  constructor(count: number) {
    this.#records = Array.from({ length: count })
    this.#empty = count
  }

  /** False when one of them is not what was written, or not in its place. */
  put({ facts, data }: SomeRows, known: SessionRecordType | undefined): boolean {
    const told: unknown[] = JSON.parse(facts)
    const values: unknown[] = JSON.parse(data)
    const texts = data.slice(1, -1).split(between)
    const each = known === undefined ? 4 : 3
    if (told.length !== each * values.length || texts.length !== values.length) return false
    for (let at = 0; at < values.length; at++) {
      const first = at * each
      const seq = told[first]
      const type = known ?? told[first + 3]
      if (typeof seq !== 'number' || !(seq >= 1 && seq <= this.#records.length)) return false
      if (typeof type !== 'string' || !isRecordType(type)) return false
      if (this.#records[seq - 1] !== undefined || checksum(texts[at] ?? '', seq) !== told[first + 2])
        return false
      // The checksum says that these are the very characters that were written from such a record.
      this.#records[seq - 1] = { type, data: values[at] } as SessionRecord
      this.#empty--
      if (seq === this.#records.length) this.#lastMore = told[first + 1]
    }
    return true
  }

  whole(): readonly SessionRecord[] | undefined {
    return this.#empty === 0 && this.#lastMore === 0 ? (this.#records as SessionRecord[]) : undefined
  }
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
