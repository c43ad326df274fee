import { Database } from './database.js'
import { migrateJobs } from './jobs.js'
import { migrateSchema, quoted, schemaSteps } from './schema.js'

/** The settings of {@link migrate}. */
export type MigrateOptions = {
  /** The schema of the tables. Default: `capstan`. */
  readonly schema?: string | undefined
  /** How long to wait for a database that cannot be reached. Default: 60,000 ms. */
  readonly maxWaitMs?: number | undefined
}

/** The result of {@link migrate}. */
export type MigratedSchema = {
  readonly schema: string
  /** The version of the tables now. */
  readonly version: number
  /** Whether the queue of runs has its tables too: they need the package `pg-boss`. */
  readonly hasQueue: boolean
}

/**
 * Creates the tables of a store in a database, or migrates them to this version. Safe to repeat, and while other
 * processes use the database.
 *
 * @example
 * ```ts
 * await migrate('postgres://owner@db.example/capstan')
 * ```
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<MigratedSchema> {
  const { schema = 'capstan', maxWaitMs = 60_000 } = options
  quoted(schema)
  const database = new Database({
    url,
    applicationName: 'capstan migrate',
    share: schema,
    poolSize: 1,
    prepare: false,
    maxWaitMs,
  })
  try {
    const version = await migrateSchema(database, schema, schemaSteps)
    return { schema, version, hasQueue: await migrateJobs(database, schema) }
  } finally {
    await database.close()
  }
}
