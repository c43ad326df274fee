import { createHash } from 'node:crypto'
import type { CapstanError } from '../../tool/errors.js'
import { logFailed, lostLease } from '../errors.js'
import { logClosed } from '../memory-store.js'
import type { SessionRecord } from '../records.js'
import type { AppendOptions, Lease, SessionLog } from '../session-store.js'
import type { AppendQueue, Writer } from './append-queue.js'
import type { Database, Statement } from './database.js'
import { encodeBatch, type StoredInfo } from './encode.js'

export type LogOptions = {
  readonly sessionId: string
  readonly sid: number
  readonly lease: Lease
  readonly recordCount: number
  readonly info: StoredInfo
  readonly database: Database
  readonly schema: string
  readonly queue: AppendQueue
  /** Runs a statement that failed as soon as the database can be reached. */
  defer(statement: Statement): void
  /** Called when the log has ended, whether or not it could release its lease. */
  ended(): void
}

export class PostgresLog implements SessionLog {
  readonly lease: Lease
  readonly recordCount: number
  readonly #options: LogOptions
  readonly #writer: Writer
  #failure: CapstanError | undefined
  #closing: Promise<void> | undefined
  /** Settles, and never rejects, when everything so far is written or has failed. */
  #written: Promise<unknown> = Promise.resolve()

  constructor(options: LogOptions) {
    this.#options = options
    this.lease = options.lease
    this.recordCount = options.recordCount
    this.#writer = {
      sessionId: options.sessionId,
      sid: options.sid,
      fence: options.lease.fence,
      position: options.recordCount,
      info: options.info,
      pending: [],
      isOnTheWay: false,
      failed: (error) => {
        this.#failure ??= error
        return error
      },
    }
  }

  async append(records: readonly SessionRecord[], { json }: AppendOptions = {}): Promise<void> {
    this.#refuseWhenEnded()
    const batch = encodeBatch(records, json)
    if (records.length === 0) return
    await this.#tracked(this.#options.queue.add(this.#writer, batch))
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    this.#refuseWhenEnded()
    const copy = Buffer.from(bytes)
    const digest = createHash('sha256').update(copy).digest('hex')
    await this.#tracked(this.#putBlob(digest, copy))
    return digest
  }

  async flush(): Promise<void> {
    this.#refuseWhenEnded()
    await this.#written
    this.#refuseWhenEnded()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #refuseWhenEnded(): void {
    if (this.#closing !== undefined) throw logClosed(this.#options.sessionId)
    if (this.#failure !== undefined) throw logFailed(this.#options.sessionId, this.#failure)
  }

  #tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.#written = Promise.allSettled([this.#written, work])
    return work
  }

  async #putBlob(digest: string, bytes: Buffer): Promise<void> {
    const { database, schema, sid, sessionId } = this.#options
    const [row] = await database.query({
      name: 'capstan_put_blob',
      text: `with held as (
          select sid from ${schema}.heads where sid = $1 and fence = $2 and holder is not null for update
        ), put as (
          insert into ${schema}.blobs (sid, digest, bytes) select sid, $3, $4 from held on conflict do nothing
        )
        select sid from held`,
      values: [sid, this.lease.fence, digest, bytes],
    })
    if (row !== undefined) return
    this.#failure ??= lostLease(sessionId)
    throw this.#failure
  }

  async #close(): Promise<void> {
    await this.#written
    const { database, schema, sid, defer, ended } = this.#options
    const release = {
      name: 'capstan_release',
      text: `update ${schema}.heads set holder = null, node = null where sid = $1 and fence = $2`,
      values: [sid, this.lease.fence],
    }
    try {
      await database.query(release)
    } catch (thrown) {
      // Without this, the session would be locked until this process ends, because its heartbeat continues.
      defer(release)
      throw thrown
    } finally {
      ended()
    }
  }
}
