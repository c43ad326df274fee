import type { Db, PgBoss } from 'pg-boss'
import { StoreError } from '../errors.js'
import type { Database, Run } from './database.js'

/** Opens pg-boss on the connections of a database. It has no timers and no connections of its own. */
export async function openJobs(database: Database, schema: string): Promise<PgBoss> {
  const boss = await load()
  if (boss === undefined)
    throw new StoreError(
      'store_failed',
      "The queue of runs needs the package 'pg-boss', which could not be loaded. Run 'npm install pg-boss@~12.35'.",
    )
  return new boss.PgBoss({
    db: asDatabase(database.query.bind(database)),
    schema: jobSchema(schema),
    ...quiet,
  })
}

/** Returns a database for calls of pg-boss that take part in a transaction: `{ db: inTransaction(run) }`. */
export function inTransaction(run: Run): Db {
  return asDatabase(run)
}

/** Creates or migrates the tables of pg-boss. Returns false where the package is not installed. */
export async function migrateJobs(database: Database, schema: string): Promise<boolean> {
  const boss = await load()
  if (boss === undefined) return false
  const name = jobSchema(schema)
  const [existing] = await database.query({
    text: 'select 1 from pg_namespace where nspname = $1',
    values: [name],
  })
  const migrating = new boss.PgBoss({
    db: asDatabase(database.query.bind(database)),
    schema: name,
    ...quiet,
    migrate: true,
    // A role without the permission to create schemas can use an existing one.
    createSchema: existing === undefined,
  })
  await migrating.start()
  await migrating.stop({ graceful: false })
  return true
}

/** The schema of pg-boss, which has versions of its own. */
function jobSchema(schema: string): string {
  return `${schema}_jobs`
}

const quiet = { supervise: false, schedule: false, migrate: false } as const

function asDatabase(run: Run): Db {
  return {
    executeSql: async (text, values) => ({ rows: await run({ text, ...(values && { values }) }) }),
  }
}

async function load(): Promise<typeof import('pg-boss') | undefined> {
  try {
    return await import('pg-boss')
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ERR_MODULE_NOT_FOUND')
      return undefined
    throw thrown
  }
}
