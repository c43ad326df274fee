import { crc32 } from 'node:zlib'
import type { SessionRecord } from '../records.js'
import { sessionInfo } from '../session-info.js'
import type { AppendOptions, Lease } from '../session-store.js'
import type { SqlDatabase, SqlValue } from './driver.js'
import { advance } from './leases.js'
import { textIn } from './row.js'

/** A batch as it will be stored: later changes of the caller's objects are not in it. */
export type EncodedBatch = { readonly rows: readonly EncodedRow[]; readonly lastAtMs: number | undefined }

type EncodedRow = {
  readonly table: Table | undefined
  readonly key: readonly SqlValue[]
  readonly json: string
}

/** `texts` has the JSON texts of records' data, if the caller has them. */
export function encodeBatch(
  sessionId: string,
  records: readonly SessionRecord[],
  texts?: AppendOptions['json'],
): EncodedBatch {
  const rows = records.map((record) => {
    const json = texts?.get(record.data) ?? JSON.stringify(record.data)
    return record.type === 'session'
      ? { table: undefined, key: [], json }
      : { table: tables[record.type], key: keyOf(record), json }
  })
  return { rows, lastAtMs: sessionInfo(sessionId, records).updatedAtMs }
}

/** Appends a batch; runs inside a transaction. */
export function writeBatch(
  database: SqlDatabase,
  sessionId: string,
  lease: Lease,
  { rows, lastAtMs }: EncodedBatch,
): void {
  const last = advance(database, sessionId, lease, rows.length, lastAtMs)
  for (const [index, { table, key, json }] of rows.entries()) {
    const more = rows.length - 1 - index
    const seq = last - more
    const place: Place = { sessionId, seq, more, crc: checksum(json, seq), json }
    if (table === undefined) changeSession(database, place)
    else putRow(database, table, key, place)
  }
}

/**
 * Replaces all records of a session; runs inside a transaction. Each record is its own batch, so it can be read even if
 * later ones are lost.
 */
export function replaceRecords(
  database: SqlDatabase,
  sessionId: string,
  lease: Lease,
  records: readonly SessionRecord[],
): void {
  for (const name of [...Object.values(tables).map((table) => table.name), 'record_history'])
    database.prepare(`DELETE FROM ${name} WHERE session_id = ?`).run(sessionId)
  database.prepare(`UPDATE chat_sessions SET state_json = '{}' WHERE id = ?`).run(sessionId)
  database.prepare('UPDATE leases SET last_seq = 0 WHERE session_id = ?').run(sessionId)
  for (const record of records) writeBatch(database, sessionId, lease, encodeBatch(sessionId, [record]))
}

/** Returns the checksum of a record and its position, which detects a flipped bit and a moved row. */
export function checksum(json: string, seq: number): number {
  return crc32(json, seq)
}

type Place = {
  readonly sessionId: string
  readonly seq: number
  readonly more: number
  readonly crc: number
  readonly json: string
}

/** The tables of each kind of record, with the columns that identify a row inside its session. */
export const tables = {
  message: { type: 'message', name: 'chat_messages', key: ['id'] },
  part: { type: 'part', name: 'chat_parts', key: ['id'] },
  run: { type: 'run', name: 'runs', key: ['id'] },
  run_event: { type: 'run_event', name: 'run_events', key: ['run_id', 'sequence'] },
  checkpoint: { type: 'checkpoint', name: 'checkpoints', key: ['run_id', 'round'] },
} as const

type Table = (typeof tables)[keyof typeof tables]

function keyOf(record: Exclude<SessionRecord, { type: 'session' }>): SqlValue[] {
  switch (record.type) {
    case 'run_event':
      return [record.data.runId, record.data.sequence]
    case 'checkpoint':
      return [record.data.runId, record.data.round]
    default:
      return [record.data.id]
  }
}

function changeSession(database: SqlDatabase, place: Place): void {
  const row = database.prepare('SELECT state_json FROM chat_sessions WHERE id = ?').get(place.sessionId)
  const state = { ...JSON.parse(textIn(row, 'state_json')), ...JSON.parse(place.json) }
  database
    .prepare('UPDATE chat_sessions SET state_json = ? WHERE id = ?')
    .run(JSON.stringify(state), place.sessionId)
  database
    .prepare(
      `INSERT INTO record_history (session_id, seq, more, crc, data_json, type) VALUES (?, ?, ?, ?, ?, 'session')`,
    )
    .run(place.sessionId, place.seq, place.more, place.crc, place.json)
}

function putRow(
  database: SqlDatabase,
  { type, name, key }: Table,
  id: readonly SqlValue[],
  place: Place,
): void {
  const { sessionId, seq, more, crc, json } = place
  const columns = ['session_id', 'seq', 'more', 'crc', 'data_json', ...key]
  const inserted = database
    .prepare(
      `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
      ON CONFLICT (session_id, ${key.join(', ')}) DO NOTHING`,
    )
    .run(sessionId, seq, more, crc, json, ...id)
  if (inserted === 1) return
  const where = `session_id = ? AND ${key.map((column) => `${column} = ?`).join(' AND ')}`
  database
    .prepare(
      `INSERT INTO record_history (session_id, seq, more, crc, data_json, type)
      SELECT session_id, seq, more, crc, data_json, '${type}' FROM ${name} WHERE ${where}`,
    )
    .run(sessionId, ...id)
  database
    .prepare(`UPDATE ${name} SET seq = ?, more = ?, crc = ?, data_json = ? WHERE ${where}`)
    .run(seq, more, crc, json, sessionId, ...id)
}
