import { type ConnectionOptions, openPool, type Pool } from './driver.js'

/** How a store or a queue reaches its database. */
export type DatabaseOptions = {
  /** The database: `postgres://user:password@host:5432/name`. */
  readonly url: string
  /**
   * The same database without a pooler in between, for notifications and for the connection that shows that this process
   * runs. Needed when `url` leads to PgBouncer in transaction mode; else a process that ended is noticed after 15 s.
   */
  readonly directUrl?: string | undefined
  /** The schema of the tables. Default: `capstan`. */
  readonly schema?: string | undefined
  /**
   * The maximum number of connections, without those above. Default: 4. Stores and queues with the same URL and schema
   * in this process use the same connections.
   */
  readonly pool?: number | undefined
  /** Whether statements are prepared on their connections. Default: true, and false with a `directUrl`. */
  readonly prepare?: boolean | undefined
  /** How long an operation waits for a database that cannot be reached. Default: 60,000 ms. */
  readonly maxWaitMs?: number | undefined
}

/** Which connections can be shared. Statements have names on them, so one name means one set of statements. */
export type SharedPoolOptions = ConnectionOptions & { readonly share: string }

type Entry = { readonly pool: Promise<Pool>; readonly sizes: Map<object, number> }

const pools = new Map<string, Entry>()

/**
 * The connections of this process to one database: stores and queues with the same address and name use the same ones.
 * There are as many as the user with the largest number asks for.
 */
export async function acquirePool(user: object, options: SharedPoolOptions, size: number): Promise<Pool> {
  const key = keyOf(options)
  const entry: Entry = pools.get(key) ?? { pool: openPool(options, size), sizes: new Map() }
  pools.set(key, entry)
  entry.sizes.set(user, size)
  try {
    const pool = await entry.pool
    resize(pool, entry)
    return pool
  } catch (thrown) {
    // The driver may be installed by the next attempt.
    if (pools.get(key) === entry) pools.delete(key)
    throw thrown
  }
}

/** The last user closes the connections. */
export async function releasePool(user: object, options: SharedPoolOptions): Promise<void> {
  const key = keyOf(options)
  const entry = pools.get(key)
  if (entry === undefined || !entry.sizes.delete(user)) return
  const pool = await entry.pool
  if (entry.sizes.size > 0) return resize(pool, entry)
  // Another user may have come, or another release may have closed it, while this one waited.
  if (pools.get(key) !== entry) return
  pools.delete(key)
  await pool.end()
}

/** `pg` reads the number whenever it makes a connection. Those beyond it end when they are idle. */
function resize(pool: Pool, { sizes }: Entry): void {
  if (sizes.size > 0) pool.options.max = Math.max(...sizes.values())
}

function keyOf({ url, applicationName, share }: SharedPoolOptions): string {
  return JSON.stringify([url, applicationName, share])
}
