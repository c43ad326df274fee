import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/property-runs.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { SessionLockedError } from '../errors.js'
import { MemorySessionStore } from '../memory-store.js'
import type { SessionRecord } from '../records.js'
import type { Durability } from '../session-store.js'
import { openDatabase } from './driver.js'
import { SqliteSessionStore } from './sqlite-store.js'

let directory: string
let file: string
let store: SqliteSessionStore
const opened: SqliteSessionStore[] = []

beforeEach(() => {
  directory = temporaryDirectory()
  file = join(directory, 'sessions.db')
  store = storeOn(file)
})

afterEach(async () => {
  // Some tests remove the file on purpose; what is left of it does not matter.
  await Promise.allSettled(opened.splice(0).map((one) => one.close()))
})

function storeOn(path: string): SqliteSessionStore {
  const made = new SqliteSessionStore(path)
  opened.push(made)
  return made
}

describe('SqliteSessionStore', () => {
  it('returns records exactly and in order, including earlier versions of rows', async () => {
    const records = [
      session({ title: 'one', createdAtMs: 1, hiddenFrom: 'm1' }),
      message('m1'),
      part('p1', 'm1', 'hello \u0000 \ud800 "quoted"'),
      run('running'),
      message('m1', 7),
      part('p1', 'm1', 'hello again'),
      event(1),
      checkpoint(1),
      run('completed'),
      event(1),
      session({ hiddenFrom: null }),
    ]
    const log = await open('s')
    await log.append(records.slice(0, 4))
    await Promise.all([log.append(records.slice(4, 5)), log.append(records.slice(5))])
    expect(store.readSync('s')).toEqual({ records })
    expect(await storeOn(file).read('s')).toEqual({ records })
  })

  it('agrees with the memory store on any sequence of batches', async () => {
    const record = fc.oneof(
      fc.record({ title: fc.string(), updatedAtMs: fc.nat() }).map(session),
      fc.tuple(fc.constantFrom('a', 'b'), fc.nat()).map(([id, at]) => message(id, at)),
      fc.tuple(fc.constantFrom('a', 'b'), fc.string()).map(([id, text]) => part(id, 'a', text)),
      fc.constantFrom('running' as const, 'failed' as const).map(run),
      fc.nat(3).map(event),
      fc.nat(3).map(checkpoint),
    )
    const batches = fc.array(fc.tuple(fc.constantFrom('x', 'y'), fc.array(record, { maxLength: 5 })))
    let round = 0
    await fc.assert(
      fc.asyncProperty(batches, async (all) => {
        const other = new MemorySessionStore()
        const here = storeOn(join(directory, `${round++}.db`))
        for (const [id, records] of all) {
          for (const store of [other, here]) {
            const log = await store.open(id, { holder: 'test', durability: 'exit', now: () => 1 })
            await log.append(records)
            await log.close()
          }
        }
        for (const id of ['x', 'y']) expect(here.readSync(id)).toEqual(other.readSync(id))
        expect(await here.list()).toEqual(await other.list())
        await here.close()
      }),
      { numRuns: propertyRuns(25) },
    )
  })

  it('can be read with ordinary tools: plain tables with descriptive columns', async () => {
    const log = await open('s')
    await log.append([
      session({ title: 'a title', agent: 'coder', labels: { team: 'a' } }),
      message('m1'),
      part('p1', 'm1', 'hello'),
      run('completed'),
      event(1),
      checkpoint(2),
    ])
    await store.close()
    const database = openDatabase(file)
    const row = (sql: string): unknown => ({ ...database.prepare(sql).all()[0] })
    expect(row('SELECT id, agent, title, labels_json, updated_at FROM chat_sessions')).toEqual({
      id: 's',
      agent: 'coder',
      title: 'a title',
      labels_json: '{"team":"a"}',
      updated_at: 5,
    })
    expect(row('SELECT role, created_at FROM chat_messages')).toEqual({ role: 'user', created_at: 2 })
    expect(row('SELECT message_id, "index", type, text FROM chat_parts')).toEqual({
      message_id: 'm1',
      index: 0,
      type: 'text',
      text: 'hello',
    })
    expect(row('SELECT status, prompt FROM runs')).toEqual({ status: 'completed', prompt: 'go' })
    expect(row('SELECT run_id, type FROM run_events')).toEqual({ run_id: 'r', type: 'note' })
    expect(row('SELECT round, message_id FROM checkpoints')).toEqual({ round: 2, message_id: 'm1' })
    expect(row('PRAGMA journal_mode')).toEqual({ journal_mode: 'wal' })
    database.close()
  })

  it('creates nothing before a session is opened, and then files that only the user can read', async () => {
    const nested = storeOn(join(directory, 'a/b/sessions.db'))
    expect(await nested.list()).toEqual([])
    expect(nested.readSync('s')).toBeUndefined()
    expect(await nested.delete('s')).toBe(false)
    expect(await nested.readBlob('s', '00')).toBeUndefined()
    expect(readdirSync(directory)).toEqual([])
    const log = await nested.open('s', { holder: 'test', now: () => 1 })
    await log.append([session({})])
    const made = readdirSync(join(directory, 'a/b'))
    expect(made).toContain('sessions.db')
    for (const name of made) expect(statSync(join(directory, 'a/b', name)).mode & 0o077).toBe(0)
  })

  it('lists newest first', async () => {
    for (const [id, at] of [
      ['old', 5],
      ['new', 9],
      ['mid', 7],
    ] as const) {
      const log = await open(id)
      await log.append([session({ id, title: id, createdAtMs: 1, updatedAtMs: at })])
      await log.close()
    }
    expect(await store.list()).toEqual(
      [
        ['new', 9],
        ['mid', 7],
        ['old', 5],
      ].map(([id, at]) => ({
        id,
        title: id,
        createdAtMs: 1,
        updatedAtMs: at,
      })),
    )
  })

  it('has one holder of a session at a time, with a fencing number that grows, also after a deletion', async () => {
    const first = await open('s')
    await expect(storeOn(file).open('s', { holder: 'other', now: () => 1 })).rejects.toThrow(
      SessionLockedError,
    )
    await expect(store.delete('s')).rejects.toThrow("Session 's' is held by test")
    await first.close()
    const second = await open('s')
    await second.close()
    expect(await store.delete('s')).toBe(true)
    const third = await open('s')
    expect(first.lease.fence).toBeLessThan(second.lease.fence)
    expect(second.lease.fence).toBeLessThan(third.lease.fence)
  })

  it('takes over from a process that ended, and from a silent one it cannot look up; then rejects the earlier holder', async () => {
    const gone = Number(execFileSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }))
    const takeOvers = [
      { to: `json_set(process_json, '$.pid', ${gone})`, age: 0, free: true },
      { to: `json_set(process_json, '$.started', '1')`, age: 0, free: true },
      { to: `json_set(process_json, '$.host', 'ffffffff')`, age: 3, free: false },
      { to: `json_set(process_json, '$.host', 'ffffffff')`, age: 300, free: true },
      { to: `json_set(process_json, '$.namespace', '1')`, age: 3, free: false },
      { to: 'process_json', age: 300, free: process.platform !== 'linux' },
    ]
    for (const { to, age, free } of takeOvers) {
      const earlier = await open('s')
      await earlier.append([message('before')])
      change(`UPDATE leases SET process_json = ${to}, renewed_at = renewed_at - ${age}`)
      const other = storeOn(file)
      const attempt = other.open('s', { holder: 'other', now: () => 1 })
      if (free) {
        const later = await attempt
        await expect(earlier.append([message('late')])).rejects.toMatchObject({ code: 'store_lost_lease' })
        await expect(earlier.writeBlob(new Uint8Array(1))).rejects.toMatchObject({ code: 'store_lost_lease' })
        await later.append([message('after')])
        // Must not end the lease of the later holder.
        await earlier.close()
        await later.append([message('after')])
        await later.close()
      } else await expect(attempt).rejects.toThrow(SessionLockedError)
      await other.close()
      if (!free) await earlier.close()
    }
    const ids = store.readSync('s')?.records.map(({ data }) => ('id' in data ? data.id : ''))
    expect(ids).not.toContain('late')
  })

  it('stores a blob once, by its digest, and checks it when it is read', async () => {
    const bytes = new TextEncoder().encode('large content')
    const log = await open('s')
    const digest = await log.writeBlob(bytes)
    expect(await log.writeBlob(bytes)).toBe(digest)
    const changing = new Uint8Array([1, 2, 3])
    const writing = log.writeBlob(changing)
    changing.fill(9)
    expect(store.readBlobSync('s', await writing)).toEqual(new Uint8Array([1, 2, 3]))
    expect(store.readBlobSync('s', digest)).toEqual(bytes)
    expect(await store.readBlob('other', digest)).toBeUndefined()
    change(`UPDATE blobs SET bytes = x'00'`)
    await expect(store.readBlob('s', digest)).rejects.toMatchObject({ code: 'store_damaged' })
  })

  it('deletes everything of a session and nothing of others', async () => {
    for (const id of ['s', "'; DROP TABLE runs; --"]) {
      const log = await open(id)
      await log.append([
        session({ id }),
        message('m'),
        message('m'),
        part('p', 'm', 'x'),
        run('failed'),
        event(1),
      ])
      await log.writeBlob(new Uint8Array(9))
      await log.close()
    }
    expect(await store.delete('s')).toBe(true)
    expect(await store.delete('s')).toBe(false)
    expect(store.readSync('s')).toBeUndefined()
    expect(store.readSync("'; DROP TABLE runs; --")?.records).toHaveLength(6)
    const database = openDatabase(file)
    for (const table of [
      'chat_messages',
      'chat_parts',
      'runs',
      'run_events',
      'record_history',
      'blobs',
      'leases',
    ])
      expect(database.prepare(`SELECT 1 FROM ${table} WHERE session_id = 's'`).all(), table).toEqual([])
    database.close()
  })

  it('rejects ids that could not be distinguished from others', async () => {
    for (const id of ['', 'a\ud800'])
      await expect(store.open(id, { holder: 'test', now: () => 1 })).rejects.toMatchObject({
        code: 'store_bad_id',
      })
    for (const id of ['../../x', 'a\u0000b', 'a\u0000c', 'a/b', 'ö'.repeat(5000)]) {
      const log = await open(id)
      await log.append([session({ id })])
      expect(store.readSync(id)?.records).toEqual([session({ id })])
    }
  })

  it('commits the appends of many sessions in one turn together, and isolates the failure of one', async () => {
    const logs = await Promise.all(['a', 'b', 'c'].map((id) => open(id)))
    change(`DELETE FROM leases WHERE session_id = 'b'`)
    const outcomes = await Promise.allSettled(
      logs.flatMap((log) => [log.append([message('1')]), log.append([message('2')])]),
    )
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(store.readSync('a')?.records).toEqual([message('1'), message('2')])
    expect(store.readSync('c')?.records).toEqual([message('1'), message('2')])
  })

  it('stores a batch completely or not at all: one record that cannot be written rejects the others', async () => {
    const log = await open('s')
    await log.append([message('m1')])
    const cyclic: { self?: unknown } = {}
    cyclic.self = cyclic
    const broken = {
      type: 'message',
      data: { ...message('m2').data, metadata: cyclic },
    } as unknown as SessionRecord
    await expect(log.append([message('m3'), broken])).rejects.toThrow('circular')
    await log.append([message('m4')])
    expect(store.readSync('s')?.records).toEqual([message('m1'), message('m4')])
  })

  it('accepts no more after a write failed, until the session is opened again', async () => {
    const log = await open('s')
    await log.append([message('m1')])
    change(`CREATE TRIGGER refuse BEFORE INSERT ON chat_parts BEGIN SELECT raise(ABORT, 'no'); END`)
    const failing = log.append([message('m2'), part('p', 'm2', 'x')])
    const next = log.append([message('m2')])
    await expect(failing).rejects.toMatchObject({ code: 'store_failed' })
    await expect(next).rejects.toThrow('accepts no more records since a write failed')
    change('DROP TRIGGER refuse')
    await expect(log.append([message('m3')])).rejects.toThrow('accepts no more records since a write failed')
    await log.close()
    await (await open('s')).append([message('m4')])
    expect(store.readSync('s')?.records).toEqual([message('m1'), message('m4')])
  })

  it.each(['sync', 'async', 'exit'] satisfies Durability[])(
    'flushes and closes with durability %s',
    async (durability) => {
      const log = await open('s', durability)
      await log.append([message('m1')])
      await log.flush()
      await log.append([message('m2')])
      await log.close()
      await log.close()
      await expect(log.append([message('m3')])).rejects.toMatchObject({ code: 'store_closed' })
      await expect(log.flush()).rejects.toMatchObject({ code: 'store_closed' })
      expect(store.readSync('s')?.records).toHaveLength(2)
    },
  )

  it('rejects future schemas and databases of other programs with their own codes', async () => {
    await (await open('s')).append([session({ schemaVersion: 99 })])
    await store.close()
    const reopened = storeOn(file)
    await expect(reopened.read('s')).rejects.toMatchObject({ code: 'store_future_schema' })
    change(`UPDATE leases SET holder = NULL`)
    await expect(reopened.open('s', { holder: 'test', now: () => 1 })).rejects.toMatchObject({
      code: 'store_future_schema',
    })
    await reopened.close()
    change('PRAGMA user_version = 1000')
    await expect(storeOn(file).list()).rejects.toMatchObject({
      code: 'store_future_schema',
      message: expect.stringContaining('1000'),
    })
    change('PRAGMA application_id = 5')
    await expect(storeOn(file).list()).rejects.toThrow('database of another program')
  })

  it('reports why a path cannot be a database', async () => {
    writeFileSync(join(directory, 'text'), 'x')
    mkdirSync(join(directory, 'folder'))
    const places = [
      [join(directory, 'text/sessions.db'), 'store_unwritable'],
      [join(directory, 'folder'), 'store_unwritable'],
      ['/proc/none/sessions.db', 'store_unwritable'],
    ] as const
    for (const [path, code] of places)
      await expect(storeOn(path).open('s', { holder: 'test', now: () => 1 })).rejects.toMatchObject({ code })
  })

  it('follows a link to the file', async () => {
    await (await open('s')).append([message('m1')])
    const link = join(directory, 'link.db')
    symlinkSync(file, link)
    await (await storeOn(link).open('t', { holder: 'test', now: () => 1 })).append([message('m1')])
    expect(readdirSync(directory).filter((name) => name.startsWith('link'))).toEqual(['link.db'])
    expect((await store.list()).map(({ id }) => id)).toEqual(['s', 't'])
  })

  it('rejects work after it was closed', async () => {
    await open('s')
    await store.close()
    await store.close()
    await expect(store.list()).rejects.toMatchObject({ code: 'store_closed' })
    await expect(store.open('s', { holder: 'test', now: () => 1 })).rejects.toMatchObject({
      code: 'store_closed',
    })
    await (await storeOn(file).open('s', { holder: 'test', now: () => 1 })).close()
  })
})

function open(id: string, durability: Durability = 'sync'): ReturnType<SqliteSessionStore['open']> {
  return store.open(id, { holder: 'test', durability, now: () => 1 })
}

/** Changes the file like another program, through SQLite. */
function change(sql: string): void {
  const database = openDatabase(file)
  database.exec('PRAGMA busy_timeout = 5000')
  database.exec(sql)
  database.close()
}

function session(data: Partial<Extract<SessionRecord, { type: 'session' }>['data']>): SessionRecord {
  return { type: 'session', data: { id: 's', schemaVersion: 1, updatedAtMs: 5, ...data } }
}

function message(id: string, createdAtMs = 2): SessionRecord & { type: 'message' } {
  return { type: 'message', data: { id, sessionId: 's', role: 'user', createdAtMs } }
}

function part(id: string, messageId: string, text: string): SessionRecord {
  return { type: 'part', data: { id, messageId, sessionId: 's', index: 0, content: { type: 'text', text } } }
}

function run(status: 'running' | 'completed' | 'failed'): SessionRecord {
  return {
    type: 'run',
    data: { id: 'r', sessionId: 's', status, prompt: 'go', createdAtMs: 1, updatedAtMs: 3 },
  }
}

function event(sequence: number): SessionRecord {
  return { type: 'run_event', data: { runId: 'r', sequence, timestampMs: 4, event: { type: 'note' } } }
}

function checkpoint(round: number): SessionRecord {
  const data = { runId: 'r', sessionId: 's', round, messageId: 'm1', toolCallsCount: 0, usage: {}, atMs: 4 }
  return { type: 'checkpoint', data }
}
