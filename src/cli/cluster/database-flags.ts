import type { OptionSpec } from '../command.js'

/** The options with which a command finds the database of the cluster. */
export const databaseFlags: readonly OptionSpec[] = [
  {
    name: 'database',
    value: 'url',
    summary:
      'Postgres database of the cluster (default: CAPSTAN_DATABASE_URL, or storage_url of a configuration with storage_backend = "postgres")',
  },
  { name: 'schema', value: 'name', summary: 'Schema of the tables (default: capstan)' },
  { name: 'wait', value: 'duration', summary: 'How long to wait for a database that is down (default: 60s)' },
]
