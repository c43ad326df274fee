import { describe, expect, it, onTestFinished } from 'vitest'
import { PostgresRunQueue } from '../../src/postgres/run-queue.js'
import { PostgresSessionStore } from '../../src/store/postgres/postgres-store.js'
import { collect } from '../cluster/support.js'
import { workersOn } from '../cluster/workers.js'
import { hasPostgres, postgresSchema, runSql } from '../support/postgres.js'
import { roleScript } from './role-script.js'
import { event, numbersIn, opener } from './support.js'

describe.skipIf(!hasPostgres())('the role script of docs/postgres.md', () => {
  it('gives a role everything that workers and clients need, and no right to change tables', async () => {
    const { url, schema } = await postgresSchema()
    const { create, grant } = roleScript()
    const script = `${create}${grant}`
    const role = `app_${schema}`
    await runSql(
      url,
      script
        .replaceAll('capstan_app', role)
        .replaceAll('capstan_jobs', `${schema}_jobs`)
        .replaceAll(' capstan ', ` ${schema} `)
        .replaceAll(' capstan;', ` ${schema};`)
        .replaceAll(' capstan,', ` ${schema},`),
    )
    onTestFinished(async () => void (await runSql(url, `drop owned by ${role}; drop role ${role}`)))
    const own = url.replace('//capstan@', `//${role}@`)
    const store = new PostgresSessionStore({ url: own, schema })
    const log = await store.open('s', opener())
    await log.append([event(0)])
    await log.writeBlob(new Uint8Array([1]))
    await log.close()
    await store.rewrite('s', () => [event(0), event(1)])
    expect(await numbersIn(store, 's')).toEqual([0, 1])
    expect(await store.delete('s')).toBe(true)
    await store.close()
    const queue = new PostgresRunQueue({ url: own, schema })
    const member = await queue.join({
      name: 'n',
      host: 'h',
      pid: 1,
      version: '0',
      slots: 1,
      lanes: ['default'],
    })
    await queue.submit({
      ...{ runId: 'r', sessionId: 's', prompt: 'p', lane: 'default', priority: 0, request: {}, digest: 'd' },
    })
    const [claim] = await member.claim({ lanes: ['default'], max: 1 })
    expect(claim?.run.runId).toBe('r')
    await queue.close()
    // A whole worker: it joins, executes a run, and leaves, and its client follows the run.
    const { client, worker, ledger } = await workersOn({ url: own, schema })
    const node = await worker({ lanes: ['with-this-role'] })
    const runs = client()
    const { runId } = await runs.submit({ prompt: 'role x2', lane: 'with-this-role' })
    const events = await collect(runs.events(runId))
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end' })
    expect(ledger.done).toEqual(['role-1', 'role-2'])
    await node.drain()
    await expect(runSql(own, `alter table ${schema}.records add column x text`)).rejects.toThrow(/owner/)
    await expect(runSql(own, `create table ${schema}.mine (x text)`)).rejects.toThrow(/permission denied/)
    await expect(runSql(own, `drop table ${schema}.records`)).rejects.toThrow(/owner/)
    await expect(runSql(own, `truncate ${schema}.records`)).rejects.toThrow(/permission denied/)
  }, 600_000)
})
