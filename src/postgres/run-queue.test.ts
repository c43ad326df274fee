import { describe, expect, it } from 'vitest'
import { hasPostgres, postgresSchema, runSql } from '../../test/support/postgres.js'
import { checkRunQueue } from '../testing/run-queue-kit.js'
import { PostgresRunQueue } from './run-queue.js'

describe.skipIf(!hasPostgres())('a queue of runs in Postgres', () => {
  it('satisfies the interface of queues', async () => {
    const { url, schema } = await postgresSchema()
    const tables = ['queue_runs', 'queue_messages', 'queue_events', 'counters', 'nodes'].map(
      (name) => `${schema}.${name}`,
    )
    const problems = await checkRunQueue(
      async () => {
        await runSql(url, `truncate ${tables.join(', ')}, ${schema}_jobs.job`)
        return new PostgresRunQueue({ url, schema })
      },
      {
        again: async (queue) => {
          await queue.close()
          return new PostgresRunQueue({ url, schema })
        },
      },
    )
    expect(problems).toEqual([])
    // Many round trips, which take long on a busy machine.
  }, 600_000)
})
