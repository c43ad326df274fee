import { join } from 'node:path'
import { tryOr } from '../../tool/errors.js'
import { newestFirst, sessionInfo } from '../session-info.js'
import type { SessionInfo } from '../session-store.js'
import { readWhole } from './blob-files.js'
import { errnoOf, type FileLayer, readOnly } from './file-layer.js'
import { checksumAfter, sealAt } from './log-line.js'
import { logName } from './repair-log.js'
import {
  type ListedSession,
  type ListedSessions,
  type LogFacts,
  readSavedList,
  removeSavedList,
  saveList,
} from './saved-list.js'
import { LogScan } from './scan-log.js'
import { idName, isLongName, sessionIdOf } from './session-directory.js'

/**
 * Lists the sessions of a store. A log is read only when it changed since it was last listed, in this process or in
 * one that saved its list.
 */
export class SessionList {
  readonly #files: FileLayer
  readonly #directory: string
  #listed: ListedSessions | undefined

  constructor(files: FileLayer, directory: string) {
    this.#files = files
    this.#directory = directory
  }

  /** Returns the sessions among these names, newest first. */
  async of(names: readonly string[]): Promise<SessionInfo[]> {
    this.#listed ??= readSavedList(this.#files, this.#directory)
    const before = this.#listed
    const listed: ListedSessions = new Map()
    const changed: string[] = []
    for (const [at, name] of names.entries()) {
      // Checking an unchanged log never waits, so this loop pauses to let other work run.
      if (at % looksInTurn === 0) await new Promise((resolve) => setImmediate(resolve))
      const last = before.get(name)
      if (last !== undefined && this.#isCurrent(name, last)) listed.set(name, last)
      else changed.push(name)
    }
    const unreadable: SessionInfo[] = []
    for (let at = 0; at < changed.length; at += readsAtOnce) {
      const some = changed.slice(at, at + readsAtOnce)
      await Promise.all(some.map((name) => this.#read(name, listed, unreadable)))
    }
    this.#listed = listed
    // When a session was deleted, or its log was replaced by a rewrite, the saved list must not retain its old title.
    const isOneGone = [...before].some(([name, { identity }]) => listed.get(name)?.identity !== identity)
    if (changed.length >= minSaved || isOneGone) this.#save(listed)
    return newestFirst([...Array.from(listed.values(), ({ info }) => ({ ...info })), ...unreadable])
  }

  #isCurrent(name: string, last: LogFacts): boolean {
    const now = tryOr(() => this.#files.factsAt(join(this.#directory, name, logName)), undefined)
    return now !== undefined && isUnchanged(last, now)
  }

  async #read(name: string, listed: ListedSessions, unreadable: SessionInfo[]): Promise<void> {
    const path = join(this.#directory, name)
    const id = isLongName(name) ? this.#idIn(path) : sessionIdOf(name)
    if (id === undefined) return
    try {
      listed.set(name, await listedSession(this.#files, path, id))
    } catch (error) {
      // Either not a session, or one that is being deleted: not listed. A session that cannot be read for another
      // reason is listed.
      if (errnoOf(error) !== 'ENOENT' && errnoOf(error) !== 'ENOTDIR') unreadable.push({ id })
    }
  }

  /** Returns the id of a session whose directory is named by a digest. */
  #idIn(directory: string): string | undefined {
    const bytes = readWhole(this.#files, join(directory, idName))
    return bytes === undefined ? undefined : new TextDecoder().decode(bytes)
  }

  /** Saves the list. If the disk is full or read-only, other processes only take longer to list. */
  #save(listed: ListedSessions): void {
    try {
      if (listed.size >= minSaved) saveList(this.#files, this.#directory, listed)
      else removeSavedList(this.#files, this.#directory)
    } catch {
      // The list is still complete in this process.
    }
  }
}

/** How many logs are read at once: more than there are threads for reading, so that no thread is idle. */
const readsAtOnce = 16
/** How many logs are checked without a pause: this takes less than a millisecond. */
const looksInTurn = 96
/** The minimum number of logs for which the list is saved. Reading fewer takes milliseconds. */
const minSaved = 100

/** Returns whether a log is unchanged. */
export function isUnchanged(before: LogFacts, now: LogFacts): boolean {
  return before.identity === now.identity && before.size === now.size && before.mtimeMs === now.mtimeMs
}

/**
 * Reads the information about a session from the beginning and the end of its log, so the cost does not grow with the
 * log.
 */
async function listedSession(files: FileLayer, directory: string, id: string): Promise<ListedSession> {
  const fd = files.open(join(directory, logName), readOnly)
  try {
    const { size, mtimeMs, identity } = files.facts(fd)
    const head = await readWindow(files, fd, 0, size)
    const start = Math.max(windowBytes, size - windowBytes)
    const tail = start < size ? await readWindow(files, fd, start, size) : Buffer.alloc(0)
    const info = sessionInfo(id, [...recordsAtStart(id, head), ...recordsAtEnd(id, tail)])
    return { size, mtimeMs, identity, info: { ...info, updatedAtMs: info.updatedAtMs ?? mtimeMs } }
  } finally {
    files.close(fd)
  }
}

const windowBytes = 32 * 1024

/** Reads a part of a log. Most logs are shorter than a window, and a buffer of their size comes from Node's pool. */
async function readWindow(files: FileLayer, fd: number, position: number, end: number): Promise<Buffer> {
  const length = Math.min(windowBytes, Math.max(0, end - position))
  const buffer = Buffer.allocUnsafe(length)
  return buffer.subarray(0, await files.readLater(fd, buffer, 0, length, position))
}

function recordsAtStart(id: string, bytes: Buffer): LogScan['records'] {
  return scanned(id, bytes, 0)
}

/**
 * Reads records from a position inside a line. The checksum at the end of that line is complete, and that of the next
 * line continues it.
 */
function recordsAtEnd(id: string, bytes: Buffer): LogScan['records'] {
  const end = bytes.indexOf('\n')
  const sealed = end < 0 ? -1 : sealAt(bytes, end)
  return sealed < 0 ? [] : scanned(id, bytes.subarray(end + 1), checksumAfter(sealed))
}

function scanned(id: string, bytes: Buffer, checksum: number): LogScan['records'] {
  const scan = new LogScan(id, { keep: true, checksum, anySchema: true })
  scan.take(bytes)
  return scan.records
}
