/**
 * FT-30 to FT-34: a database that is cut off, restarted, full or read-only, and a writer that is paused. Short forms;
 * `FAULT_FACTOR=50` makes 1,000 lost connections and 1,000 lost answers.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Database } from '../../src/store/postgres/database.js'
import { migrate } from '../../src/store/postgres/migrate.js'
import { PostgresSessionStore } from '../../src/store/postgres/postgres-store.js'
import { migrateSchema, schemaSteps } from '../../src/store/postgres/schema.js'
import type { SessionLog } from '../../src/store/session-store.js'
import { factor, reportFaults } from '../support/fault-factor.js'
import { startHost } from '../support/host-process.js'
import { endLease, hasPostgres, postgresSchema, privateServer, runSql } from '../support/postgres.js'
import { event, numbersIn, opener, startProxy, upTo, writeUntil } from './support.js'

const minutes = 60_000

describe.skipIf(!hasPostgres())('FT-30: connections that are cut, and answers that are lost', () => {
  it(
    'lose no record, and double none',
    async () => {
      const { url, schema } = await postgresSchema()
      const proxy = await startProxy(url)
      const store = new PostgresSessionStore({ url: proxy.url, schema })
      const logs: SessionLog[] = []
      for (const id of ['a', 'b', 'c']) logs.push(await store.open(id, opener()))
      let isOver = false
      let appends = 0
      const acknowledged = (): void => void appends++
      const writing = Promise.all(logs.map((log) => writeUntil(log, () => isOver, acknowledged)))
      const figures = { cuts: 0, lostAnswers: 0 }
      const wanted = 20 * factor
      while (figures.cuts < wanted || figures.lostAnswers < wanted) {
        // Each fault meets a store that has recovered from the one before.
        const before = appends
        while (appends < before + 3) await wait(1)
        if (figures.cuts <= figures.lostAnswers) figures.cuts += Number(proxy.cut())
        else figures.lostAnswers += Number(proxy.loseAnswer())
        reportFaults('FT-30', figures.cuts + figures.lostAnswers, 2 * wanted)
      }
      isOver = true
      const counts = await writing
      // The id of a session that is opened while answers are lost is held by the one that opened it.
      proxy.loseAnswer()
      const opened = await store.open('d', opener())
      await opened.append([event(0)])
      await store.close()
      const direct = new PostgresSessionStore({ url, schema })
      for (const [index, id] of ['a', 'b', 'c'].entries())
        expect(await numbersIn(direct, id)).toEqual(upTo(counts[index] ?? -1))
      expect(await numbersIn(direct, 'd')).toEqual([0])
      await direct.close()
      console.info(`FT-30: ${JSON.stringify({ ...figures, records: counts.reduce((a, b) => a + b, 0) })}`)
    },
    5 * minutes * factor,
  )
})

describe.skipIf(!hasPostgres())('FT-31: a process that is paused beyond its lease', () => {
  it(
    'writes nothing after another has taken over',
    async () => {
      const { url, schema } = await postgresSchema()
      const host = startHost('postgres/writer-host.mjs', {
        backend: 'postgres',
        place: JSON.stringify({ url, schema }),
      })
      onTestFinished(() => void host.child.kill('SIGKILL'))
      const { acknowledged } = await host.next()
      host.child.kill('SIGSTOP')
      await endLease(url, schema)
      const store = new PostgresSessionStore({ url, schema })
      const log = await openWhenFree(store, 's')
      const before = await numbersIn(store, 's')
      expect(before.length).toBeGreaterThanOrEqual(Number(acknowledged))
      await log.append([event(before.length)])
      host.child.kill('SIGCONT')
      let line = await host.next()
      while (line['failed'] === undefined) line = await host.next()
      expect(line['failed']).toBe('store_lost_lease')
      expect((await host.exited).code).toBe(0)
      expect(await numbersIn(store, 's')).toEqual(upTo(before.length + 1))
      await store.close()
    },
    5 * minutes,
  )
})

describe.skipIf(!hasPostgres())('FT-32: a database that is restarted', () => {
  it(
    'fails no writer, loses nothing that was acknowledged, and frees no session',
    async () => {
      const server = await privateServer()
      await migrate(server.url)
      const { url } = server
      const store = new PostgresSessionStore({ url })
      const other = new PostgresSessionStore({ url })
      const ids = upTo(10).map((index) => `s${index}`)
      const logs = await Promise.all(ids.map((id) => store.open(id, opener())))
      let isOver = false
      let appends = 0
      const acknowledged = (): void => void appends++
      const writing = Promise.all(logs.map((log) => writeUntil(log, () => isOver, acknowledged)))
      // The waits below end also when a writer has failed, which `await writing` reports.
      writing.catch(() => {
        isOver = true
      })
      const untilWritten = async (): Promise<void> => {
        const before = appends
        while (!isOver && appends < before + 50) await wait(1)
      }
      for (const how of ['fast', 'immediate', 'fast', 'immediate'] as const) {
        await untilWritten()
        await server.restart(how)
        await expect(other.open('s0', opener())).rejects.toMatchObject({ code: 'session_locked' })
      }
      await untilWritten()
      isOver = true
      const counts = await writing
      for (const [index, id] of ids.entries())
        expect(await numbersIn(other, id)).toEqual(upTo(counts[index] ?? -1))
      await store.close()
      await other.close()
    },
    5 * minutes,
  )
})

describe.skipIf(!hasPostgres())('FT-33: a database that cannot be written', () => {
  it(
    'is reported as read-only, and everything before is stored',
    async () => {
      const { url } = await privateServer()
      await migrate(url)
      const store = new PostgresSessionStore({ url })
      const log = await store.open('s', opener())
      await log.append([event(0)])
      await runSql(url, 'alter role capstan set default_transaction_read_only = on')
      await endConnections(url)
      await expect(log.append([event(1)])).rejects.toMatchObject({ code: 'store_unwritable' })
      await expect(log.append([event(2)])).rejects.toMatchObject({ code: 'store_unwritable' })
      await runSql(
        url,
        'set transaction_read_only = off; alter role capstan reset default_transaction_read_only',
      )
      await endConnections(url)
      await store.close()
      const next = new PostgresSessionStore({ url })
      const again = await openWhenFree(next, 's')
      expect(await numbersIn(next, 's')).toEqual([0])
      await again.append([event(1)])
      await next.close()
    },
    5 * minutes,
  )

  it.skipIf(!canMount())(
    'is reported as full, and continues when there is space again',
    async () => {
      const { url, directory } = await privateServer()
      const place = join(directory, 'small')
      mkdirSync(place)
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', place])
      onTestFinished(() => void execFileSync('umount', ['-l', place]))
      chownSync(place, 65534, 65534)
      await runSql(url, `create tablespace small location '${place}'`)
      await migrate(`${url}&options=${encodeURIComponent('-c default_tablespace=small')}`)
      const store = new PostgresSessionStore({ url })
      const log = await store.open('s', opener())
      let done = 0
      const failure: unknown = await writeUntilFailure(log, (count) => {
        done = count
      })
      expect(failure).toMatchObject({ code: 'store_full' })
      expect(await numbersIn(store, 's')).toEqual(upTo(done))
      await log.close()
      execFileSync('mount', ['-o', 'remount,size=20m', place])
      const again = await store.open('s', opener())
      await again.append([event(done)])
      expect(await numbersIn(store, 's')).toEqual(upTo(done + 1))
      await store.close()
    },
    5 * minutes,
  )
})

describe.skipIf(!hasPostgres())('FT-34: a schema that is migrated while it is used', () => {
  it('disturbs no writer of the version before, and is refused by code that is too old', async () => {
    const { url, schema } = await postgresSchema()
    const store = new PostgresSessionStore({ url, schema })
    const logs = await Promise.all(['a', 'b', 'c'].map((id) => store.open(id, opener())))
    let isOver = false
    const writing = Promise.all(logs.map((log) => writeUntil(log, () => isOver)))
    const database = new Database({
      url,
      applicationName: 'test',
      share: schema,
      poolSize: 1,
      prepare: false,
      maxWaitMs: minutes,
    })
    const current = schemaSteps.length
    const additive = {
      oldestCode: current,
      sql: 'alter table heads add column note text; alter table records add column note text; create table later (id integer)',
    }
    expect(await migrateSchema(database, schema, [...schemaSteps, additive])).toBe(current + 1)
    await wait(100)
    isOver = true
    const counts = await writing
    for (const [index, id] of ['a', 'b', 'c'].entries())
      expect(await numbersIn(store, id)).toEqual(upTo(counts[index] ?? -1))
    await store.close()
    // A process of this version starts; migrating again changes nothing.
    const next = new PostgresSessionStore({ url, schema })
    await (await next.open('a', opener())).append([event(counts[0] ?? 0)])
    await next.close()
    expect((await migrate(url, { schema })).version).toBe(current + 1)
    const breaking = { oldestCode: current + 2, sql: 'drop table later' }
    await migrateSchema(database, schema, [...schemaSteps, additive, breaking])
    await database.close()
    const old = new PostgresSessionStore({ url, schema })
    await expect(old.list()).rejects.toMatchObject({ code: 'store_future_schema' })
    await old.close()
  })
})

async function openWhenFree(store: PostgresSessionStore, id: string): Promise<SessionLog> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await store.open(id, opener('the next'))
    } catch (thrown) {
      const isHeld = thrown instanceof Error && 'code' in thrown && thrown.code === 'session_locked'
      if (!isHeld || attempt > 600) throw thrown
      await wait(200)
    }
  }
}

async function writeUntilFailure(log: SessionLog, acknowledged: (count: number) => void): Promise<unknown> {
  for (let count = 0; ; count++) {
    try {
      // Random, so that it cannot be compressed.
      await log.append([event(count, randomBytes(20_000).toString('hex'))])
      acknowledged(count + 1)
    } catch (thrown) {
      return thrown
    }
  }
}

async function endConnections(url: string): Promise<void> {
  await runSql(
    url,
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'capstan'`,
  )
}

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt'], {
      stdio: 'ignore',
    })
    return process.getuid?.() === 0
  } catch {
    return false
  }
}
