import { type ConnectionOptions, openPool, type Pool } from './driver.js'

/**
 * Identifies connections that can be shared. Statements are prepared under names, so each `share` value has one set of
 * statements.
 */
export type SharedPoolOptions = ConnectionOptions & { readonly share: string }

type Entry = { readonly pool: Promise<Pool>; readonly sizes: Map<object, number> }

const pools = new Map<string, Entry>()

/**
 * Returns the connections of this process to one database: stores and queues with the same address and name share them.
 * The pool is as large as the largest size that a user of it requests.
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
    // The driver may be installed before the next attempt.
    if (pools.get(key) === entry) pools.delete(key)
    throw thrown
  }
}

/** Releases the connections. The last user closes them. */
export async function releasePool(user: object, options: SharedPoolOptions): Promise<void> {
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
