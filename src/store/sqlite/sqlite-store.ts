import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { damagedLog, StoreError } from '../errors.js'
import type { SessionRecord } from '../records.js'
import { refuseFutureSchema } from '../schema.js'
import { newestFirst, sessionInfo } from '../session-info.js'
import type {
  EditRecords,
  OpenLogOptions,
  SessionInfo,
  SessionLog,
  SessionStore,
  StoredSession,
} from '../session-store.js'
import { CommitQueue } from './commit-queue.js'
import { type Connection, connect } from './connection.js'
import type { SqlDatabase, SqlRow } from './driver.js'
import { damageFault, storeErrorOf } from './faults.js'
import { assertFree, releaseLease, renewEveryMs, renewLeases, takeLease } from './leases.js'
import { assertWhole, countRecords, readRecords } from './read-records.js'
import { bytesIn, textIn } from './row.js'
import { SqliteLog } from './sqlite-log.js'
import { encodeBatch, replaceRecords, writeBatch } from './write-records.js'

/**
 * A store in one SQLite file, which several processes can use at once. The file is created when the first session is
 * opened.
 *
 * @example
 * ```ts
 * const store = new SqliteSessionStore('sessions.db')
 * ```
 */
export class SqliteSessionStore implements SessionStore {
  readonly backend = 'sqlite'
  readonly file: string
  /** The database, and the files that SQLite puts next to it. */
  readonly paths: readonly string[]
  readonly #queue: CommitQueue
  readonly #open = new Map<number, SqliteLog>()
  #connection: Connection | undefined
  #renewal: NodeJS.Timeout | undefined
  #closed = false

  constructor(file: string) {
    this.file = resolve(file)
    this.paths = ['', '-wal', '-shm', '-journal'].map((end) => `${this.file}${end}`)
    this.#queue = new CommitQueue(this.file, () => this.#connect())
  }

  async list(): Promise<SessionInfo[]> {
    return newestFirst(this.#read(({ database }) => database.prepare(listed).all().map(infoIn)) ?? [])
  }

  async read(sessionId: string): Promise<StoredSession | undefined> {
    return this.readSync(sessionId)
  }

  readSync(sessionId: string): StoredSession | undefined {
    assertId(sessionId)
    return this.#read(({ database }) => readRecords(database, sessionId))
  }

  async countRecords(sessionId: string): Promise<number> {
    assertId(sessionId)
    return this.#read(({ database }) => countRecords(database, sessionId)) ?? 0
  }

  async create(
    sessionId: string,
    records: readonly SessionRecord[],
    { holder, now }: Omit<OpenLogOptions, 'durability'>,
  ): Promise<boolean> {
    assertId(sessionId)
    const at = now()
    const batch = encodeBatch(sessionId, records)
    return this.#queue.add({
      durable: false,
      work: ({ database }) => {
        if (database.prepare('SELECT 1 FROM chat_sessions WHERE id = ?').get(sessionId) !== undefined)
          return false
        const { lease } = takeLease(database, sessionId, holder, at)
        writeBatch(database, sessionId, lease, batch)
        releaseLease(database, lease)
        return true
      },
    })
  }

  async open(sessionId: string, { holder, durability = 'sync', now }: OpenLogOptions): Promise<SessionLog> {
    assertId(sessionId)
    const openedAt = now()
    const { lease, recordCount } = await this.#queue.add({
      durable: false,
      work: ({ database }) => {
        const taken = takeLease(database, sessionId, holder, openedAt)
        refuseLater(database, sessionId)
        assertWhole(database, sessionId)
        return taken
      },
    })
    const ended = (): void => this.#forget(lease.fence)
    const log = new SqliteLog({ sessionId, lease, recordCount, durability, queue: this.#queue, ended })
    this.#open.set(lease.fence, log)
    this.#renewal ??= setInterval(() => this.#renew(), renewEveryMs).unref()
    return log
  }

  async rewrite(
    sessionId: string,
    edit: EditRecords,
    { holder, now }: Omit<OpenLogOptions, 'durability'>,
  ): Promise<void> {
    assertId(sessionId)
    if (!this.#isThere()) return
    const at = now()
    await this.#queue.add({
      durable: true,
      work: ({ database }) => {
        const stored = readRecords(database, sessionId)
        if (stored === undefined) return
        const { lease } = takeLease(database, sessionId, holder, at)
        if (stored.damage !== undefined) throw damagedLog(sessionId, stored.damage)
        const edited = edit(stored.records)
        if (edited !== stored.records) replaceRecords(database, sessionId, lease, edited)
        releaseLease(database, lease)
      },
    })
  }

  async delete(sessionId: string): Promise<boolean> {
    assertId(sessionId)
    if (!this.#isThere()) return false
    return this.#queue.add({
      durable: true,
      work: ({ database }) => {
        assertFree(database, sessionId)
        return database.prepare('DELETE FROM chat_sessions WHERE id = ?').run(sessionId) > 0
      },
    })
  }

  async readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined> {
    return this.readBlobSync(sessionId, digest)
  }

  readBlobSync(sessionId: string, digest: string): Uint8Array | undefined {
    assertId(sessionId)
    return this.#read(({ database }) => {
      const row = database
        .prepare('SELECT bytes FROM blobs WHERE session_id = ? AND digest = ?')
        .get(sessionId, digest)
      if (row === undefined) return undefined
      const bytes = bytesIn(row, 'bytes')
      if (createHash('sha256').update(bytes).digest('hex') !== digest)
        throw damageFault(`blob ${digest} is not what was written`)
      return bytes
    })
  }

  /** Closes the open logs, then the file. */
  async close(): Promise<void> {
    if (this.#closed) return
    const ends = await Promise.allSettled([...this.#open.values()].map((log) => log.close()))
    await this.#queue.settled()
    this.#closed = true
    clearInterval(this.#renewal)
    const connection = this.#connection
    this.#connection = undefined
    if (connection !== undefined) this.#guarded(() => connection.close())
    for (const end of ends) if (end.status === 'rejected') throw end.reason
  }

  /** Reads from the database. Undefined while there is no file: reading does not create one. */
  #read<Result>(work: (connection: Connection) => Result): Result | undefined {
    if (!this.#isThere()) return undefined
    return this.#guarded(() => {
      const connection = this.#connect()
      return connection.reading(() => work(connection))
    })
  }

  #isThere(): boolean {
    return this.#connection !== undefined || this.#closed || existsSync(this.file)
  }

  #connect(): Connection {
    if (this.#closed)
      throw new StoreError(
        'store_closed',
        `The store on ${this.file} is closed. Create a new one to continue.`,
      )
    this.#connection ??= connect(this.file)
    return this.#connection
  }

  #guarded<Result>(work: () => Result): Result {
    try {
      return work()
    } catch (thrown) {
      throw storeErrorOf(thrown, this.file)
    }
  }

  #forget(fence: number): void {
    this.#open.delete(fence)
    if (this.#open.size > 0) return
    clearInterval(this.#renewal)
    this.#renewal = undefined
  }

  #renew(): void {
    const fences = [...this.#open.keys()]
    const renewed = this.#queue.add({
      durable: false,
      work: ({ database }) => renewLeases(database, fences),
    })
    renewed.catch(() => {
      // The next append gets the same error and reports it.
    })
  }
}

/** Selects the id as bytes, because one driver ends a text at the character 0. */
const listed = `
  SELECT CAST(id AS BLOB) AS id, state_json, last_at FROM chat_sessions LEFT JOIN leases ON session_id = id`

function infoIn(row: SqlRow): SessionInfo {
  const id = new TextDecoder().decode(bytesIn(row, 'id'))
  const { updatedAtMs: _, ...info } = sessionInfo(id, [
    { type: 'session', data: JSON.parse(textIn(row, 'state_json')) },
  ])
  const { last_at: updatedAtMs } = row
  return { ...info, ...(typeof updatedAtMs === 'number' && { updatedAtMs }) }
}

function refuseLater(database: SqlDatabase, sessionId: string): void {
  const row = database.prepare('SELECT state_json FROM chat_sessions WHERE id = ?').get(sessionId)
  refuseFutureSchema(sessionId, { type: 'session', data: JSON.parse(textIn(row, 'state_json')) })
}

/**
 * Rejects empty ids and those with half a surrogate pair, which could not be distinguished from others. All other ids
 * are safe, because they are only bound as parameters.
 */
function assertId(sessionId: string): void {
  if (sessionId !== '' && !/[\ud800-\udfff]/u.test(sessionId)) return
  const problem = sessionId === '' ? 'it is empty' : 'it contains half of a surrogate pair'
  throw new StoreError('store_bad_id', `This cannot be the id of a session: ${problem}.`)
}
