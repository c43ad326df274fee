import { describe, expect, it } from 'vitest'
import { hasPostgres, postgresSchema, runSql } from '../../../test/support/postgres.js'
import { Presence } from './presence.js'

describe.skipIf(!hasPostgres())('the registration of a process', () => {
  async function open(): Promise<{ presence: Presence; schema: string; rows: () => Promise<unknown[]> }> {
    const { url, schema } = await postgresSchema()
    const connection = { url, applicationName: 'presence' }
    const presence = new Presence({ connection, schema, maxWaitMs: 60_000 })
    return { presence, schema, rows: () => runSql(url, `select host from ${schema}.nodes`) }
  }

  it('runs what is due after a statement that the server rejects', async () => {
    const { presence, schema, rows } = await open()
    const id = await presence.join()
    presence.defer({ text: `update ${schema}.missing set host = 'never'` })
    presence.defer({ text: `update ${schema}.nodes set host = 'moved' where id = $1`, values: [id] })
    await expect.poll(rows, { timeout: 60_000 }).toEqual([{ host: 'moved' }])
    expect(presence.hasDue).toBe(true)
    await presence.leave()
  }, 120_000)

  it('leaves no row when it stops while it registers', async () => {
    const { presence, rows } = await open()
    const joining = presence.join()
    await presence.leave()
    await joining
    expect(await rows()).toEqual([])
  }, 120_000)
})
