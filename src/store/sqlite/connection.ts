import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { tryOr } from '../../tool/errors.js'
import { errnoOf } from '../../workspace/files/system-error.js'
import { StoreError } from '../errors.js'
import { openDatabase, type SqlDatabase } from './driver.js'
import { isBusy } from './faults.js'
import { prepareSchema } from './schema.js'

export type Connection = {
  readonly database: SqlDatabase
  /** Runs work in a transaction: all or nothing. With `durable`, it and everything before it is on disk on return. */
  transaction<Result>(durable: boolean, work: () => Result): Result
  /** Runs reads on one snapshot. */
  reading<Result>(work: () => Result): Result
  close(): void
}

/** Opens the database, and creates it if there is none. */
export function connect(path: string): Connection {
  makeFile(path)
  // SQLite puts its log next to the real file, even if the name is a link to it.
  const file = realpathSync(path)
  const database = openDatabase(file)
  try {
    database.exec(`PRAGMA busy_timeout = ${maxWaitMs}; PRAGMA foreign_keys = ON`)
    insist(() => {
      // The mode is stored in the file. It is set only once, because a reader of a read-only file cannot set it.
      if (database.prepare('PRAGMA journal_mode').get()?.['journal_mode'] !== 'wal')
        database.exec('PRAGMA journal_mode = WAL')
      prepareSchema(database, file)
    })
  } catch (thrown) {
    database.close()
    throw thrown
  }
  database.exec(`PRAGMA busy_timeout = ${patienceMs}`)
  return connectionTo(database, file)
}

/** How long a call can block while another process writes; writers retry between such waits. */
const patienceMs = 250
const maxWaitMs = 5000

/**
 * Conversations are private. The file is created first, because SQLite would make it readable for all users; SQLite
 * gives its log the same mode.
 */
function makeFile(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  unlessThere(() => closeSync(openSync(path, 'wx', 0o600)))
}

/**
 * Creates a directory step by step: Node's recursive version never ends where the system reports every path as missing,
 * as in `/proc`.
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  unlessThere(() => mkdirSync(path, { mode: 0o700 }))
}

function unlessThere(make: () => void): void {
  try {
    make()
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown
  }
}

/**
 * Repeats work while the database is busy: while the first of several processes sets up a database, SQLite rejects the
 * others despite their timeout.
 */
function insist(work: () => void): void {
  const end = performance.now() + maxWaitMs
  for (;;) {
    try {
      work()
      return
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() > end) throw thrown
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
    }
  }
}

function connectionTo(database: SqlDatabase, file: string): Connection {
  const assertInPlace = watchPlace(file)
  let durableNow: boolean | undefined
  let lost: unknown
  return {
    database,
    transaction: (durable, work) => {
      if (lost !== undefined) throw lost
      // NORMAL leaves the last commits in the system's cache: they survive this process, but not a power cut.
      if (durable !== durableNow) database.exec(`PRAGMA synchronous = ${durable ? 'FULL' : 'NORMAL'}`)
      durableNow = durable
      const result = committed(database, work)
      try {
        assertInPlace()
      } catch (thrown) {
        lost = thrown
        throw thrown
      }
      return result
    },
    reading: (work) => {
      database.exec('BEGIN')
      try {
        return work()
      } finally {
        rollBack(database)
      }
    },
    close: () => {
      try {
        database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } finally {
        database.close()
      }
    },
  }
}

function committed<Result>(database: SqlDatabase, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (thrown) {
    rollBack(database)
    throw thrown
  }
}

function rollBack(database: SqlDatabase): void {
  // On a full disk and similar errors SQLite has already rolled back; the original error is already being thrown.
  tryOr(() => database.exec('ROLLBACK'), undefined)
}

/**
 * Returns a check that the database files are still at their paths, for use after each commit. Removing the files of an
 * open database does not stop SQLite from writing to them, and acknowledged data would be lost.
 */
function watchPlace(file: string): () => void {
  const paths = [file, `${file}-wal`]
  const identities = paths.map(identityOf)
  return () => {
    for (const [index, path] of paths.entries()) {
      const before = identities[index]
      const now = identityOf(path)
      if (now === undefined || (before !== undefined && before !== now))
        throw new StoreError(
          'store_failed',
          `${path} was removed or replaced while it was in use: what was written last is lost. Open the store again.`,
        )
      identities[index] = now
    }
  }
}

function identityOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && `${stats.dev}:${stats.ino}`
}
