import type { Client, Pool, PoolClient } from 'pg'
import { StoreError } from '../errors.js'
import { fromDriver } from './faults.js'

export type { Client, Pool, PoolClient }

/** How connections are made. */
export type ConnectionOptions = {
  readonly url: string
  /** The name that `pg_stat_activity` shows. */
  readonly applicationName: string
}

/** Opens a pool of connections with the package `pg`, which is loaded on first use. Connects on the first query. */
export async function openPool(options: ConnectionOptions, size: number): Promise<Pool> {
  const { Pool } = await loadDriver()
  const pool = new Pool({
    ...common(options),
    max: size,
    // An idle pool must not keep the process alive.
    allowExitOnIdle: true,
    idleTimeoutMillis: 30_000,
  })
  // A connection that breaks while it is idle is replaced with the next query, which reports the problem.
  pool.on('error', () => undefined)
  // The pool has no error listener while a connection is in use, and there is none between two statements of a
  // transaction.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** Opens one connection that does not keep the process alive. */
export async function openClient(options: ConnectionOptions): Promise<Client> {
  const { Client } = await loadDriver()
  const client = new Client(common(options))
  // The owner notices with its next query; without a listener Node would end the process.
  client.on('error', () => undefined)
  await fromDriver(client.connect())
  // `unref` exists since pg 8.0, but is missing in its types.
  if ('unref' in client && typeof client.unref === 'function') client.unref()
  return client
}

/** Keeps the process alive while connections are closed. They do not do so themselves, and Node would exit first. */
export async function keepingAlive<Result>(work: Promise<Result>): Promise<Result> {
  const timer = setInterval(() => undefined, 1_000)
  try {
    return await work
  } finally {
    clearInterval(timer)
  }
}

function common({ url, applicationName }: ConnectionOptions) {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 5_000,
    query_timeout: queryTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

/** After this time without an answer, a connection counts as broken. */
const queryTimeoutMs = 60_000

async function loadDriver(): Promise<Pick<typeof import('pg'), 'Pool' | 'Client'>> {
  try {
    const { default: driver } = await import('pg')
    return driver
  } catch (thrown) {
    throw new StoreError(
      'store_failed',
      "The Postgres store needs the package 'pg', which could not be loaded. Run 'npm install pg'.",
      { cause: thrown },
    )
  }
}
