import { StoreError } from '../errors.js'
import { logClosed } from '../memory-store.js'
import type { SessionRecord } from '../records.js'
import type { AppendOptions, Durability, Lease, SessionLog } from '../session-store.js'
import type { Turns } from '../turns.js'
import { digestOf, keepBlob, syncBlobs } from './blob-files.js'
import { syncDirectory } from './directory-sync.js'
import { type FileLayer, writeAll } from './file-layer.js'
import type { Heartbeats } from './heartbeats.js'
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
  /** The position to append at, with the checksum of everything before it. */
  readonly length: number
  readonly checksum: number
  readonly durability: Durability
  /** Shows other machines that this process is alive; one for all sessions of the store. */
  readonly heartbeats: Heartbeats
  /**
   * Syncs records that no caller waits for; one for all sessions of the store. Undefined: they are synced when the log
   * is closed.
   */
  readonly syncTurns: Turns | undefined
  readonly damage?: string | undefined
  readonly recordCount?: number | undefined
  /** Directories whose names may not be on disk yet: created now, or by a process that ended before it synced them. */
  newNamesIn: readonly string[]
}

/**
 * If the lease was checked this recently, this process cannot have been silent for so long that another one took over.
 */
const freshMs = 5

/**
 * The log of one session in a file. Every append is one write; appends that wait for the disk at the same time share
 * one sync.
 */
export class FileLog implements SessionLog {
  readonly lease: Lease
  readonly damage?: string
  readonly recordCount?: number
  readonly #parts: FileLogParts
  #length: number
  #checksum: number
  #newBlobs: string[] = []
  #unsynced = false
  #lastSync: Promise<void> = Promise.resolve()
  #nextSync: Promise<void> | undefined
  /** When this process last checked that it still holds the session. */
  #lookedAt = Number.NEGATIVE_INFINITY
  #failure: unknown
  #reported = false
  #closing: Promise<void> | undefined

  constructor(parts: FileLogParts) {
    this.#parts = parts
    this.lease = parts.held.lease
    if (parts.damage !== undefined) this.damage = parts.damage
    if (parts.recordCount !== undefined) this.recordCount = parts.recordCount
    this.#length = parts.length
    this.#checksum = parts.checksum
    parts.heartbeats.add(this)
  }

  async append(records: readonly SessionRecord[], { soon = false, json }: AppendOptions = {}): Promise<void> {
    this.#refuseWhenOver()
    if (records.length === 0) return
    const { bytes, checksum } = encodeBatch(records, this.#checksum, json)
    if (!soon || performance.now() - this.#lookedAt > freshMs) this.#refuseWhenLost()
    this.#write(bytes)
    this.#checksum = checksum
    if (!(await this.#settle(soon))) return
    // If another process took over in the meantime, it may have read the log before this was written.
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
      // The log itself is unaffected: a caller that does not need the content can continue.
      throw storeFailure(error, this.#parts.sessionId, 'extended by a large content')
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

  /** Syncs the log. A failure is stored and reported to the next caller that uses the log. */
  takeTurn(): void {
    this.#sync(false).catch(() => undefined)
  }

  /** Replaces all records. Nothing can be appended afterwards, because the log is then a different file. */
  async rewrite(records: readonly SessionRecord[]): Promise<void> {
    this.#refuseWhenOver()
    const { files, directory, sessionId } = this.#parts
    try {
      await rewriteLog(files, directory, records, () => this.#refuseWhenLost())
    } catch (error) {
      this.#markReported()
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
      this.#markReported()
      throw this.#fail(error, 'written to')
    }
  }

  #takeBack(): void {
    try {
      this.#parts.files.truncate(this.#parts.fd, this.#length)
    } catch {
      // A part of the batch stays in the file. The next process that opens the log detects the incomplete batch and
      // ignores it.
    }
  }

  /** Waits for the disk, or schedules a sync. Returns whether it waited for the disk. */
  async #settle(soon = false): Promise<boolean> {
    if (this.#parts.durability === 'sync' && !soon) {
      await this.#sync()
      return true
    }
    this.#parts.syncTurns?.add(this)
    return false
  }

  /**
   * Syncs the log. A sync in progress may have begun before the last write; the next one covers all writes until it
   * begins.
   */
  #sync(reports = true): Promise<void> {
    this.#nextSync ??= this.#lastSync.then(() => {
      this.#nextSync = undefined
      return this.#syncNow()
    })
    const sync = this.#nextSync
    this.#lastSync = sync.catch(() => undefined)
    if (reports) sync.catch(() => this.#markReported())
    return sync
  }

  #markReported(): void {
    this.#reported = true
  }

  async #syncNow(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (!this.#unsynced) return
    const { files, fd, directory } = this.#parts
    this.#unsynced = false
    this.#parts.syncTurns?.remove(this)
    const blobs = this.#newBlobs
    const names = this.#parts.newNamesIn
    this.#newBlobs = []
    try {
      await syncBlobs(files, directory, blobs)
      await files.sync(fd)
      await Promise.all(names.map((path) => syncDirectory(files, path)))
      this.#parts.newNamesIn = []
    } catch (error) {
      throw this.#fail(error, 'synced to disk')
    }
  }

  async #end(): Promise<void> {
    const { files, fd, held, sessionId } = this.#parts
    this.#parts.syncTurns?.remove(this)
    this.#parts.heartbeats.remove(this)
    // The failure is thrown below, unless a caller already received it.
    await this.#sync(false).catch(() => undefined)
    try {
      releaseLease(files, held)
    } catch (error) {
      throw storeFailure(error, sessionId, 'released')
    } finally {
      files.close(fd)
    }
    if (this.#failure !== undefined && !this.#reported) throw this.#failure
  }

  /** Renews the lease. A failure is stored. */
  beat(): void {
    try {
      showLife(this.#parts.files, this.#parts.held)
    } catch (error) {
      this.#fail(error, 'renewed')
    }
  }

  /** Stores a failure. The log is not used after it: the system may have dropped what it could not write. */
  #fail(error: unknown, doing: string): unknown {
    this.#failure = storeFailure(error, this.#parts.sessionId, doing)
    return this.#failure
  }

  #refuseWhenOver(): void {
    if (this.#closing !== undefined) throw logClosed(this.#parts.sessionId)
    if (this.#failure === undefined) return
    this.#markReported()
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
    this.#markReported()
    throw this.#fail(lostLease(sessionId), '')
  }
}

function lostLease(sessionId: string): StoreError {
  return new StoreError(
    'store_lost_lease',
    `Session '${sessionId}' is no longer held by this process: another process took it over, or its directory was removed. Nothing more is written. Open the session again to continue.`,
  )
}
