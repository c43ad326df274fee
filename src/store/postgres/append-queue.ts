import { setTimeout as wait } from 'node:timers/promises'
import { type CapstanError, messageOf } from '../../tool/errors.js'
import { lostLease, StoreError } from '../errors.js'
import type { Database } from './database.js'
import { arrayOf, type EncodedBatch, encodeInfo, mergeInfo, RecordRows, type StoredInfo } from './encode.js'
import { isPassing } from './faults.js'
import { insertRows } from './statements.js'

/**
 * Sends the appends of all sessions. Appends that wait while statements are in flight become one statement, so that
 * many sessions share a round trip and a commit. Each session has at most one batch in flight, so its order is
 * preserved.
 *
 * An append is applied exactly once: it contains the fence of its lease and the position where it begins, and the
 * server accepts a position only once. When an answer is lost, the same statement is sent again and finds that its
 * records are stored.
 */
export class AppendQueue {
  readonly #database: Database
  readonly #text: string
  #waiting: Writer[] = []
  #onTheWay = 0

  constructor(database: Database, schema: string) {
    this.#database = database
    this.#text = appendText(schema)
  }

  /** Appends a batch after all earlier ones of this writer. */
  add(writer: Writer, batch: EncodedBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      writer.pending.push({ batch, resolve, reject })
      if (writer.isOnTheWay || writer.pending.length > 1) return
      this.#waiting.push(writer)
      queueMicrotask(() => this.#pump())
    })
  }

  #pump(): void {
    while (this.#onTheWay < maxOnTheWay && this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, maxGroup).map(take)
      this.#onTheWay++
      void this.#send(group).then(() => {
        this.#onTheWay--
        for (const { writer } of group) {
          writer.isOnTheWay = false
          if (writer.pending.length > 0) this.#waiting.push(writer)
        }
        this.#pump()
      })
    }
  }

  /** Sends a group, and settles the appends of all its writers. Never rejects. */
  async #send(group: readonly Parcel[]): Promise<void> {
    let rest = group
    for (let attempt = 1; rest.length > 0; attempt++) {
      let answers: Map<number, Answer>
      try {
        answers = await this.#ask(rest)
      } catch (thrown) {
        const error = asError(thrown)
        // Only one of several may be the cause, so each is tried separately.
        if (rest.length > 1 && !isPassing(error.cause)) for (const parcel of rest) await this.#send([parcel])
        else for (const parcel of rest) fail(parcel, error)
        return
      }
      rest = rest.filter((parcel) => !settle(parcel, answers.get(parcel.writer.sid)))
      // An earlier attempt has just committed, or is about to: the next attempt will see it.
      if (rest.length > 0) await wait(Math.min(250, 5 * attempt))
    }
  }

  async #ask(parcels: readonly Parcel[]): Promise<Map<number, Answer>> {
    const rows = new RecordRows()
    for (const { writer, batches } of parcels) {
      let first = writer.position + 1
      for (const batch of batches) {
        rows.add(writer.sid, first, batch)
        first += batch.texts.length
      }
    }
    const { sids, seqs, mores, crcs, types, texts } = rows.columns()
    const answers = await this.#database.query<Answer>({
      name: 'capstan_append',
      text: this.#text,
      values: [
        arrayOf(parcels.map(({ writer }) => writer.sid)),
        arrayOf(parcels.map(({ writer }) => writer.fence)),
        arrayOf(parcels.map(({ writer }) => writer.position)),
        arrayOf(parcels.map(({ count }) => count)),
        arrayOf(parcels.map(({ lastAtMs }) => lastAtMs)),
        parcels.map(({ info }) => (info === undefined ? '' : encodeInfo(info))).join('\n'),
        ...[sids, seqs, mores, crcs, types, texts],
      ],
      timeoutMs: answerTimeoutMs,
    })
    return new Map(answers.map((answer) => [answer.sid, answer]))
  }
}

/** The end of one log, as tracked by its holder. */
export type Writer = {
  readonly sessionId: string
  readonly sid: number
  readonly fence: number
  /** The number of records that the server has confirmed. */
  position: number
  info: StoredInfo
  readonly pending: PendingBatch[]
  isOnTheWay: boolean
  /** Called when an append has failed, before its promise is rejected. */
  failed(error: CapstanError): CapstanError
}

type PendingBatch = {
  readonly batch: EncodedBatch
  resolve(): void
  reject(error: Error): void
}

/** What one writer sends in one statement: all of it is stored, or nothing. */
type Parcel = {
  readonly writer: Writer
  readonly entries: readonly PendingBatch[]
  readonly batches: readonly EncodedBatch[]
  readonly count: number
  readonly lastAtMs: number | undefined
  readonly info: StoredInfo | undefined
}

/** The answer of the server. `last_seq` and the other columns are from before the statement. */
type Answer = {
  readonly sid: number
  readonly moved: boolean
  readonly last_seq: number | null
  readonly fence: number | null
  readonly held: boolean
}

/**
 * The maximum number of statements in flight. While they wait, appends accumulate to larger statements; a higher limit
 * would only make them smaller.
 */
const maxOnTheWay = 2
const maxGroup = 64
const maxParcelLength = 4_000_000
const answerTimeoutMs = 15_000

function take(writer: Writer): Parcel {
  let length = 0
  let count = 0
  for (const { batch } of writer.pending) {
    if (count > 0 && length > maxParcelLength) break
    length += batch.texts.reduce((sum, text) => sum + text.length, 0)
    count++
  }
  const entries = writer.pending.splice(0, count)
  const batches = entries.map(({ batch }) => batch)
  const times = batches.flatMap(({ lastAtMs }) => lastAtMs ?? [])
  const infos = batches.flatMap(({ info }) => info ?? [])
  writer.isOnTheWay = true
  return {
    writer,
    entries,
    batches,
    count: batches.reduce((sum, { texts }) => sum + texts.length, 0),
    lastAtMs: times.length === 0 ? undefined : Math.max(...times),
    info: infos.length === 0 ? undefined : infos.reduce(mergeInfo, writer.info),
  }
}

/** Returns false when the answer does not yet show whether the records are stored. */
function settle(parcel: Parcel, answer: Answer | undefined): boolean {
  const { writer, count, info, entries } = parcel
  const end = writer.position + count
  if (answer?.moved === true || (answer?.last_seq === end && answer.fence === writer.fence && count > 0)) {
    writer.position = end
    if (info !== undefined) writer.info = info
    for (const { resolve } of entries) resolve()
    return true
  }
  if (answer === undefined || answer.fence !== writer.fence || !answer.held)
    fail(parcel, lostLease(writer.sessionId))
  else if (answer.last_seq === writer.position) return false
  else
    fail(
      parcel,
      new StoreError(
        'store_failed',
        `The database has ${answer.last_seq} records of session '${writer.sessionId}', and ${writer.position} were confirmed: it was restored from an earlier state. Open the session again to continue from there.`,
      ),
    )
  return true
}

function fail({ writer, entries }: Parcel, error: CapstanError): void {
  const reported = writer.failed(error)
  for (const { reject } of [...entries, ...writer.pending.splice(0)]) reject(reported)
}

function asError(thrown: unknown): CapstanError {
  return thrown instanceof StoreError
    ? thrown
    : new StoreError('store_failed', messageOf(thrown), { cause: thrown })
}

/**
 * Advances the end of each log whose fence and position match, and inserts the records of these logs. The commit waits
 * for the disk even if the server's default is not to.
 */
function appendText(schema: string): string {
  return `with want as (
  select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::bigint[],
    string_to_array($6::text, E'\\n')) as w (sid, fence, start, count, last_at, change)
), moved as (
  update ${schema}.heads h
  set last_seq = h.last_seq + w.count, last_at = greatest(h.last_at, w.last_at)
  from want w
  where h.sid = w.sid and h.fence = w.fence and h.holder is not null and h.last_seq = w.start
  returning h.sid, w.change
), changed as (
  update ${schema}.sessions s
  set info = m.change::json ->> 'info', schema_version = (m.change::json ->> 'schema_version')::integer,
    tenant = m.change::json ->> 'tenant', parent = m.change::json ->> 'parent', workspace = m.change::json ->> 'workspace'
  from moved m
  where s.sid = m.sid and m.change <> ''
), put as (
  ${insertRows(schema, 7)} where r.sid in (select sid from moved)
)
select w.sid::float8 as sid, m.sid is not null as moved, h.last_seq::float8 as last_seq, h.fence::float8 as fence,
  h.holder is not null as held,
  case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', true) end as commit
from want w left join moved m on m.sid = w.sid left join ${schema}.heads h on h.sid = w.sid`
}
