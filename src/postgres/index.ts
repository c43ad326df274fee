/** The entry `capstan/postgres`: sessions in a Postgres database. */

export { type MigratedSchema, type MigrateOptions, migrate } from '../store/postgres/migrate.js'
export {
  PostgresSessionStore,
  type PostgresSessionStoreOptions,
  type SessionFilter,
} from '../store/postgres/postgres-store.js'
