/**
 * FT-41 to FT-44 and FT-46: workers whose database is restarted, cut off or migrated, a worker that is paused, and
 * tenants that share workers. Short forms; `FAULT_FACTOR=50` makes 1,000 lost connections and 1,000 lost answers.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { RunClient } from '../../src/cluster/run-client.js'
import type { RunQueue } from '../../src/run-queue/run-queue.js'
import { Database } from '../../src/store/postgres/database.js'
import { migrate } from '../../src/store/postgres/migrate.js'
import { migrateSchema, schemaSteps } from '../../src/store/postgres/schema.js'
import { startProxy } from '../postgres/support.js'
import { factor, reportFaults } from '../support/fault-factor.js'
import { hasPostgres, postgresSchema, privateServer, runSql } from '../support/postgres.js'
import { minutes } from './support.js'
import { workersOn } from './workers.js'

const poll = { timeout: 5 * minutes }
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at)

/** The states of all runs, and how many runs have each. */
async function states(client: RunClient): Promise<Record<string, number>> {
  const found: Record<string, number> = {}
  let cursor: string | undefined
  do {
    const page = await client.list({ cursor, limit: 500 })
    for (const { state } of page.runs) found[state] = (found[state] ?? 0) + 1
    cursor = page.next
  } while (cursor !== undefined)
  return found
}

/** The calls of `count` runs with `calls` calls each were made, and each was made once. */
function expectOnce(begun: readonly string[], count: number, calls: number): void {
  const wanted = upTo(count).flatMap((run) => upTo(calls).map((call) => `run-${run}-${call + 1}`))
  expect(begun.toSorted()).toEqual(wanted.toSorted())
}

const interrupted = factor > 1 ? 100 : 50

describe.skipIf(!hasPostgres())(`FT-41: a database that is restarted during ${interrupted} runs`, () => {
  it(
    'fails no run, takes no run from its node, and repeats no call',
    async () => {
      const server = await privateServer()
      await migrate(server.url)
      const { client, worker, ledger, connect } = await workersOn({ url: server.url })
      for (const slots of [8, 8, 8]) await worker({ slots })
      const runs = client()
      await Promise.all(upTo(interrupted).map((at) => runs.submit({ prompt: `run-${at} x3` })))
      for (const [how, after] of [
        ['fast', interrupted * 0.3],
        ['immediate', interrupted * 1.5],
      ] as const) {
        await expect.poll(() => ledger.done.length, poll).toBeGreaterThan(after)
        await server.restart(how)
      }
      await expect.poll(() => states(runs), poll).toEqual({ completed: interrupted })
      expectOnce(ledger.begun, interrupted, 3)
      const { queue } = connect()
      expect(await queue.status()).toMatchObject({ takeovers: 0, dead: 0 })
    },
    10 * minutes,
  )
})

describe.skipIf(!hasPostgres())(
  'FT-42: a cluster whose connections are cut, and whose answers are lost',
  () => {
    it(
      'loses no run, executes none twice, and makes no call twice',
      async () => {
        const { url, schema } = await postgresSchema()
        const proxy = await startProxy(url)
        const { client, worker, ledger } = await workersOn({ url: proxy.url, schema })
        const direct = (await workersOn({ url, schema })).client()
        for (const slots of [4, 4]) await worker({ slots })
        const runs = client()
        const figures = { cuts: 0, lostAnswers: 0, runs: 0 }
        const wanted = factor > 1 ? 20 * factor : 10
        const isOver = (): boolean => figures.cuts >= wanted && figures.lostAnswers >= wanted
        const submit = async (): Promise<void> => {
          while (!isOver()) {
            const at = figures.runs++
            await runs.submit({ prompt: `run-${at} x3`, idempotencyKey: `key-${at}` })
            await expect
              .poll(async () => states(direct).then(({ queued = 0 }) => queued), { ...poll, interval: 250 })
              .toBeLessThan(8)
          }
        }
        const submitting = Promise.all([submit(), submit()])
        while (!isOver()) {
          // Each fault meets a cluster that has recovered from the one before.
          const before = ledger.done.length
          while (ledger.done.length < before + 2) await wait(1)
          if (figures.cuts <= figures.lostAnswers) figures.cuts += Number(proxy.cut())
          else figures.lostAnswers += Number(proxy.loseAnswer())
          reportFaults('FT-42', figures.cuts + figures.lostAnswers, 2 * wanted)
        }
        await submitting
        await expect.poll(() => states(direct), poll).toEqual({ completed: figures.runs })
        expect(new Set(ledger.begun).size, 'a call was made twice').toBe(ledger.begun.length)
        console.info(`FT-42: ${JSON.stringify({ ...figures, calls: ledger.begun.length })}`)
      },
      10 * minutes * factor,
    )
  },
)

describe.skipIf(!hasPostgres())('FT-46: a worker that is paused in the middle of a claim', () => {
  it(
    'delays the others for some seconds only, and works again after the pause',
    async () => {
      const { url, schema } = await postgresSchema()
      const proxy = await startProxy(url)
      const { client, worker, ledger } = await workersOn({ url, schema })
      const paused = await workersOn({ url: proxy.url, schema })
      // It has the lock of all claims, and the server waits for its next statement.
      const pause = proxy.pauseAfter('capstan_lock_claims')
      await paused.worker()
      await pause
      const other = await worker()
      const runs = client()
      await runs.submit({ prompt: 'run-0 x1' })
      await expect.poll(() => states(runs), poll).toEqual({ completed: 1 })
      expect(ledger.begun).toEqual(['run-0-1'])
      // The server has ended its transaction; it connects again, and works.
      proxy.resume()
      await other.drain()
      await runs.submit({ prompt: 'run-1 x1' })
      await expect.poll(() => states(runs), poll).toEqual({ completed: 2 })
      expect(paused.ledger.begun).toEqual(['run-1-1'])
    },
    10 * minutes,
  )
})

describe.skipIf(!hasPostgres())('a worker whose log another process has taken', () => {
  it(
    'counts no record as stored, and makes no further call',
    async () => {
      const { url, schema } = await postgresSchema()
      const { client, worker, ledger } = await workersOn(
        { url, schema },
        {
          // The queue does not notice it, so only the answer to the next record can.
          work: async (word) => {
            if (word === 'run-0-2')
              await runSql(url, `update ${schema}.heads set fence = fence + 1, holder = null, node = null`)
          },
        },
      )
      await worker()
      const runs = client()
      const { runId } = await runs.submit({ prompt: 'run-0 x4' })
      const state = async () => (await runs.get(runId))?.state
      await expect.poll(state, poll).toMatch(/^(completed|failed|dead)$/)
      expect(await runs.get(runId)).toMatchObject({ state: 'failed', error: { code: 'store_lost_lease' } })
      expect(ledger.begun).toEqual(['run-0-1', 'run-0-2'])
    },
    10 * minutes,
  )
})

describe.skipIf(!hasPostgres())('FT-43: four workers with limits for tenants', () => {
  it(
    'never have more runs of a tenant than its limit, and keep the order of each session',
    async () => {
      const active = new Map<string, number>()
      let most = 0
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const { client, worker, ledger, connect } = await workersOn(await postgresSchema(), {
        async work(word) {
          const tenant = word.slice(0, 1)
          const now = (active.get(tenant) ?? 0) + 1
          active.set(tenant, now)
          most = Math.max(most, now)
          await held
          await wait(5)
          active.set(tenant, (active.get(tenant) ?? 1) - 1)
        },
      })
      const tenantLimits = { default: 2, tiers: { gold: 2 } }
      const tenants = ['a', 'b', 'c']
      await Promise.all(
        tenants.map(async (tenant) => {
          const own = client(tenant)
          // One after the other, since their order counts.
          for (const at of upTo(12))
            await own.submit({ prompt: `${tenant}-${at} x1`, sessionId: `${tenant}-${at % 3}` })
        }),
      )
      const looks = lookCounter()
      for (const slots of [4, 4, 4, 4])
        await worker({ slots, tenantLimits, queue: looks.watched(connect().queue) })
      await expect.poll(() => ledger.begun.length, poll).toBeGreaterThanOrEqual(6)
      // Three sessions of each tenant could run, and the workers have free slots: they look again and take nothing.
      const before = looks.count
      await expect.poll(() => looks.count, poll).toBeGreaterThan(before + 4)
      expect(ledger.begun).toHaveLength(6)
      release()
      const runs = client()
      await expect.poll(() => states(runs), poll).toEqual({ completed: 36 })
      expect(most).toBe(2)
      for (const tenant of tenants)
        for (const session of upTo(3)) {
          const order = ledger.begun.flatMap((word) => {
            const [owner, at] = word.split('-')
            return owner === tenant && Number(at) % 3 === session ? [Number(at)] : []
          })
          expect(order).toEqual(order.toSorted((one, two) => one - two))
        }
    },
    10 * minutes,
  )

  it(
    'start the first run of a tenant at the next poll, although another has 10,000 runs in the queue',
    async () => {
      const { url, schema } = await postgresSchema()
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      const { client, worker, ledger, connect } = await workersOn(
        { url, schema },
        { work: (word) => (word.startsWith('noisy') ? held : Promise.resolve()) },
      )
      await client('noisy').submit({ prompt: 'noisy-0 x1', sessionId: 'noisy' })
      await copyRun(url, schema, 9_999)
      const tenantLimits = { default: 2 }
      const looks = lookCounter()
      for (const slots of [2, 2, 2, 2])
        await worker({ slots, tenantLimits, queue: looks.watched(connect().queue) })
      await expect.poll(() => ledger.begun.length, poll).toBe(2)
      // The calls of the noisy tenant never end before that of the quiet one has begun.
      const { runId } = await client('quiet').submit({ prompt: 'quiet-0 x1' })
      const submitted = looks.now()
      await expect.poll(() => ledger.begun.includes('quiet-0-1'), poll).toBe(true)
      const { all, taker } = looks.until(runId)
      // No worker with a free slot looked between the submission and the look that took the run.
      expect(all.filter(({ begun, ended }) => begun > submitted && ended < taker.begun)).toEqual([])
      await expect.poll(async () => (await client('quiet').get(runId))?.state, poll).toBe('completed')
      const { queue } = connect()
      const [lane] = (await queue.status()).lanes
      expect(lane).toMatchObject({ queued: 9_998, active: 2 })
      await runSql(
        url,
        `delete from ${schema}_jobs.job; delete from ${schema}.queue_runs where state = 'queued'`,
      )
      release()
    },
    10 * minutes,
  )
})

describe.skipIf(!hasPostgres())('FT-44: a schema that is migrated while workers run', () => {
  it(
    'fails no run while the workers are replaced one by one',
    async () => {
      const { url, schema } = await postgresSchema()
      const { client, worker, ledger, connect } = await workersOn({ url, schema })
      const runs = client()
      const old = [await worker({ slots: 4 }), await worker({ slots: 4 })]
      await Promise.all(upTo(20).map((at) => runs.submit({ prompt: `run-${at} x3` })))
      await expect.poll(() => ledger.done.length, poll).toBeGreaterThan(5)
      const settings = { url, applicationName: 'test', share: schema, prepare: false, maxWaitMs: minutes }
      const database = new Database({ ...settings, poolSize: 1 })
      const tables = ['nodes', 'sessions', 'heads', 'records', 'queue_runs', 'queue_messages', 'queue_events']
      const step = {
        oldestCode: schemaSteps.length,
        sql: tables.map((table) => `alter table ${table} add column later text default 'x'`).join(';'),
      }
      await migrateSchema(database, schema, [...schemaSteps, step])
      await database.close()
      for (const one of old) {
        await worker({ slots: 4 })
        await one.drain()
      }
      await expect.poll(() => states(runs), poll).toEqual({ completed: 20 })
      expectOnce(ledger.begun, 20, 3)
      expect(await connect().queue.status()).toMatchObject({ takeovers: 0, dead: 0 })
    },
    10 * minutes,
  )
})

/** Numbers the moments at which workers look for runs, and at which they have the answer. */
function lookCounter() {
  type Look = { begun: number; ended: number; found: readonly string[] }
  const all: Look[] = []
  let moment = 0
  return {
    now: () => ++moment,
    /** How many looks have ended. */
    get count() {
      return all.length
    },
    watched(queue: RunQueue): RunQueue {
      const join = queue.join.bind(queue)
      queue.join = async (node) => {
        const member = await join(node)
        const claim = member.claim.bind(member)
        member.claim = async (options) => {
          const begun = ++moment
          const claims = await claim(options)
          all.push({ begun, ended: ++moment, found: claims.map(({ run }) => run.runId) })
          return claims
        }
        return member
      }
      return queue
    },
    /** All looks, and the one that found this run. */
    until(runId: string) {
      const taker = all.find(({ found }) => found.includes(runId))
      if (taker === undefined) throw new Error('no worker has found the run')
      return { all, taker }
    },
  }
}

/** Copies the only run of a queue, with its job: submitting so many would take longer than the test. */
async function copyRun(url: string, schema: string, count: number): Promise<void> {
  const jobs = `${schema}_jobs.job`
  const columns = await runSql<{ name: string }>(
    url,
    `select quote_ident(attname) as name from pg_attribute
      where attrelid = '${schema}.queue_runs'::regclass and attnum > 0 and not attisdropped and attname <> 'ord'`,
  )
  await runSql(
    url,
    `with run as (select * from ${schema}.queue_runs), made as (
        insert into ${schema}.queue_runs (${columns.map(({ name }) => name).join()})
        select ${columns.map(({ name }) => `copy.${name}`).join()}
        from generate_series(1, ${count}) n, run, jsonb_populate_record(null::${schema}.queue_runs, to_jsonb(run) || jsonb_build_object(
          'run_id', run.run_id || '-' || n, 'session_id', run.session_id || '-' || n, 'job', gen_random_uuid(),
          'submission', (run.submission::jsonb || jsonb_build_object(
            'runId', run.run_id || '-' || n, 'sessionId', run.session_id || '-' || n))::text)) as copy
        returning run_id, job
      )
      insert into ${jobs} select copy.* from made, ${jobs} as source, jsonb_populate_record(null::${jobs}, to_jsonb(source) || jsonb_build_object(
        'id', made.job, 'data', jsonb_build_object('runId', made.run_id))) as copy`,
  )
  await runSql(url, `analyze ${schema}.queue_runs; analyze ${jobs}`)
}
