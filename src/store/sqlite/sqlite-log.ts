import { createHash } from 'node:crypto'
import { logFailed } from '../errors.js'
import { logClosed } from '../memory-store.js'
import type { SessionRecord } from '../records.js'
import type { AppendOptions, Durability, Lease, SessionLog } from '../session-store.js'
import type { CommitQueue, Work } from './commit-queue.js'
import { advance, releaseLease } from './leases.js'
import { encodeBatch, writeBatch } from './write-records.js'

export type LogOptions = {
  readonly sessionId: string
  readonly lease: Lease
  readonly recordCount: number
  readonly durability: Durability
  readonly queue: CommitQueue
  /** Called when the log has ended, whether or not it could release its lease. */
  ended(): void
}

export class SqliteLog implements SessionLog {
  readonly lease: Lease
  readonly recordCount: number
  readonly #options: LogOptions
  #failure: Error | undefined
  #closing: Promise<void> | undefined
  /** Whether there are commits that may not be on disk. */
  #unsynced = false
  #syncTimer: NodeJS.Timeout | undefined

  constructor(options: LogOptions) {
    this.#options = options
    this.lease = options.lease
    this.recordCount = options.recordCount
  }

  async append(records: readonly SessionRecord[], { soon = false, json }: AppendOptions = {}): Promise<void> {
    const { sessionId } = this.#options
    const batch = encodeBatch(sessionId, records, json)
    await this.#write(({ database }) => writeBatch(database, sessionId, this.lease, batch), soon)
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    const { sessionId } = this.#options
    const copy = bytes.slice()
    const digest = createHash('sha256').update(copy).digest('hex')
    await this.#write(({ database }) => {
      advance(database, sessionId, this.lease, 0, undefined)
      database
        .prepare('INSERT OR IGNORE INTO blobs (session_id, digest, bytes) VALUES (?, ?, ?)')
        .run(sessionId, digest, copy)
    })
    return digest
  }

  async flush(): Promise<void> {
    this.#refuseWhenEnded()
    await this.#sync()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  #refuseWhenEnded(): void {
    if (this.#closing !== undefined) throw logClosed(this.#options.sessionId)
    if (this.#failure !== undefined) throw logFailed(this.#options.sessionId, this.#failure)
  }

  async #write(work: Work<void>['work'], soon = false): Promise<void> {
    this.#refuseWhenEnded()
    const { durability, queue, sessionId } = this.#options
    const durable = durability === 'sync' && !soon
    await queue.add({
      durable,
      work: (connection) => {
        if (this.#failure !== undefined) throw logFailed(sessionId, this.#failure)
        work(connection)
      },
      failed: (error) => {
        this.#failure ??= error
      },
    })
    // A synced commit includes all before it.
    this.#unsynced = !durable
    if (!durable && durability !== 'exit') this.#syncSoon(soonMs[durability])
  }

  #syncSoon(ms: number): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined
      // The log has failed, so the next writer gets the error.
      this.#sync().catch((error: Error) => {
        this.#failure ??= error
      })
    }, ms).unref()
  }

  /** Syncs with a commit that changes a row, because a commit without changes would not be synced. */
  async #sync(): Promise<void> {
    if (!this.#unsynced) return
    this.#unsynced = false
    const { sessionId, queue } = this.#options
    await queue.add({
      durable: true,
      work: ({ database }) => {
        advance(database, sessionId, this.lease, 0, undefined)
      },
    })
  }

  async #close(): Promise<void> {
    clearTimeout(this.#syncTimer)
    const { queue, ended } = this.#options
    try {
      await queue.add({
        durable: this.#unsynced,
        work: ({ database }) => releaseLease(database, this.lease),
      })
    } finally {
      ended()
    }
  }
}

/** How long records can wait for the disk when no caller waits for them. */
const soonMs = { sync: 10, async: 100 }
