import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { type Owner, thisProcess } from '../../workspace/scratch/owner.js'
import { newestFirst } from '../session-info.js'
import type {
  OpenLogOptions,
  SessionInfo,
  SessionLog,
  SessionStore,
  StoredSession,
} from '../session-store.js'
import { readBlobFile } from './blob-files.js'
import { create, errnoOf, type FileLayer, nodeFiles, readOnly, readWrite } from './file-layer.js'
import { FileLog } from './file-log.js'
import { type HeldLease, releaseLease, takeLease } from './lease-file.js'
import { infoOf } from './list-sessions.js'
import { damageOf, logName, mendLog, replaceLog, writeAll } from './mend-log.js'
import { LogScan, scanFile, scanFileSync } from './scan-log.js'
import { directoryName, isLongName, sessionIdOf } from './session-directory.js'
import { storeFailure } from './system-failure.js'

export type FileSessionStoreOptions = {
  /** After how long without a sign of life the lease of another machine counts as given up. 30 seconds unless told. */
  readonly leaseExpiryMs?: number
  /** The disk. */
  readonly files?: FileLayer
  /** Which process this is. */
  readonly owner?: Owner
}

/**
 * Sessions in a directory: one directory each, with a log of JSON lines, large contents beside it, and the lease of whoever writes.
 *
 * ```ts
 * const store = new FileSessionStore('.capstan/sessions')
 * ```
 */
export class FileSessionStore implements SessionStore {
  readonly backend = 'file'
  readonly directory: string
  readonly #files: FileLayer
  readonly #owner: Owner
  readonly #leaseExpiryMs: number

  constructor(directory: string, options: FileSessionStoreOptions = {}) {
    this.directory = resolve(directory)
    this.#files = options.files ?? nodeFiles
    this.#owner = options.owner ?? thisProcess()
    this.#leaseExpiryMs = options.leaseExpiryMs ?? 30_000
  }

  async list(): Promise<SessionInfo[]> {
    const infos: SessionInfo[] = []
    for (const name of this.#names()) {
      const path = join(this.directory, name)
      const id = isLongName(name) ? this.#idIn(path) : sessionIdOf(name)
      if (id === undefined) continue
      try {
        infos.push(await infoOf(this.#files, path, id))
      } catch (error) {
        // Not a session, or one that is being deleted; one that cannot be read is there all the same.
        if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') infos.push({ id })
      }
    }
    return newestFirst(infos)
  }

  async read(sessionId: string): Promise<StoredSession | undefined> {
    const fd = this.#openToRead(sessionId)
    if (typeof fd !== 'number') return fd
    const scan = new LogScan(sessionId, { keep: true })
    try {
      await scanFile(this.#files, fd, scan)
    } catch (error) {
      noteUnreadable(scan, error)
    }
    return this.#stored(fd, scan)
  }

  readSync(sessionId: string): StoredSession | undefined {
    const fd = this.#openToRead(sessionId)
    if (typeof fd !== 'number') return fd
    const scan = new LogScan(sessionId, { keep: true })
    try {
      scanFileSync(this.#files, fd, scan)
    } catch (error) {
      noteUnreadable(scan, error)
    }
    return this.#stored(fd, scan)
  }
}
