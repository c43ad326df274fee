import { describe, expect, it } from 'vitest'
import { hasPostgres, postgresSchema, runSql } from '../../../test/support/postgres.js'
import { checkSessionStore } from '../../testing/session-store-kit.js'
import { PostgresSessionStore } from './postgres-store.js'

describe.skipIf(!hasPostgres())('the Postgres store', () => {
  it('satisfies the interface of stores', async () => {
    const { url, schema } = await postgresSchema()
    const tables = ['sessions', 'heads', 'records', 'blobs'].map((name) => `${schema}.${name}`)
    const problems = await checkSessionStore(
      async () => {
        await runSql(url, `truncate ${tables.join(', ')}`)
        return new PostgresSessionStore({ url, schema })
      },
      {
        again: () => new PostgresSessionStore({ url, schema }),
        loseLease: async (_, id) => {
          await runSql(
            url,
            `update ${schema}.heads set holder = null where sid = (select sid from ${schema}.sessions where id = $1)`,
            [id],
          )
        },
      },
    )
    expect(problems).toEqual([])
  })
})
