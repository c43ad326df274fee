import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasPostgres, postgresSchema, runSql } from '../../../test/support/postgres.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { checkSessionStore } from '../../testing/session-store-kit.js'
import { exportSession } from '../export-session.js'
import { importSession } from '../import-session.js'
import { MemorySessionStore } from '../memory-store.js'
import type { SessionRecord, SessionRow } from '../records.js'
import type { SessionInfo, SessionStore } from '../session-store.js'
import { SqliteSessionStore } from '../sqlite/sqlite-store.js'
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
    // About 3,000 round trips, which take long on a busy machine.
  }, 600_000)

  it('lists a part of the sessions, page by page, with filters', async () => {
    const { url, schema } = await postgresSchema()
    const store = new PostgresSessionStore({ url, schema })
    for (let at = 0; at < 7; at++)
      await store.create(
        `s${at}`,
        [
          session(`s${at}`, {
            // Two have the same time: then the id decides.
            updatedAtMs: Math.floor(at / 2),
            labels: { tenantId: at % 2 === 0 ? 'even' : 'odd\0\\' },
            workspaceRoot: at < 3 ? '/a' : '/b',
            ...(at === 6 && { parentId: 's0' }),
          }),
        ],
        opener,
      )
    const idsOf = (infos: readonly SessionInfo[]): string[] => infos.map(({ id }) => id)
    const all = await store.list()
    expect(idsOf(all)).toEqual(['s6', 's4', 's5', 's2', 's3', 's0', 's1'])
    const pages: string[][] = []
    for (let after: SessionInfo | undefined; ; ) {
      const page = await store.list({ limit: 3, after })
      pages.push(idsOf(page))
      after = page.at(-1)
      if (after === undefined) break
    }
    expect(pages).toEqual([['s6', 's4', 's5'], ['s2', 's3', 's0'], ['s1'], []])
    expect(idsOf(await store.list({ tenantId: 'odd\0\\' }))).toEqual(['s5', 's3', 's1'])
    expect(idsOf(await store.list({ workspaceRoot: '/a', tenantId: 'even' }))).toEqual(['s2', 's0'])
    expect(idsOf(await store.list({ parentId: 's0' }))).toEqual(['s6'])
    expect(all[0]).toEqual({
      id: 's6',
      updatedAtMs: 3,
      labels: { tenantId: 'even' },
      workspaceRoot: '/b',
      parentId: 's0',
    })
    await store.close()
  })

  it('reports damage, returns what is before it, and accepts no more', async () => {
    const { url, schema } = await postgresSchema()
    const store = new PostgresSessionStore({ url, schema })
    for (const id of ['changed', 'lost']) {
      const log = await store.open(id, opener)
      await log.append([session(id)])
      for (let sequence = 0; sequence < 3; sequence++) await log.append([event(sequence), event(sequence)])
      await log.close()
    }
    const ofSession = `sid = (select sid from ${schema}.sessions where id = $1)`
    await runSql(
      url,
      `update ${schema}.records set data = replace(data, 'note', 'nope') where seq = 5 and ${ofSession}`,
      ['changed'],
    )
    await runSql(url, `delete from ${schema}.records where seq = 5 and ${ofSession}`, ['lost'])
    for (const id of ['changed', 'lost']) {
      const { records, damage } = (await store.read(id)) ?? {}
      expect(records).toEqual([session(id), event(0), event(0)])
      expect(damage).toContain('only the first 3')
      await expect(store.rewrite(id, () => [])).rejects.toMatchObject({ code: 'store_damaged' })
    }
    await expect(store.open('lost', opener)).rejects.toMatchObject({ code: 'store_damaged' })
    await store.close()
  })

  it('copies a session from another store and back unchanged', async () => {
    const { url, schema } = await postgresSchema()
    const [postgres, first, last] = [
      new PostgresSessionStore({ url, schema }),
      new MemorySessionStore(),
      new SqliteSessionStore(join(temporaryDirectory(), 'sessions.db')),
    ]
    const log = await first.open('s', opener)
    const digest = await log.writeBlob(Buffer.from('a large content'))
    const stub = { type: 'text', text: 'a' } as const
    const part: SessionRecord = {
      type: 'part',
      data: {
        id: 'p',
        messageId: 'm',
        sessionId: 's',
        index: 0,
        content: { type: 'blob', digest, bytes: 15, stub },
      },
    }
    await log.append([
      session('s', { title: 'a \0 title' }),
      { type: 'message', data: { id: 'm', sessionId: 's', role: 'user', createdAtMs: 1 } },
      part,
      event(1),
    ])
    await log.close()
    const options = { trusted: true, now: () => 1 }
    await importSession(postgres, exportSession(first, 's'), options)
    await importSession(last, exportSession(postgres, 's'), options)
    expect(await linesOf(postgres)).toEqual(await linesOf(first))
    expect(await linesOf(last)).toEqual(await linesOf(first))
    await postgres.close()
    await last.close()
  })

  it('reports a missing schema, a role without rights and a wrong address with a clear message', async () => {
    const { url, schema } = await postgresSchema()
    const missing = new PostgresSessionStore({ url, schema: 'nothing_here' })
    await expect(missing.list()).rejects.toThrow(/run 'capstan migrate'/)
    await missing.close()
    const role = `store_user_${schema}`
    await runSql(url, `create role ${role} login; grant usage on schema ${schema} to ${role}`)
    const poor = new PostgresSessionStore({ url: url.replace('//capstan@', `//${role}@`), schema })
    await expect(poor.list()).rejects.toMatchObject({ code: 'store_unwritable' })
    await poor.close()
    await runSql(url, `drop owned by ${role}; drop role ${role}`)
    const nowhere = new PostgresSessionStore({
      url: 'postgres://me:secret@127.0.0.1:1/none',
      maxWaitMs: 50,
    })
    const error: unknown = await nowhere.list().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'store_failed' })
    expect(String(error)).toContain('127.0.0.1:1/none')
    expect(String(error)).not.toContain('secret')
    await nowhere.close()
  })
})

const opener = { holder: 'the test', now: () => 1 }

function session(id: string, fields: Partial<SessionRow> = {}): SessionRecord {
  return { type: 'session', data: { id, schemaVersion: 1, updatedAtMs: 1, ...fields } }
}

function event(sequence: number): SessionRecord {
  return { type: 'run_event', data: { runId: 'r', sequence, timestampMs: 1, event: { type: 'note' } } }
}

async function linesOf(store: SessionStore): Promise<string[]> {
  const lines: string[] = []
  for await (const line of exportSession(store, 's')) lines.push(line)
  return lines
}
