import { type ConnectionOptions, openPool, type Pool } from './driver.js'

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
