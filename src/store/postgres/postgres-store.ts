import { createHash, randomUUID } from 'node:crypto'
import { damagedLog, StoreError } from '../errors.js'
import type { SessionRecord } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import type {
  EditRecords,
  OpenLogOptions,
  SessionInfo,
  SessionLog,
  SessionMailbox,
  SessionStore,
  StoredSession,
} from '../session-store.js'
import { AppendQueue } from './append-queue.js'
import { Database } from './database.js'
import { keepingAlive } from './driver.js'
import { encodeBatch, encodeInfo, mergeInfo, parseInfo, RecordRows, type StoredInfo } from './encode.js'
import { acquire, assertFree, type Head, lockHead } from './leases.js'
import { PostgresMailbox } from './mailbox.js'
import { PostgresLog } from './postgres-log.js'
import { type RecordRow, storedSession } from './read-records.js'
import { checkSchema, quoted } from './schema.js'
import { PresenceUse } from './shared-presence.js'
import { insertRows } from './statements.js'
import { decodeText, encodeId, encodeText } from './text.js'

/** The settings of a {@link PostgresSessionStore}. */
export type PostgresSessionStoreOptions = {
  /** The address of the database: `postgres://user:password@host:5432/name`. */
  readonly url: string
  /**
   * The same database without a pooler in between, for notifications and to show that this process runs. Needed when
   * `url` is PgBouncer in transaction mode; without it a process that ended is detected only after 15 s.
   */
  readonly directUrl?: string | undefined
  /** The schema of the tables. Default: `capstan`. */
  readonly schema?: string | undefined
  /**
   * The maximum number of connections, without those above. Default: 4. Stores and queues with the same URL and schema
   * in this process use the same connections.
   */
  readonly pool?: number | undefined
  /** Whether statements are prepared on their connections. Default: true, and false with a `directUrl`. */
  readonly prepare?: boolean | undefined
  /** How long an operation waits for a database that cannot be reached. Default: 60,000 ms. */
  readonly maxWaitMs?: number | undefined
}

/** Which sessions {@link PostgresSessionStore.list} returns. */
export type SessionFilter = {
  /** Only sessions with this label `tenantId`. */
  readonly tenantId?: string | undefined
  /** Only forks and subagents of this session. */
  readonly parentId?: string | undefined
  readonly workspaceRoot?: string | undefined
  /** The maximum number of sessions. */
  readonly limit?: number | undefined
  /** Continues a list after this session: the last of the page before. */
  readonly after?: Pick<SessionInfo, 'id' | 'updatedAtMs'> | undefined
}

/**
 * A store in a Postgres database, which processes on many machines can use at once. Needs the package `pg`. The tables
 * are created by `migrate`, not by the store.
 *
 * @example
 * ```ts
 * await migrate('postgres://capstan@db.example/capstan')
 * const store = new PostgresSessionStore({ url: 'postgres://capstan@db.example/capstan' })
 * ```
 */
export class PostgresSessionStore implements SessionStore {
  readonly backend = 'postgres'
  readonly mailbox: SessionMailbox
  readonly #schemaName: string
  readonly #schema: string
  readonly #database: Database
  readonly #presence: PresenceUse
  readonly #queue: AppendQueue
  readonly #open = new Set<PostgresLog>()
  #checked: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(options: PostgresSessionStoreOptions) {
    const { url, directUrl = url, schema = 'capstan', pool = 4, maxWaitMs = 60_000 } = options
    const applicationName = 'capstan'
    this.#schemaName = schema
    this.#schema = quoted(schema)
    this.#database = new Database({
      url,
      applicationName,
      share: schema,
      poolSize: pool,
      prepare: options.prepare ?? options.directUrl === undefined,
      maxWaitMs,
    })
    this.#presence = new PresenceUse({
      connection: { url: directUrl, applicationName },
      schema: this.#schema,
      maxWaitMs,
    })
    this.#queue = new AppendQueue(this.#database, this.#schema)
    this.mailbox = new PostgresMailbox(() => this.#ready(), this.#schema)
  }

  /** Returns the sessions, newest first: all of them, or those that a filter selects. */
  async list(filter: SessionFilter = {}): Promise<SessionInfo[]> {
    const database = await this.#ready()
    const { tenantId, parentId, workspaceRoot, limit, after } = filter
    const rows = await database.query<{ id: string; info: string; last_at: number | null }>({
      name: 'capstan_list',
      text: `select s.id, s.info, h.last_at::float8 as last_at
        from ${this.#schema}.sessions s join ${this.#schema}.heads h using (sid)
        where ($1::text is null or s.tenant = $1) and ($2::text is null or s.parent = $2)
          and ($3::text is null or s.workspace = $3)
          and ($4::text is null or coalesce(h.last_at, 0) < $5 or (coalesce(h.last_at, 0) = $5 and s.id > $4))
        order by coalesce(h.last_at, 0) desc, s.id
        limit $6`,
      values: [
        ...[tenantId, parentId, workspaceRoot].map((text) => (text === undefined ? null : encodeText(text))),
        after === undefined ? null : encodeText(after.id),
        after?.updatedAtMs ?? 0,
        limit ?? null,
      ],
    })
    return rows.map(({ id, info, last_at: updatedAtMs }) =>
      infoOf(decodeText(id), parseInfo(info), updatedAtMs),
    )
  }

  async read(sessionId: string): Promise<StoredSession | undefined> {
    const id = encodeId(sessionId)
    const database = await this.#ready()
    const rows = await database.query<RecordRow>({
      name: 'capstan_read',
      text: `select h.last_seq::float8 as last_seq, r.seq::float8 as seq, r.more, r.crc, r.type, r.data
        from ${this.#schema}.sessions s join ${this.#schema}.heads h using (sid)
          left join ${this.#schema}.records r using (sid)
        where s.id = $1 order by r.seq`,
      values: [id],
    })
    const stored = storedSession(sessionId, rows)
    for (const record of stored?.records ?? []) refuseFutureSchema(sessionId, record)
    return stored
  }

  async countRecords(sessionId: string): Promise<number> {
    const id = encodeId(sessionId)
    const database = await this.#ready()
    const rows = await database.query<{ readonly last_seq: number }>({
      name: 'capstan_count',
      text: `select h.last_seq::float8 as last_seq
        from ${this.#schema}.sessions s join ${this.#schema}.heads h using (sid) where s.id = $1`,
      values: [id],
    })
    return rows[0]?.last_seq ?? 0
  }

  async create(
    sessionId: string,
    records: readonly SessionRecord[],
    { now }: Omit<OpenLogOptions, 'durability'>,
  ): Promise<boolean> {
    const id = encodeId(sessionId)
    const batch = encodeBatch(records)
    const openedAt = now()
    const attempt = randomUUID()
    const database = await this.#ready()
    return database.transaction(async (run) => {
      const [created] = await run<{ sid: number }>({
        name: 'capstan_create',
        text: `with s as (
            insert into ${this.#schema}.sessions (id, opened_at) values ($1, $2) on conflict (id) do nothing returning sid
          ), h as (
            insert into ${this.#schema}.heads (sid, attempt) select sid, $3 from s
          )
          select sid::float8 as sid from s`,
        values: [id, openedAt, attempt],
      })
      if (created !== undefined) {
        await this.#writeAll(run, created.sid, [batch])
        return true
      }
      // An earlier attempt whose answer was lost may have created it.
      const [there] = await run<{ attempt: string | null }>({
        text: `select attempt from ${this.#schema}.sessions join ${this.#schema}.heads using (sid) where id = $1`,
        values: [id],
      })
      return there?.attempt === attempt
    })
  }

  async open(sessionId: string, { holder, now }: OpenLogOptions): Promise<SessionLog> {
    const id = encodeId(sessionId)
    const openedAt = now()
    const attempt = randomUUID()
    const database = await this.#ready()
    const node = await this.#presence.join()
    const { head, lease } = await database.transaction(async (run) => {
      const head = (await this.#lock(run, id)) ?? (await this.#insert(run, id, openedAt))
      if (head.lease !== undefined && head.attempt === attempt) return { head, lease: head.lease }
      assertFree(sessionId, head)
      refuseLater(sessionId, head.info)
      assertWhole(sessionId, head)
      const lease = await acquire(run, this.#schema, head.sid, { holder, node, now: openedAt, attempt })
      return { head, lease }
    })
    const log: PostgresLog = new PostgresLog({
      sessionId,
      sid: head.sid,
      lease,
      recordCount: head.lastSeq,
      info: head.info,
      database,
      schema: this.#schema,
      queue: this.#queue,
      defer: (statement) => this.#presence.defer(statement),
      ended: () => this.#open.delete(log),
    })
    this.#open.add(log)
    return log
  }

  async rewrite(sessionId: string, edit: EditRecords): Promise<void> {
    const id = encodeId(sessionId)
    const database = await this.#ready()
    await database.transaction(async (run) => {
      const head = await this.#lock(run, id)
      if (head === undefined) return
      assertFree(sessionId, head)
      refuseLater(sessionId, head.info)
      const rows = await run<RecordRow>({
        text: `select $2::float8 as last_seq, seq::float8 as seq, more, crc, type, data
          from ${this.#schema}.records where sid = $1 order by seq`,
        values: [head.sid, head.lastSeq],
      })
      const stored = storedSession(sessionId, rows)
      if (stored?.damage !== undefined) throw damagedLog(sessionId, stored.damage)
      const records = stored?.records ?? []
      const edited = edit(records)
      if (edited === records) return
      await run({ text: `delete from ${this.#schema}.records where sid = $1`, values: [head.sid] })
      await run({
        text: `update ${this.#schema}.heads
          set last_seq = 0, last_at = null, fence = nextval('${this.#schema}.fences'), holder = null, node = null
          where sid = $1`,
        values: [head.sid],
      })
      // In separate batches, so that one damaged byte does not invalidate a large batch.
      await this.#writeAll(
        run,
        head.sid,
        edited.map((record) => encodeBatch([record])),
      )
    })
  }

  async delete(sessionId: string): Promise<boolean> {
    const id = encodeId(sessionId)
    const database = await this.#ready()
    let wasThere = false
    await database.transaction(async (run) => {
      const head = await this.#lock(run, id)
      if (head === undefined) return
      assertFree(sessionId, head)
      // Stays true when this attempt's answer is lost and the next one finds nothing.
      wasThere = true
      for (const table of ['records', 'blobs', 'heads', 'sessions'])
        await run({ text: `delete from ${this.#schema}.${table} where sid = $1`, values: [head.sid] })
    })
    return wasThere
  }

  async readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined> {
    const id = encodeId(sessionId)
    if (!/^[0-9a-f]{64}$/.test(digest)) return undefined
    const database = await this.#ready()
    const [row] = await database.query<{ bytes: Buffer }>({
      name: 'capstan_read_blob',
      text: `select b.bytes from ${this.#schema}.sessions s join ${this.#schema}.blobs b using (sid)
        where s.id = $1 and b.digest = $2`,
      values: [id, digest],
    })
    if (row === undefined) return undefined
    if (createHash('sha256').update(row.bytes).digest('hex') !== digest)
      throw new StoreError(
        'store_damaged',
        `The blob ${digest} of session '${sessionId}' is not what was written. Restore it from a backup.`,
      )
    return new Uint8Array(row.bytes)
  }

  /** The time of the database server. */
  async now(): Promise<number> {
    const database = await this.#ready()
    const [row] = await database.query<{ now: number }>({
      text: 'select extract(epoch from clock_timestamp())::float8 * 1000 as now',
    })
    return row?.now ?? Date.now()
  }

  /** Closes the open logs, then the connections. */
  close(): Promise<void> {
    this.#closing ??= keepingAlive(this.#close())
    return this.#closing
  }

  async #close(): Promise<void> {
    const ends = await Promise.allSettled([...this.#open].map((log) => log.close()))
    await this.#presence.leave()
    await this.#database.close()
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /** Checks the version of the schema once. */
  async #ready(): Promise<Database> {
    this.#checked ??= checkSchema(this.#database, this.#schemaName)
    try {
      await this.#checked
    } catch (thrown) {
      this.#checked = undefined
      throw thrown
    }
    return this.#database
  }

  #lock(run: Parameters<typeof lockHead>[0], id: string): Promise<Head | undefined> {
    return lockHead(run, this.#schema, id, this.#presence.canJudge)
  }

  async #insert(run: Parameters<typeof lockHead>[0], id: string, openedAt: number): Promise<Head> {
    await run({
      name: 'capstan_insert',
      text: `with s as (
          insert into ${this.#schema}.sessions (id, opened_at) values ($1, $2) on conflict (id) do nothing returning sid
        )
        insert into ${this.#schema}.heads (sid) select sid from s`,
      values: [id, openedAt],
    })
    const head = await this.#lock(run, id)
    if (head === undefined)
      throw new StoreError('store_failed', `Session '${decodeText(id)}' was deleted while it was opened.`)
    return head
  }

  /** Writes the first records of a session, inside of a transaction. */
  async #writeAll(
    run: Parameters<typeof lockHead>[0],
    sid: number,
    batches: readonly ReturnType<typeof encodeBatch>[],
  ): Promise<void> {
    let position = 0
    let info: StoredInfo = {}
    let lastAtMs: number | null = null
    for (let from = 0; from < batches.length; from += batchesAtOnce) {
      const rows = new RecordRows()
      for (const batch of batches.slice(from, from + batchesAtOnce)) {
        rows.add(sid, position + 1, batch)
        position += batch.texts.length
        if (batch.info !== undefined) info = mergeInfo(info, batch.info)
        if (batch.lastAtMs !== undefined) lastAtMs = Math.max(lastAtMs ?? 0, batch.lastAtMs)
      }
      const { sids, seqs, mores, crcs, types, texts } = rows.columns()
      await run({
        name: 'capstan_insert_records',
        text: insertRows(this.#schema, 1),
        values: [sids, seqs, mores, crcs, types, texts],
      })
    }
    await run({
      name: 'capstan_set_head',
      text: `with h as (update ${this.#schema}.heads set last_seq = $2, last_at = $3 where sid = $1)
        update ${this.#schema}.sessions
        set info = $4::json ->> 'info', schema_version = ($4::json ->> 'schema_version')::integer,
          tenant = $4::json ->> 'tenant', parent = $4::json ->> 'parent', workspace = $4::json ->> 'workspace'
        where sid = $1`,
      values: [sid, position, lastAtMs, encodeInfo(info)],
    })
  }
}

const batchesAtOnce = 500

function infoOf(id: string, stored: StoredInfo, updatedAtMs: number | null): SessionInfo {
  const { schemaVersion: _, ...info } = stored
  return { id, ...info, ...(updatedAtMs !== null && { updatedAtMs }) }
}

function refuseLater(sessionId: string, { schemaVersion = 0 }: StoredInfo): void {
  refuseFutureSchema(sessionId, { type: 'session', data: { id: sessionId, schemaVersion, updatedAtMs: 0 } })
}

/** Throws if records are missing: records appended after a gap could never be read. */
function assertWhole(sessionId: string, { lastSeq, found }: Head): void {
  if (lastSeq === found) return
  throw new StoreError(
    'store_damaged',
    `Session '${sessionId}' has lost ${lastSeq - found} of ${lastSeq} records, so it accepts no more. The records before the damage can be read: continue in a new session made from them.`,
  )
}
