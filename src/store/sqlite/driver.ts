import { createRequire } from 'node:module'
import { messageOf } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { StoreError } from '../errors.js'

export type SqlValue = string | number | null | Uint8Array
export type SqlRow = Readonly<Record<string, unknown>>

export interface SqlStatement {
  /** Runs a statement and returns the number of changed rows. */
  run(...values: SqlValue[]): number
  get(...values: SqlValue[]): SqlRow | undefined
  all(...values: SqlValue[]): SqlRow[]
}

export interface SqlDatabase {
  exec(sql: string): void
  /** Prepares a statement, once per text. */
  prepare(sql: string): SqlStatement
  close(): void
}

/** An error of SQLite with its result code, from either driver. It is always converted before it leaves the store. */
export class SqliteFault extends Error {
  readonly resultCode: number

  constructor(resultCode: number, message: string, cause?: unknown) {
    super(message, { cause })
    this.resultCode = resultCode
  }
}

/** Opens a database file with Node's own module, or with the package `libsql`; both are loaded on first use. */
export function openDatabase(file: string): SqlDatabase {
  const driver = nodeDriver() ?? libsqlDriver()
  const database = translated(() => new driver.Database(file))
  const statements = new Map<string, SqlStatement>()
  return {
    exec: (sql) => {
      translated(() => database.exec(sql))
    },
    prepare: (sql) => {
      const known = statements.get(sql)
      if (known !== undefined) return known
      const made = statement(
        translated(() => database.prepare(sql)),
        driver.bind,
      )
      statements.set(sql, made)
      return made
    },
    close: () => {
      statements.clear()
      translated(() => database.close())
    },
  }
}

type DriverStatement = {
  run(...values: unknown[]): { changes: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

type DriverDatabase = {
  exec(sql: string): unknown
  prepare(sql: string): DriverStatement
  close(): unknown
}

type Driver = {
  readonly Database: new (file: string) => DriverDatabase
  readonly bind: (values: readonly SqlValue[]) => readonly unknown[]
}

/** Returns Node's own driver. Undefined before Node 22.5, and up to 22.13 unless it was enabled with a flag. */
function nodeDriver(): Driver | undefined {
  const module = process.getBuiltinModule('node:sqlite') as { DatabaseSync: Driver['Database'] } | undefined
  return module && { Database: module.DatabaseSync, bind: (values) => values }
}

function libsqlDriver(): Driver {
  try {
    const Database = createRequire(import.meta.url)('libsql') as Driver['Database']
    // Passed as an array, because a single null or byte array as the first argument would be read as an object of named
    // parameters.
    return { Database, bind: (values) => [values] }
  } catch (thrown) {
    throw new StoreError(
      'store_failed',
      `SQLite needs Node 22.13 or later, or the package 'libsql', which could not be loaded here (Node ${process.version}). Run 'npm install libsql', or use a FileSessionStore.`,
      { cause: thrown },
    )
  }
}

function statement(prepared: DriverStatement, bind: Driver['bind']): SqlStatement {
  return {
    run: (...values) => Number(translated(() => prepared.run(...bind(values))).changes),
    get: (...values) => {
      const row = translated(() => prepared.get(...bind(values)))
      return isRecord(row) ? row : undefined
    },
    all: (...values) => translated(() => prepared.all(...bind(values))).filter(isRecord),
  }
}

function translated<Result>(call: () => Result): Result {
  try {
    return call()
  } catch (thrown) {
    throw new SqliteFault(resultCodeOf(thrown), messageOf(thrown), thrown)
  }
}

/**
 * Returns the result code. One driver has `errcode`, the other `rawCode`, and only a message when it could not open the
 * file.
 */
function resultCodeOf(thrown: unknown): number {
  const { errcode, rawCode } = isRecord(thrown) ? thrown : {}
  const code = errcode ?? rawCode ?? Number(/: (\d+)"\)$/.exec(messageOf(thrown))?.[1])
  return typeof code === 'number' && Number.isInteger(code) ? code : genericError
}

const genericError = 1
