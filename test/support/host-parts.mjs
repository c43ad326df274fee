// @ts-nocheck: plain JavaScript, run as it is.
// The parts that the programs started by `startHost` share.
import { writeSync } from 'node:fs'
import { FileSessionStore, SqliteSessionStore } from 'capstan'

/** The instruction that the test passed to `startHost`. */
export const order = JSON.parse(process.argv[2])

/**
 * Writes a line that the test reads with `next()`. Synchronous, so that a process killed right after it has written all
 * of it.
 */
export const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`)

/** Loaded by the hosts that need it alone: it takes a tenth of the processor time of a short host. */
const postgres = order.backend === 'postgres' ? await import('capstan/postgres') : undefined

/** Opens the store that the instruction names. */
export const openStore = (place = order.place) => {
  if (postgres !== undefined) return new postgres.PostgresSessionStore(JSON.parse(place))
  return order.backend === 'file' ? new FileSessionStore(place) : new SqliteSessionStore(place)
}
