import { randomBytes } from 'node:crypto'
import { basename, dirname, join, resolve } from 'node:path'
import { CapstanError, messageOf, tryOr } from '../../tool/errors.js'
import { type Owner, thisProcess } from '../../workspace/scratch/owner.js'
import { damagedLog } from '../errors.js'
import type { SessionRecord } from '../records.js'
import type {
  EditRecords,
  OpenLogOptions,
  SessionInfo,
  SessionStore,
  StoredSession,
} from '../session-store.js'
import { Turns } from '../turns.js'
import { readBlobFile } from './blob-files.js'
import {
  create,
  errnoOf,
  type FileFacts,
  type FileLayer,
  nodeFiles,
  readOnly,
  writeAll,
} from './file-layer.js'
import { FileLog } from './file-log.js'
import { Heartbeats } from './heartbeats.js'
import { type HeldLease, releaseLease, takeLease } from './lease-file.js'
import { isUnchanged, SessionList } from './list-sessions.js'
import { damageOf, logName, repairLog, replaceLog, writeFirstLog } from './repair-log.js'
import { removeSavedList, savedListName } from './saved-list.js'
import { type LogEnd, LogScan, scanFile, scanFileSync } from './scan-log.js'
import { directoryName, idName, isLongName } from './session-directory.js'
import { storeFailure } from './system-failure.js'

/** The settings of {@link FileSessionStore}. */
export type FileSessionStoreOptions = {
  /** How long the lease of a process on another machine is valid without a heartbeat. Default: 30 seconds. */
  readonly leaseExpiryMs?: number
  /** The file operations; tests replace them. */
  readonly files?: FileLayer
  /** The identity of this process. */
  readonly owner?: Owner
}

/**
 * A store in a directory: one directory per session, with a log of JSON lines, large contents as separate files, and
 * the writer's lease.
 *
 * @example
 * ```ts
 * const store = new FileSessionStore('.capstan/sessions')
 * ```
 */
export class FileSessionStore implements SessionStore {
  readonly backend = 'file'
  readonly directory: string
  readonly paths: readonly string[]
  readonly #files: FileLayer
  readonly #owner: Owner
  readonly #leaseExpiryMs: number
  readonly #heartbeats: Heartbeats
  /** How long records can wait for the disk when no caller waits for them: 10 ms with `sync`, 50 ms with `async`. */
  readonly #syncTurns = { sync: new Turns(10), async: new Turns(50), exit: undefined }
  /** The topmost directory that was created for a session and not opened since: its name may not be on disk. */
  #topmostMade: string | undefined
  readonly #list: SessionList
  /** The end of each log as it was last read or written here. */
  readonly #lastRead = new Map<string, LastRead>()

  constructor(directory: string, options: FileSessionStoreOptions = {}) {
    this.directory = resolve(directory)
    this.paths = [this.directory]
    this.#files = options.files ?? nodeFiles
    this.#owner = options.owner ?? thisProcess()
    this.#leaseExpiryMs = options.leaseExpiryMs ?? 30_000
    this.#heartbeats = new Heartbeats(this.#leaseExpiryMs / 3)
    this.#list = new SessionList(this.#files, this.directory)
  }

  async list(): Promise<SessionInfo[]> {
    return this.#list.of(this.#names())
  }

  async read(sessionId: string): Promise<StoredSession | undefined> {
    const found = this.#openToRead(sessionId)
    if (found === undefined || 'records' in found) return found
    const { fd, scan } = found
    try {
      await scanFile(this.#files, fd, scan).catch((error) => noteUnreadable(scan, error))
      return this.#stored(sessionId, fd, scan)
    } finally {
      this.#files.close(fd)
    }
  }

  readSync(sessionId: string): StoredSession | undefined {
    const found = this.#openToRead(sessionId)
    if (found === undefined || 'records' in found) return found
    const { fd, scan } = found
    try {
      return this.#stored(sessionId, fd, scanSync(this.#files, fd, scan))
    } finally {
      this.#files.close(fd)
    }
  }

  async countRecords(sessionId: string): Promise<number> {
    const last = this.#lastRead.get(sessionId)
    const now = last && this.#files.factsAt(join(this.#directoryOf(sessionId), logName))
    if (last !== undefined && now !== undefined && isUnchanged(last.facts, now)) return last.recordCount
    return (await this.read(sessionId))?.records.length ?? 0
  }

  async create(sessionId: string, records: readonly SessionRecord[]): Promise<boolean> {
    const files = this.#files
    const directory = this.#directoryOf(sessionId)
    try {
      const made = files.makeDirectory(directory)
      if (made === undefined && this.#hasTraces(directory)) return false
      this.#topmostMade = topmostOf(this.#topmostMade, made)
      this.#writeId(sessionId, directory)
      const written = writeFirstLog(files, directory, records)
      if (written === undefined) return false
      const facts = files.factsAt(join(directory, logName))
      if (facts !== undefined)
        this.#remember(sessionId, {
          ...written,
          problem: undefined,
          facts,
          recordCount: records.length,
          isNew: true,
        })
      return true
    } catch (error) {
      throw storeFailure(error, sessionId, 'made')
    }
  }

  async open(sessionId: string, options: OpenLogOptions): Promise<FileLog> {
    const directory = this.#directoryOf(sessionId)
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#openLog(sessionId, directory, options)
        } catch (error) {
          // Deleted by another process between two steps: start again with a new directory.
          if (errnoOf(error) !== 'ENOENT' || attempt === maxAttempts) throw error
        }
      }
    } catch (error) {
      throw storeFailure(error, sessionId, 'opened')
    }
  }

  async rewrite(
    sessionId: string,
    edit: EditRecords,
    options: Omit<OpenLogOptions, 'durability'>,
  ): Promise<void> {
    if (this.#files.factsAt(this.#directoryOf(sessionId)) === undefined) return
    const log = await this.open(sessionId, options)
    try {
      const { records = [], damage } = (await this.read(sessionId)) ?? {}
      if (damage !== undefined) throw damagedLog(sessionId, damage)
      const edited = edit(records)
      if (edited === records) return
      removeSavedList(this.#files, this.directory)
      await log.rewrite(edited)
    } finally {
      await log.close()
    }
  }

  async delete(sessionId: string): Promise<boolean> {
    const files = this.#files
    const directory = this.#directoryOf(sessionId)
    try {
      if (files.factsAt(directory) === undefined) return false
      const held = this.#takeLease(sessionId, directory, 'its deletion')
      try {
        // The rename removes the session from the list in one step. If the deletion after it is interrupted, the rest
        // is not a session.
        files.rename(directory, join(this.directory, `${trashPrefix}${randomBytes(9).toString('hex')}`))
      } catch (error) {
        releaseLease(files, held)
        throw error
      }
      files.close(held.fd)
      for (const name of files.list(this.directory))
        if (name.startsWith(trashPrefix) || name.startsWith(savedListName))
          files.removeTree(join(this.directory, name))
      await files.syncDirectory(this.directory)
      return true
    } catch (error) {
      throw storeFailure(error, sessionId, 'deleted')
    }
  }

  async readBlob(sessionId: string, digest: string): Promise<Uint8Array | undefined> {
    return this.readBlobSync(sessionId, digest)
  }

  readBlobSync(sessionId: string, digest: string): Uint8Array | undefined {
    try {
      return readBlobFile(this.#files, this.#directoryOf(sessionId), digest)
    } catch (error) {
      throw storeFailure(error, sessionId, 'read (a large content)')
    }
  }

  #directoryOf(sessionId: string): string {
    return join(this.directory, directoryName(sessionId))
  }

  #names(): string[] {
    try {
      return this.#files.list(this.directory)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return []
      throw storeFailure(error, '*', 'listed')
    }
  }

  #openToRead(sessionId: string): { fd: number; scan: LogScan } | StoredSession | undefined {
    const directory = this.#directoryOf(sessionId)
    try {
      const fd = this.#files.open(join(directory, logName), readOnly)
      return { fd, scan: new LogScan(sessionId, { keep: true }) }
    } catch (error) {
      const errno = errnoOf(error)
      if (errno === undefined || errno === 'EMFILE' || errno === 'ENFILE')
        throw storeFailure(error, sessionId, 'read')
      if (errno !== 'ENOENT') return { records: [], damage: `${logName}: it cannot be read (${errno})` }
      return this.#hasTraces(directory) ? { records: [], damage: `${logName}: it is missing` } : undefined
    }
  }

  /** Returns whether a directory without a log ever had one. */
  #hasTraces(directory: string): boolean {
    return tryOr(
      () => this.#files.list(directory).some((name) => !name.startsWith('.') && name !== idName),
      false,
    )
  }

  #stored(sessionId: string, fd: number, scan: LogScan): StoredSession {
    const facts = this.#files.facts(fd)
    const { end, checksum, problem } = scan
    if (problem === undefined && end === facts.size) {
      const recordCount = scan.records.length
      this.#remember(sessionId, { end, checksum, problem, facts, recordCount })
    }
    const damage = damageOf(scan, facts.size)
    return { records: scan.records, damage }
  }

  async #openLog(sessionId: string, directory: string, options: OpenLogOptions): Promise<FileLog> {
    const files = this.#files
    const { durability = 'sync' } = options
    const made = files.makeDirectory(directory)
    this.#writeId(sessionId, directory)
    const lost =
      made === undefined &&
      files.factsAt(join(directory, logName)) === undefined &&
      this.#hasTraces(directory)
    let fd = files.open(join(directory, logName), create)
    let held: HeldLease | undefined
    try {
      held = this.#takeLease(sessionId, directory, options.holder, options.now())
      fd = this.#reopenIfReplaced(directory, fd)
      if (held.fromSilent) fd = await replaceLog(files, directory, fd)
      const logEnd = await this.#checkedEnd(sessionId, fd)
      const mended = await repairLog(files, directory, fd, logEnd)
      // From now on, the open log tracks where it ends.
      this.#lastRead.delete(sessionId)
      return new FileLog({
        files,
        sessionId,
        directory,
        held,
        fd,
        length: logEnd.end,
        checksum: logEnd.checksum,
        durability,
        heartbeats: this.#heartbeats,
        syncTurns: this.#syncTurns[durability],
        recordCount: logEnd.recordCount,
        damage: lost ? `${logName}: it was missing, and a new one was started` : mended,
        newNamesIn: namesToSync(directory, topmostOf(this.#topmostMade, made) ?? directory),
      })
    } catch (error) {
      files.close(fd)
      if (held !== undefined) releaseLease(files, held)
      throw error
    }
  }

  /** Returns the position to append at. A log that was just read, as for a resumed session, is not checked again. */
  async #checkedEnd(sessionId: string, fd: number): Promise<LogEnd & { readonly recordCount?: number }> {
    const last = this.#lastRead.get(sessionId)
    if (last !== undefined && isUnchanged(last.facts, this.#files.facts(fd))) return last
    const scan = new LogScan(sessionId, { keep: false })
    await scanFile(this.#files, fd, scan)
    return scan
  }

  #remember(sessionId: string, read: LastRead): void {
    this.#lastRead.delete(sessionId)
    this.#lastRead.set(sessionId, read)
    const [oldest] = this.#lastRead.keys()
    if (this.#lastRead.size > maxRemembered && oldest !== undefined) this.#lastRead.delete(oldest)
  }

  /** Opens the log again if the previous holder replaced the file while this process waited. */
  #reopenIfReplaced(directory: string, fd: number): number {
    const path = join(directory, logName)
    if (this.#files.factsAt(path)?.identity === this.#files.facts(fd).identity) return fd
    const other = this.#files.open(path, create)
    this.#files.close(fd)
    return other
  }

  /** Writes the id to a file, because a name that is a digest does not contain it. */
  #writeId(sessionId: string, directory: string): void {
    const path = join(directory, idName)
    if (!isLongName(basename(directory)) || this.#files.factsAt(path) !== undefined) return
    const fd = this.#files.open(path, create)
    try {
      writeAll(this.#files, fd, Buffer.from(sessionId), 0)
    } finally {
      this.#files.close(fd)
    }
  }

  #takeLease(sessionId: string, directory: string, holder: string, acquiredAtMs?: number): HeldLease {
    return takeLease({
      files: this.#files,
      directory,
      sessionId,
      holder,
      owner: this.#owner,
      expiryMs: this.#leaseExpiryMs,
      acquiredAtMs,
      isNew: this.#lastRead.get(sessionId)?.isNew,
    })
  }
}

const trashPrefix = '.deleted-'
const maxAttempts = 20
const maxRemembered = 1_000

type LastRead = LogEnd & {
  readonly facts: FileFacts
  readonly recordCount: number
  /** Created by this process, and not read since. */
  readonly isNew?: boolean
}

function scanSync(files: FileLayer, fd: number, scan: LogScan): LogScan {
  try {
    scanFileSync(files, fd, scan)
  } catch (error) {
    noteUnreadable(scan, error)
  }
  return scan
}

/** Records that a log could not be read further; everything before that position is available. */
function noteUnreadable(scan: LogScan, error: unknown): void {
  if (error instanceof CapstanError) throw error
  scan.problem = `it could not be read further (${errnoOf(error) ?? messageOf(error)})`
}

function topmostOf(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return one.length <= other.length ? one : other
}

/** Returns the directories from the one with the topmost new name down to the session's own. */
function namesToSync(directory: string, topmostMade: string): string[] {
  const names = [directory]
  for (let path = directory; path !== dirname(topmostMade) && path !== dirname(path); ) {
    path = dirname(path)
    names.push(path)
  }
  return names
}
