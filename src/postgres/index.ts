/** The entry `capstan/postgres`: sessions and a queue of runs in a Postgres database. */

export { type MigratedSchema, type MigrateOptions, migrate } from '../store/postgres/migrate.js'
export * from '../store/postgres/postgres-store.js'
export { PostgresRunQueue, type PostgresRunQueueOptions } from './run-queue.js'
