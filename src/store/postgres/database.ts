import { setTimeout as wait } from 'node:timers/promises'
import type { QueryConfig, QueryResultRow } from 'pg'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { StoreError } from '../errors.js'
import { type ConnectionOptions, openPool, type Pool, type PoolClient } from './driver.js'
import { fromDriver, isPassing, storeErrorOf } from './faults.js'

export type DatabaseOptions = SharedPoolOptions & {
  readonly poolSize: number
  /** Whether statements have names, so that a connection plans them once. Not through PgBouncer before 1.21. */
  readonly prepare: boolean
  /** How long work waits for a database that cannot be reached. */
  readonly maxWaitMs: number
  /**
   * How long a transaction can wait for its next statement (default: 15 s). Then the server ends it, so that a process
   * that is paused or disconnected in the middle of one does not keep its locks.
   */
  readonly maxPauseMs?: number | undefined
}

/** One statement: its text, its values, and the name under which a connection prepares it. */
export type Statement = {
  readonly name?: string
  readonly text: string
  readonly values?: readonly unknown[]
  /** After this time, the answer counts as lost. */
  readonly timeoutMs?: number
}

/** Runs statements, inside or outside of a transaction. */
export type Run = <Row extends QueryResultRow>(statement: Statement) => Promise<Row[]>

/**
 * The connections to one database. Work whose connection is lost is repeated for a limited time, so each piece of work
 * must have the same result if it was already done.
 */
export class Database {
  /** For messages: host and name of the database, without the password. */
  readonly place: string
  readonly #options: DatabaseOptions
  /**
   * Settings for the transaction only: a pooler gives the connection to other clients afterwards, and accepts no
   * setting for the connection.
   */
  readonly #begin: string
  #pool: Promise<Pool> | undefined
  /** Work in progress. The connections are shared, so closing this object must wait for its own work only. */
  readonly #working = new Set<Promise<unknown>>()
  #closed = false

  constructor(options: DatabaseOptions) {
    this.#options = options
    this.place = placeOf(options.url)
    this.#begin = `begin; set local idle_in_transaction_session_timeout = ${options.maxPauseMs ?? 15_000}`
  }

  /** Runs one statement. */
  query<Row extends QueryResultRow>(statement: Statement, maxWaitMs?: number): Promise<Row[]> {
    return this.#insist(async () => {
      const pool = await this.#connect()
      const { rows } = await fromDriver(pool.query<Row>(this.#config(statement)))
      return rows
    }, maxWaitMs)
  }

  /** Runs work in one transaction: all or nothing. */
  transaction<Result>(work: (run: Run, attempt: number) => Promise<Result>): Promise<Result> {
    return this.#insist(async (attempt) => {
      const pool = await this.#connect()
      const client = await fromDriver(pool.connect())
      let failure: unknown
      try {
        await fromDriver(client.query(this.#begin))
        const result = await work((statement) => this.#run(client, statement), attempt)
        await fromDriver(client.query('commit'))
        return result
      } catch (thrown) {
        failure = thrown
        if (!isPassing(thrown)) await rollBack(client)
        throw thrown
      } finally {
        // When a connection is closed, the server rolls back its open transaction.
        client.release(failure !== undefined && isPassing(failure))
      }
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled(this.#working)
    await releasePool(this, this.#options)
  }

  #connect(): Promise<Pool> {
    if (this.#closed)
      throw new StoreError(
        'store_closed',
        `The store on ${this.place} is closed. Create a new one to continue.`,
      )
    this.#pool ??= acquirePool(this, this.#options, this.#options.poolSize).catch((thrown: unknown) => {
      this.#pool = undefined
      throw thrown
    })
    return this.#pool
  }

  async #run<Row extends QueryResultRow>(client: PoolClient, statement: Statement): Promise<Row[]> {
    const { rows } = await fromDriver(client.query<Row>(this.#config(statement)))
    return rows
  }

  #config({ name, text, values = [], timeoutMs }: Statement): QueryConfig {
    return {
      text,
      values: [...values],
      ...(name !== undefined && this.#options.prepare && { name }),
      ...omitUndefined({ query_timeout: timeoutMs }),
    }
  }

  async #insist<Result>(work: (attempt: number) => Promise<Result>, maxWaitMs = this.#options.maxWaitMs) {
    const working = insist(work, { maxWaitMs, place: this.place, isClosed: () => this.#closed })
    this.#working.add(working)
    try {
      return await working
    } finally {
      this.#working.delete(working)
    }
  }
}

export type InsistOptions = {
  readonly maxWaitMs: number
  /** For the message of the error. */
  readonly place: string
  isClosed(): boolean
}

/** Repeats work, with pauses, while the error is temporary. Rejects with an error of the store. */
export async function insist<Result>(
  work: (attempt: number) => Promise<Result>,
  { maxWaitMs, place, isClosed }: InsistOptions,
): Promise<Result> {
  const giveUpAt = performance.now() + maxWaitMs
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (thrown) {
      if (isClosed() || !isPassing(thrown) || performance.now() > giveUpAt) throw storeErrorOf(thrown, place)
      await wait(Math.min(1_000, 25 * 2 ** Math.min(attempt - 1, 6)))
    }
  }
}

async function rollBack(client: PoolClient): Promise<void> {
  // When the connection is broken, the server rolls back automatically; the original error is already being thrown.
  await client.query('rollback').catch(() => undefined)
}

/** Host and name of the database. A URL can contain a password, which must not be in a message. */
export function placeOf(url: string): string {
  try {
    const { hostname, port, pathname, searchParams } = new URL(url)
    const host = searchParams.get('host') ?? `${hostname}${port === '' ? '' : `:${port}`}`
    return `${host}${pathname}`
  } catch {
    return 'of this URL'
  }
}

/**
 * Identifies connections that can be shared. Statements are prepared under names, so each `share` value has one set of
 * statements.
 */
type SharedPoolOptions = ConnectionOptions & { readonly share: string }

type Entry = { readonly pool: Promise<Pool>; readonly sizes: Map<object, number> }

const pools = new Map<string, Entry>()

/**
 * Returns the connections of this process to one database: stores and queues with the same address and name share them.
 * The pool is as large as the largest size that a user of it requests.
 */
async function acquirePool(user: object, options: SharedPoolOptions, size: number): Promise<Pool> {
  const key = keyOf(options)
  const entry: Entry = pools.get(key) ?? { pool: openPool(options, size), sizes: new Map() }
  pools.set(key, entry)
  entry.sizes.set(user, size)
  try {
    const pool = await entry.pool
    resize(pool, entry)
    return pool
  } catch (thrown) {
    // The driver may be installed before the next attempt.
    if (pools.get(key) === entry) pools.delete(key)
    throw thrown
  }
}

/** Releases the connections. The last user closes them. */
async function releasePool(user: object, options: SharedPoolOptions): Promise<void> {
  const key = keyOf(options)
  const entry = pools.get(key)
  if (entry === undefined || !entry.sizes.delete(user)) return
  const pool = await entry.pool
  if (entry.sizes.size > 0) return resize(pool, entry)
  // While this one waited, another user may have acquired the pool, or another release may have closed it.
  if (pools.get(key) !== entry) return
  pools.delete(key)
  await pool.end()
}

/** Sets the size of a pool. `pg` reads it whenever it opens a connection; excess connections end when they are idle. */
function resize(pool: Pool, { sizes }: Entry): void {
  if (sizes.size > 0) pool.options.max = Math.max(...sizes.values())
}

function keyOf({ url, applicationName, share }: SharedPoolOptions): string {
  return JSON.stringify([url, applicationName, share])
}
