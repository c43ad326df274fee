import { describe, expect, it, onTestFinished } from 'vitest'
import { hasPostgres, postgresSchema, runSql } from '../../test/support/postgres.js'
import type { QueueMember, RunSubmission } from '../run-queue/run-queue.js'
import { PostgresSessionStore } from '../store/postgres/postgres-store.js'
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

  it('removes runs that have ended by age and number, and no others', async () => {
    const { url, schema } = await postgresSchema()
    const queue = new PostgresRunQueue({ url, schema })
    onTestFinished(() => queue.close())
    const member = await join(queue)
    const states = ['dead', 'completed', 'failed', 'cancelled', 'completed'] as const
    for (const [at, state] of states.entries()) {
      await queue.submit(submission(`r${at}`))
      await queue.post(`r${at}`, { id: 'm', body: {} })
      const [claim] = await member.claim({ lanes: ['default'], max: 1 })
      if (claim !== undefined) await member.settle(claim, { state })
    }
    for (const id of ['active', 'queued']) await queue.submit(submission(id))
    await member.claim({ lanes: ['default'], max: 1 })
    // The first one ended seven hours ago, the last one three.
    const hour = 3_600_000
    await runSql(url, `update ${schema}.queue_runs set updated_at = updated_at - (8 - ord) * ${hour}`)
    await queue.count('tenant/a/b/2020-01-31', { id: 'past', tokens: 1, costUsd: 0 })
    await queue.count('tenant/a/2020-01', { id: 'month', tokens: 1, costUsd: 0 })
    const ids = async () => (await queue.list()).runs.map(({ runId }) => runId)
    // A list that a reader has begun continues after a removal.
    const { next } = await queue.list({ limit: 3 })
    expect(await queue.removeEnded({ maxAgeMs: 100 * hour, maxRuns: 2 })).toBe(2)
    expect(await ids()).toEqual(['queued', 'active', 'r4', 'r3', 'r0'])
    expect((await queue.list({ cursor: next })).runs.map(({ runId }) => runId)).toEqual(['r3', 'r0'])
    expect(await queue.removeEnded({ maxAgeMs: 3.5 * hour, maxRuns: 2 })).toBe(2)
    expect(await ids()).toEqual(['queued', 'active', 'r4'])
    expect(await queue.removeEnded({ maxAgeMs: 3.5 * hour, maxRuns: 2 })).toBe(0)
    for (const name of ['tenant/a/b/2020-01-31', 'tenant/a/2020-01'])
      expect(await queue.count(name)).toEqual({ tokens: 0, costUsd: 0 })
  })

  it('shares one row, one heartbeat and its connections with the store of its process', async () => {
    const { url: admin, schema } = await postgresSchema()
    const role = `queue_user_${schema}`
    await runSql(admin, `create role ${role} superuser login`)
    onTestFinished(async () => {
      await runSql(admin, `drop role ${role}`)
    })
    const url = admin.replace('//capstan@', `//${role}@`)
    const connections = async (): Promise<number> =>
      (await runSql(admin, 'select 1 from pg_stat_activity where usename = $1', [role])).length
    const nodes = () =>
      runSql(admin, `select id, details <> '{}' as is_node from ${schema}.nodes order by id`)
    const [store, queue] = [new PostgresSessionStore({ url, schema }), new PostgresRunQueue({ url, schema })]
    const log = await store.open('s', opener)
    const member = await join(queue)
    const many = Array.from({ length: 30 }, (_, at) => at)
    await Promise.all(
      many.flatMap<Promise<unknown>>((at) => [
        queue.submit(submission(`r${at}`)),
        store.create(`s${at}`, [], opener),
        log.append([{ type: 'run_event', data: { runId: 'r', sequence: at, timestampMs: 1, event: {} } }]),
      ]),
    )
    // Four for statements, and one each for the heartbeat, for notifications and for what pg-boss reads by itself.
    const opened = await connections()
    expect(opened).toBeGreaterThan(0)
    expect(opened).toBeLessThanOrEqual(7)
    const own = { id: Number(member.nodeId), is_node: true }
    expect(await nodes()).toEqual([own])
    // A second node of the process can leave without the first.
    const second = await join(queue)
    expect(await nodes()).toEqual([own, { id: Number(second.nodeId), is_node: true }])
    await second.leave()
    expect((await queue.status()).nodes.map(({ id }) => id)).toEqual([member.nodeId])
    await queue.drain(member.nodeId)
    await member.leave()
    expect(await nodes()).toEqual([{ ...own, is_node: false }])
    expect((await queue.status()).nodes).toEqual([])
    const again = await join(queue)
    expect((await queue.status()).nodes).toMatchObject([{ id: again.nodeId, isDraining: false }])
    await store.close()
    expect(await nodes()).toEqual([own])
    await queue.close()
    expect(await nodes()).toEqual([])
    await expect.poll(connections).toBe(0)
  })

  it('accepts no commands from a notification, which every role of the database can send', async () => {
    const { url, schema } = await postgresSchema()
    const queue = new PostgresRunQueue({ url, schema })
    onTestFinished(() => queue.close())
    const reasons: string[] = []
    const member = await join(queue)
    member.onWake((reason) => reasons.push(reason))
    const hostile = ['{', 'null', '{"runs":5}', '{"runs":[null]}', '{"reason":"stop"}', '{"reason":"drain"}']
    // They arrive in this order.
    for (const payload of [...hostile, '{"reason":"work"}'])
      await runSql(url, 'select pg_notify($1, $2)', [`capstan_${schema}`, payload])
    await expect.poll(() => reasons).toContain('work')
    await queue.submit(submission('a'))
    expect(await member.claim({ lanes: ['default'], max: 1 })).toHaveLength(1)
    expect(reasons).not.toContain('drain')
    // The row of the node counts, and a claim finds it also when no notification comes.
    await runSql(url, `update ${schema}.nodes set draining = true`)
    expect(await member.claim({ lanes: ['default'], max: 1 })).toEqual([])
    await expect.poll(() => reasons).toContain('drain')
  })

  it('takes over a run whose node has ended and has no row', async () => {
    const { url, schema } = await postgresSchema()
    const queue = new PostgresRunQueue({ url, schema })
    onTestFinished(() => queue.close())
    const [first, other] = [await join(queue), await join(queue)]
    await queue.submit(submission('a'))
    const [claim] = await first.claim({ lanes: ['default'], max: 1 })
    expect(claim?.run.runId).toBe('a')
    await runSql(url, `update ${schema}.queue_runs set node = 0`)
    await expect
      .poll(() => other.claim({ lanes: ['default'], max: 1 }))
      .toMatchObject([{ run: { runId: 'a', takeovers: 1 } }])
  })

  it('starts a run that is due, however many earlier ones of its session are not', async () => {
    const { url, schema } = await postgresSchema()
    const queue = new PostgresRunQueue({ url, schema })
    onTestFinished(() => queue.close())
    const member = await join(queue)
    await runSql(
      url,
      `insert into ${schema}.queue_runs
        (run_id, session_id, lane, priority, not_before, submission, digest, job, submitted_at, updated_at)
        select 'later' || n, 's', 'default', 0, 9000000000000, '{}', '', gen_random_uuid(), 0, 0
        from generate_series(1, 150) as n`,
    )
    await queue.submit({ ...submission('a'), sessionId: 's' })
    expect(await member.claim({ lanes: ['default'], max: 1 })).toMatchObject([{ run: { runId: 'a' } }])
  })

  it('frees a session that could not be released as soon as the database is available', async () => {
    const { url, schema } = await postgresSchema()
    const store = new PostgresSessionStore({ url, schema })
    onTestFinished(() => store.close())
    const log = await store.open('s', opener)
    await runSql(url, `alter table ${schema}.heads rename to broken`)
    await expect(log.close()).rejects.toMatchObject({ code: 'store_failed' })
    await runSql(url, `alter table ${schema}.broken rename to heads`)
    const isOpen = async (): Promise<boolean> => (await store.open('s', opener)) !== undefined
    await expect.poll(() => isOpen().catch(() => false)).toBe(true)
  })
})

const opener = { holder: 'the test', now: () => 1 }

function join(queue: PostgresRunQueue): Promise<QueueMember> {
  return queue.join({ name: 'n', host: 'h', pid: 1, version: '0', slots: 1, lanes: ['default'] })
}

function submission(runId: string): RunSubmission {
  return { runId, sessionId: runId, prompt: 'p', lane: 'default', priority: 0, request: {}, digest: runId }
}
