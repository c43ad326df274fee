import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { rolldown } from 'rolldown'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { sharedDirectory, temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { checkSessionStore } from '../../testing/session-store-kit.js'
import type { SessionRecord } from '../records.js'
import type { StoredSession } from '../session-store.js'
import { openDatabase } from './driver.js'
import { SqliteSessionStore } from './sqlite-store.js'

const base = sharedDirectory()
const bundle = join(base, 'store.mjs')
let count = 0
let file: string

beforeAll(async () => {
  const built = await rolldown({
    input: resolve(import.meta.dirname, 'sqlite-store.ts'),
    platform: 'node',
    logLevel: 'silent',
  })
  await built.write({ file: bundle, format: 'esm' })
  await built.close()
  symlinkSync(resolve(import.meta.dirname, '../../../node_modules'), join(base, 'node_modules'))
})

beforeEach(() => {
  file = join(base, `${count++}.db`)
})

describe('the SQLite store', () => {
  it('implements the interface of stores', async () => {
    let made = 0
    const problems = await checkSessionStore(() => new SqliteSessionStore(join(base, `kit-${made++}.db`)), {
      again: (store) => new SqliteSessionStore(store instanceof SqliteSessionStore ? store.file : ''),
      loseLease: (store, id) => {
        const database = openDatabase(store instanceof SqliteSessionStore ? store.file : '')
        database.prepare(`UPDATE leases SET holder = NULL WHERE session_id = ?`).run(id)
        database.close()
      },
    })
    expect(problems).toEqual([])
  })
})

describe('FT-25: several processes', () => {
  it('are killed anywhere: acknowledged batches are there, and none incomplete', async () => {
    for (let kill = 0; kill < 5; kill++) {
      const child = start(`
        const log = await store.open('s', opener)
        for (let n = ${kill * 100_000}; ; n++) {
          await log.append([0, 1, 2].map((index) => part(n + '-' + index, 'x'.repeat(3000))))
          console.log(n)
        }`)
      const ended = once(child, 'exit')
      let acknowledged = -1
      let seen = 0
      for await (const line of linesOf(child)) {
        acknowledged = Number(line)
        if (++seen === 3 + 9 * kill) child.kill('SIGKILL')
      }
      await ended
      // Opening takes over at once from a process that ended.
      const ids = await inStore(async (store) => {
        const log = await store.open('s', { holder: 'next', now: () => 1 })
        await log.close()
        return store.readSync('s')?.records.map(({ data }) => ('id' in data ? data.id : '')) ?? []
      })
      expect(ids).toContain(`${acknowledged}-2`)
      expect(ids.length % 3).toBe(0)
      for (let at = 0; at < ids.length; at += 3) {
        const number = ids[at]?.split('-')[0]
        expect(ids.slice(at, at + 3)).toEqual([0, 1, 2].map((index) => `${number}-${index}`))
      }
    }
  })

  it('write eight sessions at once from the start, without any lock error', async () => {
    const children = Array.from({ length: 8 }, (_, at) =>
      start(`
        const log = await store.open('s${at}', opener)
        for (let n = 0; n < 25; n++) await log.append([part(String(n), 'text')])
        await store.close()
        console.log('done')`),
    )
    expect(await Promise.all(children.map(outputOf))).toEqual(children.map(() => 'done'))
    await inStore(async (store) => {
      for (const { id } of await store.list()) expect(store.readSync(id)?.records, id).toHaveLength(25)
      expect(await store.list()).toHaveLength(8)
    })
  })

  it('race for one session: exactly one writes it at any time, and each error names the holder', async () => {
    const children = Array.from({ length: 4 }, (_, at) =>
      start(`
        let refused = 0
        for (let won = 0; won < 5; ) {
          const log = await store.open('s', { ...opener, holder: 'racer ${at}' }).catch((error) => {
            if (error.code !== 'session_locked' || !/racer \\d/.test(error.message)) throw error
            refused++
          })
          if (log === undefined) { await new Promise((done) => setTimeout(done, 2)); continue }
          won++
          for (let n = 0; n < 3; n++) await log.append([part(log.lease.fence + '-' + n, 'x')])
          await log.close()
        }
        console.log('won')`),
    )
    expect(await Promise.all(children.map(outputOf))).toEqual(children.map(() => 'won'))
    const ids = await inStore(async (store) =>
      store.readSync('s')?.records.map(({ data }) => ('id' in data ? data.id : '')),
    )
    expect(ids).toHaveLength(60)
    const fences = [...new Set(ids?.map((id) => Number(id.split('-')[0])))]
    expect(fences).toEqual(fences.toSorted((a, b) => a - b))
    expect(ids).toEqual(fences.flatMap((fence) => [0, 1, 2].map((n) => `${fence}-${n}`)))
  })

  it.skipIf(process.getBuiltinModule('node:sqlite') !== undefined)(
    'load the store without its driver, and get an error with the missing package',
    () => {
      const lonely = temporaryDirectory()
      writeFileSync(join(lonely, 'store.mjs'), readFileSync(bundle))
      const script = `${prelude(join(lonely, 'store.mjs'), join(lonely, 'x.db'))}
          await store.open('s', opener).catch(({ code, message }) => console.log(code, message))`
      const said = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
      })
      expect(said).toMatch(/^store_failed .*npm install libsql/)
    },
  )
})

describe('FT-25: damage', () => {
  it('shows where a record was changed, lost or moved, and what is before it can be read', async () => {
    const changes = [
      `UPDATE chat_parts SET data_json = replace(data_json, 'text 50', 'text 51') WHERE id = '50'`,
      `DELETE FROM chat_parts WHERE id = '50'`,
      `DELETE FROM chat_parts WHERE id = '51'`,
      `UPDATE chat_parts SET seq = 1000 WHERE id = '50'`,
      `UPDATE chat_parts SET seq = CASE id WHEN '50' THEN 52 ELSE 51 END WHERE id IN ('50', '51')`,
    ]
    for (const change of changes) {
      file = join(base, `${count++}.db`)
      await fill()
      outside(change)
      const stored = await inStore(async (store) => store.readSync('s'))
      // Batches have two records, so one that lost its second record is left out.
      expect(stored?.records).toEqual(firstParts(50))
      expect(stored?.damage).toContain('of its 100 records only the first 50')
    }
  })

  it('accepts no more records after a gap', async () => {
    await fill()
    outside(`DELETE FROM chat_parts WHERE id = '50'`)
    await inStore(async (store) => {
      await expect(store.open('s', { holder: 'test', now: () => 1 })).rejects.toMatchObject({
        code: 'store_damaged',
      })
    })
  })

  it('of any page is an error with a code or a shorter log, never a wrong one', async () => {
    await fill()
    const whole = readFileSync(file)
    const outcomes = new Set<string>()
    for (let page = 0; page * 4096 < whole.length; page++) {
      const bytes = Buffer.from(whole)
      bytes.fill(page % 2 === 0 ? 0xff : 0, page * 4096, (page + 1) * 4096)
      file = join(base, `${count++}.db`)
      writeFileSync(file, bytes)
      const outcome = await inStore(async (store) => store.readSync('s')).catch((error) => error)
      outcomes.add('code' in outcome ? outcome.code : outcome.damage === undefined ? 'whole' : 'shorter')
      if ('code' in outcome) continue
      expect(outcome.records).toEqual(firstParts(outcome.records.length))
      if (outcome.damage === undefined) expect(outcome.records).toHaveLength(100)
    }
    expect([...outcomes].toSorted()).toEqual(['shorter', 'store_damaged', 'whole'])
  })

  it('of the length is reported too, and a file that is not a database', async () => {
    await fill()
    const whole = readFileSync(file)
    truncateSync(file, Math.floor(whole.length / 2 / 4096) * 4096)
    expect(await readOutcome()).toSatisfy(
      (outcome: Awaited<ReturnType<typeof readOutcome>>) =>
        ('code' in outcome && outcome.code === 'store_damaged') ||
        ('records' in outcome && outcome.damage !== undefined),
    )
    writeFileSync(file, 'not a database at all; '.repeat(400))
    expect(await readOutcome()).toMatchObject({ code: 'store_damaged' })
  })

  it('a lost write-ahead log leaves complete batches', async () => {
    const child = start(`
      const log = await store.open('s', opener)
      for (let n = 0; n < 30; n++) await log.append([part(2 * n, 'text'), part(2 * n + 1, 'text')])
      console.log('done')
      setInterval(() => {}, 1000)`)
    const ended = once(child, 'exit')
    for await (const line of linesOf(child)) if (line === 'done') child.kill('SIGKILL')
    await ended
    rmSync(`${file}-wal`)
    const outcome = await readOutcome()
    if ('records' in outcome) expect(outcome.records.length % 2).toBe(0)
    else expect(['store_damaged', 'none']).toContain(outcome.code)
  })

  it('files that are removed under an open store fail the next append', async () => {
    for (const suffix of ['-wal', '']) {
      file = join(base, `${count++}.db`)
      const store = new SqliteSessionStore(file)
      const log = await store.open('s', { holder: 'test', now: () => 1 })
      await log.append([parts[0], parts[1]].flatMap((record) => record ?? []))
      rmSync(`${file}${suffix}`)
      await expect(log.append(parts.slice(2, 4))).rejects.toMatchObject({ code: 'store_failed' })
      await expect(log.append(parts.slice(4, 6))).rejects.toThrow('removed or replaced while it was in use')
      await store.close().catch((error: unknown) => expect(error).toMatchObject({ code: 'store_failed' }))
    }
  })

  // The small one is filled by the write-ahead log; the others while that is written to the database.
  it.skipIf(!canMount()).each(['2m', '6m', '9m'])(
    'a full disk of %s is reported, with everything that was acknowledged and nothing else',
    (size) => {
      const script = `${prelude(bundle, '/mnt/s.db')}
      const log = await store.open('s', opener)
      let n = 0
      const error = await (async () => { for (;; n++) await log.append([part(n + 'a', 'x'.repeat(20000)), part(n + 'b', 'x')]) })()
        .catch((thrown) => thrown)
      const left = store.readSync('s')
      console.log(JSON.stringify({ code: error.code, whole: left.records.length === 2 * n, damage: left.damage, some: n > 3 }))`
      const said = execFileSync(
        'unshare',
        [
          ...['-rm', 'sh', '-c', `mount -t tmpfs -o size=${size} none /mnt && exec "$0" "$@"`],
          ...[process.execPath, '--input-type=module', '-e', script],
        ],
        { encoding: 'utf8' },
      )
      expect(JSON.parse(said)).toEqual({ code: 'store_full', whole: true, some: true })
    },
  )
})

function canMount(): boolean {
  try {
    execFileSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const parts: readonly SessionRecord[] = Array.from({ length: 100 }, (_, at) => ({
  type: 'part',
  data: {
    ...{ id: String(at), messageId: 'm', sessionId: 's', index: 0 },
    content: { type: 'text', text: `text ${at} ${'lorem ipsum '.repeat(60)}` },
  },
}))

function firstParts(length: number): readonly SessionRecord[] {
  return parts.slice(0, length)
}

/** A hundred records in batches of two, in a file without a separate log: a copy of one that a process has written. */
async function fill(): Promise<void> {
  filled ??= write(join(base, 'filled.db'))
  copyFileSync(await filled, file)
}

let filled: Promise<string> | undefined

async function write(path: string): Promise<string> {
  const script = `${prelude(bundle, path)}
    const log = await store.open('s', { ...opener, durability: 'exit' })
    const parts = ${JSON.stringify(parts)}
    for (let at = 0; at < 100; at += 2) await log.append(parts.slice(at, at + 2))
    await store.close()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  expect((await once(child, 'exit'))[0]).toBe(0)
  rmSync(`${path}-wal`, { force: true })
  rmSync(`${path}-shm`, { force: true })
  return path
}

/** Read by another process: opening the file directly in this one would release SQLite's locks. */
async function readOutcome(): Promise<StoredSession | { readonly code: string }> {
  const script = `${prelude(bundle, file)}
    try { console.log(JSON.stringify(store.readSync('s') ?? { code: 'none' })) }
    catch (error) { console.log(JSON.stringify({ code: error.code ?? String(error) })) }`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return JSON.parse(await outputOf(child))
}

async function inStore<Result>(work: (store: SqliteSessionStore) => Promise<Result>): Promise<Result> {
  const store = new SqliteSessionStore(file)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function outside(sql: string): void {
  const database = openDatabase(file)
  database.exec(sql)
  database.close()
}

function prelude(module: string, path: string): string {
  return `
    const { SqliteSessionStore } = await import(${JSON.stringify(module)})
    const store = new SqliteSessionStore(${JSON.stringify(path)})
    const opener = { holder: 'child', now: () => 1 }
    const part = (id, text) => ({
      type: 'part',
      data: { id: String(id), messageId: 'm', sessionId: 's', index: 0, content: { type: 'text', text } },
    })`
}

function start(script: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', `${prelude(bundle, file)}\n${script}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function linesOf(child: ChildProcess): AsyncIterable<string> {
  if (child.stdout === null) throw new Error('the output of the child is not piped')
  return createInterface({ input: child.stdout })
}

async function outputOf(child: ChildProcess): Promise<string> {
  let text = ''
  for await (const line of linesOf(child)) text += line
  return text
}
