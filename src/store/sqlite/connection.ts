import { closeSync, existsSync, mkdirSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf } from '../../workspace/files/system-error.js'
import { StoreError } from '../errors.js'
import { openDatabase, type SqlDatabase } from './driver.js'
import { isBusy } from './faults.js'
import { prepareSchema } from './schema.js'

export type Connection = {
  readonly database: SqlDatabase
  /** All of it or nothing. With `durable`, it and everything before is on disk when this returns. */
  transaction<Result>(durable: boolean, work: () => Result): Result
  /** Everything read inside is of one moment. */
  reading<Result>(work: () => Result): Result
  close(): void
}

/** Opens the database, and makes it when there is none. */
export function connect(path: string): Connection {
  makeFile(path)
  // SQLite keeps its log beside the real file, also when the name is a link to it.
  const file = realpathSync(path)
  const database = openDatabase(file)
  try {
    database.exec(`PRAGMA busy_timeout = ${maxWaitMs}; PRAGMA foreign_keys = ON`)
    insist(() => {
      // Kept in the file: asked for only once, since a reader of a read-only file could not.
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

/** How long a call may stand still while another process writes; whoever writes tries again between such waits. */
const patienceMs = 250
const maxWaitMs = 5000

/** Conversations are private: the file is made before SQLite would make it for all to read, and SQLite gives its log the same mode. */
function makeFile(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  unlessThere(() => closeSync(openSync(path, 'wx', 0o600)))
}

/** Step by step: the recursive one of Node never ends where the system says of everything that it is not there, as in `/proc`. */
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

/** While the first of several processes sets a database up, SQLite refuses the others at once, however patient they are. */
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
      // NORMAL leaves the last commits to the system's cache: they survive this process, not a power cut.
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
  try {
    database.exec('ROLLBACK')
  } catch {
    // On a full disk and the like SQLite has rolled back by itself; what went wrong is on its way to the caller already.
  }
}

/**
 * Whoever removes the files of an open database does not stop SQLite from writing to them, and nobody would find there what was
 * acknowledged. So after each commit they are looked for where they belong.
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
