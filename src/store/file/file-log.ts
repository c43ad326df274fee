import { StoreError } from '../errors.js'
import { logClosed } from '../memory-store.js'
import type { SessionRecord } from '../records.js'
import type { AppendOptions, Durability, Lease, SessionLog } from '../session-store.js'
import { digestOf, keepBlob, syncBlobs } from './blob-files.js'
import { type FileLayer, writeAll } from './file-layer.js'
import { type HeldLease, isStillHeld, releaseLease, showLife } from './lease-file.js'
import { encodeBatch } from './log-line.js'
import { rewriteLog } from './repair-log.js'
import { storeFailure } from './system-failure.js'

export type FileLogParts = {
  readonly files: FileLayer
  readonly sessionId: string
  readonly directory: string
  readonly held: HeldLease
  readonly fd: number
  /** Where to go on, and the checksum of what stands before. */
  readonly length: number
  readonly checksum: number
  readonly durability: Durability
  readonly heartbeatMs: number
  readonly damage?: string | undefined
  readonly recordCount?: number | undefined
  /** Directories whose names may not be on disk yet: made now, or by someone who did not live to see to it. */
  readonly newNamesIn: readonly string[]
}

/** How long records may wait for the disk that nobody waits for. */
const soonMs = { sync: 10, async: 50 }

/** A holder that was there a moment ago has not been silent for so long that others took it for dead. */
const freshMs = 5

/** The log of one session in a file. Every append is one write at its call; those that wait for the disk at the same time share one sync. */
export class FileLog implements SessionLog {
  readonly lease: Lease
  readonly damage?: string
  readonly recordCount?: number
  readonly #parts: FileLogParts
  readonly #heartbeat: NodeJS.Timeout
  #length: number
  #checksum: number
  #newNamesIn: readonly string[]
  #newBlobs: string[] = []
  #unsynced = false
  #lastSync: Promise<void> = Promise.resolve()
  #nextSync: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  /** When it was last looked whether the session is still held here. */
  #lookedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #told = false
  #closing: Promise<void> | undefined

  constructor(parts: FileLogParts) {
    this.#parts = parts
    this.lease = parts.held.lease
    if (parts.damage !== undefined) this.damage = parts.damage
    if (parts.recordCount !== undefined) this.recordCount = parts.recordCount
    this.#length = parts.length
    this.#checksum = parts.checksum
    this.#newNamesIn = parts.newNamesIn
    this.#heartbeat = setInterval(() => this.#beat(), parts.heartbeatMs)
    this.#heartbeat.unref()
  }

  async append(records: readonly SessionRecord[], { soon = false }: AppendOptions = {}): Promise<void> {
    this.#refuseWhenOver()
    if (records.length === 0) return
    const { bytes, checksum } = encodeBatch(records, this.#checksum)
    if (!soon || performance.now() - this.#lookedAt > freshMs) this.#refuseWhenLost()
    this.#write(bytes)
    this.#checksum = checksum
    if (!(await this.#settle(soon))) return
    // Taken over in between: the other may have read the log before this stood in it.
    this.#refuseWhenLost()
  }

  async writeBlob(bytes: Uint8Array): Promise<string> {
    this.#refuseWhenOver()
    this.#refuseWhenLost()
    const digest = digestOf(bytes)
    const { files, directory } = this.#parts
    try {
      const path = keepBlob(files, directory, digest, bytes)
      if (path === undefined) return digest
      this.#newBlobs.push(path)
    } catch (error) {
      // The log itself is as good as before: whoever can do without the content may go on.
      throw storeFailure(error, this.#parts.sessionId, 'given a large content')
    }
    this.#unsynced = true
    await this.#settle()
    return digest
  }

  async flush(): Promise<void> {
    this.#refuseWhenOver()
    await this.#sync()
    this.#refuseWhenLost()
  }

  /** Puts other records in the place of all that are there. Nothing can be appended afterwards: it is another file. */
  async rewrite(records: readonly SessionRecord[]): Promise<void> {
    this.#refuseWhenOver()
    const { files, directory, sessionId } = this.#parts
    try {
      await rewriteLog(files, directory, records, () => this.#refuseWhenLost())
    } catch (error) {
      this.#tell()
      throw this.#fail(storeFailure(error, sessionId, 'rewritten'), 'rewritten')
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end()
    return this.#closing
  }

  #write(bytes: Uint8Array): void {
    const { files, fd } = this.#parts
    try {
      writeAll(files, fd, bytes, this.#length)
      this.#length += bytes.length
      this.#unsynced = true
    } catch (error) {
      this.#takeBack()
      this.#tell()
      throw this.#fail(error, 'written to')
    }
  }

  #takeBack(): void {
    try {
      this.#parts.files.truncate(this.#parts.fd, this.#length)
    } catch {
      // A part of the batch stays in the file: the next to open the log finds it incomplete and leaves it out.
    }
  }

  /** Whether the disk was waited for. */
  async #settle(soon = false): Promise<boolean> {
    const { durability } = this.#parts
    if (durability === 'sync' && !soon) {
      await this.#sync()
      return true
    }
    if (durability !== 'exit') this.#syncSoon(soonMs[durability])
    return false
  }

  #syncSoon(ms: number): void {
    if (this.#syncTimer !== undefined) return
    this.#syncTimer = setTimeout(() => {
      this.#syncTimer = undefined
      // A failure is kept, and told to whoever uses the log next.
      this.#sync(false).catch(() => undefined)
    }, ms)
    this.#syncTimer.unref()
  }

  /** A sync that is under way may have begun before the last write; the one after it serves all who came meanwhile. */
  #sync(told = true): Promise<void> {
    this.#nextSync ??= this.#lastSync.then(() => {
      this.#nextSync = undefined
      return this.#syncNow()
    })
    const sync = this.#nextSync
    this.#lastSync = sync.catch(() => undefined)
    if (told) sync.catch(() => this.#tell())
    return sync
  }

  #tell(): void {
    this.#told = true
  }

  async #syncNow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#unsynced) return
    const { files, fd, directory } = this.#parts
    this.#unsynced = false
    const blobs = this.#newBlobs
    const names = this.#newNamesIn
    this.#newBlobs = []
    try {
      await syncBlobs(files, directory, blobs)
      await files.sync(fd)
      await Promise.all(names.map((path) => files.syncDirectory(path)))
      this.#newNamesIn = []
    } catch (error) {
      throw this.#fail(error, 'brought to disk')
    }
  }

  async #end(): Promise<void> {
    const { files, fd, held, sessionId } = this.#parts
    clearTimeout(this.#syncTimer)
    clearInterval(this.#heartbeat)
    // A failure is told below, unless somebody knows it already.
    await this.#sync(false).catch(() => undefined)
    try {
      releaseLease(files, held)
    } catch (error) {
      throw storeFailure(error, sessionId, 'given back')
    } finally {
      files.close(fd)
    }
    if (this.#failure !== undefined && !this.#told) throw this.#failure
  }

  #beat(): void {
    try {
      showLife(this.#parts.files, this.#parts.held)
    } catch (error) {
      this.#fail(error, 'kept')
    }
  }

  /** What failed once is not trusted again: the system may have dropped what it could not write. */
  #fail(error: unknown, doing: string): unknown {
    this.#failure = storeFailure(error, this.#parts.sessionId, doing)
    return this.#failure
  }

  #refuseWhenOver(): void {
    if (this.#closing !== undefined) throw logClosed(this.#parts.sessionId)
    if (this.#failure === undefined) return
    this.#tell()
    throw this.#failure
  }

  #refuseWhenLost(): void {
    const { files, held, fd, sessionId } = this.#parts
    try {
      if (isStillHeld(files, held) && files.facts(fd).links > 0) {
        this.#lookedAt = performance.now()
        return
      }
    } catch (error) {
      throw this.#fail(error, 'looked after')
    }
    this.#tell()
    throw this.#fail(lostLease(sessionId), '')
  }
}

function lostLease(sessionId: string): StoreError {
  return new StoreError(
    'store_lost_lease',
    `Session '${sessionId}' is no longer held by this process: another one has taken it over, or its directory was removed. Nothing more is written; open the session again to go on.`,
  )
}
