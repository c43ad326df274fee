import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { messageOf } from '../../tool/errors.js'
import { StoreError, storeErrorCodes } from '../errors.js'
import type { SessionRecord } from '../records.js'
import type { SessionLog } from '../session-store.js'
import { type FileLayer, nodeFiles } from './file-layer.js'
import { FileSessionStore } from './file-session-store.js'

const top = sharedDirectory()
let made = 0

const opener = { holder: 'test', now: () => 1 } as const
const part = (id: number): SessionRecord => ({
  type: 'part',
  data: { id: `p${id}`, messageId: 'm', sessionId: 's', index: id, content: { type: 'text', text: `${id}` } },
})
const systemError = (code: string): Error => Object.assign(new Error(`${code}: made up`), { code })

/** A disk on which the n-th operation that can fail does. Also counts open files. */
function failingAt(n: number, code: string, kind: 'fails' | 'is cut short' = 'fails') {
  let count = 0
  const open = new Set<number>()
  const state = { struck: undefined as string | undefined, open }
  const strikes = (name: string): boolean => {
    if (count++ !== n) return false
    state.struck = name
    return true
  }
  const fallible =
    <Args extends unknown[], Result>(name: string, work: (...args: Args) => Result) =>
    (...args: Args): Result => {
      if (strikes(name)) throw systemError(code)
      return work(...args)
    }
  const files: FileLayer = {
    ...nodeFiles,
    open: fallible('open', (path: string, flags: number) => {
      const fd = nodeFiles.open(path, flags)
      open.add(fd)
      return fd
    }),
    close(fd) {
      if (!open.delete(fd)) throw new Error(`file ${fd} is closed twice`)
      nodeFiles.close(fd)
    },
    read: fallible('read', nodeFiles.read),
    readLater: async (...args) => fallible('read', nodeFiles.readLater)(...args),
    write(fd, bytes, offset, length, position) {
      if (!strikes('write')) return nodeFiles.write(fd, bytes, offset, length, position)
      if (kind === 'fails' || length < 2) throw systemError(code)
      // The disk is full after the first half: the next write is the one that fails.
      count = n
      return nodeFiles.write(fd, bytes, offset, length >> 1, position)
    },
    truncate: fallible('truncate', nodeFiles.truncate),
    sync: async (fd) => fallible('sync', nodeFiles.sync)(fd),
    syncDirectory: async (path) => fallible('syncDirectory', nodeFiles.syncDirectory)(path),
    facts: fallible('facts', nodeFiles.facts),
    factsAt: fallible('factsAt', nodeFiles.factsAt),
    makeDirectory: fallible('makeDirectory', nodeFiles.makeDirectory),
    list: fallible('list', nodeFiles.list),
    link: fallible('link', nodeFiles.link),
    unlink: fallible('unlink', nodeFiles.unlink),
    rename: fallible('rename', nodeFiles.rename),
    removeTree: fallible('removeTree', nodeFiles.removeTree),
  }
  return { files, state }
}

/** Some work on a session; what was acknowledged, what was tried, and what went wrong. */
async function work(store: FileSessionStore) {
  const acknowledged: number[] = []
  const tried: number[] = []
  const errors: unknown[] = []
  const blobs: string[] = []
  const attempt = async (step: () => Promise<unknown>): Promise<void> => {
    await step().catch((error: unknown) => errors.push(error))
  }
  let log: SessionLog | undefined
  await attempt(async () => {
    log = await store.open('s', opener)
  })
  for (let id = 0; id < 3 && log !== undefined; id++) {
    const own = log
    await attempt(async () => {
      blobs.push(await own.writeBlob(new TextEncoder().encode(`blob ${id}`)))
    })
    await attempt(async () => {
      tried.push(id * 2, id * 2 + 1)
      await own.append([part(id * 2), part(id * 2 + 1)])
      acknowledged.push(id * 2, id * 2 + 1)
    })
  }
  const last = log
  if (last !== undefined) await attempt(() => last.close())
  return { acknowledged, tried, errors, blobs }
}

describe('a disk that fails once', () => {
  const cases = [
    ['EIO', 'fails'],
    ['ENOSPC', 'is cut short'],
    ['EACCES', 'fails'],
  ] as const
  it.each(cases)(
    'with %s (%s), at whatever step, loses nothing that was acknowledged',
    async (code, kind) => {
      const struck = new Set<string>()
      let steps = 0
      for (; ; steps++) {
        const directory = join(top, `${made++}`)
        const { files, state } = failingAt(steps, code, kind)
        const { acknowledged, tried, errors, blobs } = await work(new FileSessionStore(directory, { files }))
        if (state.struck === undefined) break
        struck.add(state.struck)
        const where = `step ${steps}, ${state.struck}`
        expect([...state.open], where).toEqual([])
        for (const error of errors) {
          expect(error, where).toBeInstanceOf(StoreError)
          expect(storeErrorCodes, messageOf(error)).toContain((error as StoreError).code)
        }
        const store = new FileSessionStore(directory)
        const ids = idsIn(store)
        expect(ids.slice(0, acknowledged.length), where).toEqual(acknowledged)
        expect(tried.slice(0, ids.length), where).toEqual(ids)
        for (const digest of blobs) expect(store.readBlobSync('s', digest), where).toBeDefined()
        const log = await store.open('s', opener)
        await log.append([part(99)])
        await log.close()
        expect(idsIn(store), where).toEqual([...ids, 99])
        expect(await store.delete('s'), where).toBe(true)
      }
      expect(steps).toBeGreaterThan(30)
      expect([...struck]).toEqual(expect.arrayContaining(['open', 'write', 'sync', 'link', 'rename', 'list']))
    },
  )

  it('ends the log at a failed sync: nothing later is acknowledged there', async () => {
    let failing = false
    const files: FileLayer = {
      ...nodeFiles,
      sync: async (fd) => (failing ? Promise.reject(systemError('EIO')) : nodeFiles.sync(fd)),
    }
    const store = new FileSessionStore(join(top, `${made++}`), { files })
    const log = await store.open('s', opener)
    await log.append([part(0)])
    failing = true
    await expect(log.append([part(1)])).rejects.toMatchObject({ code: 'store_failed' })
    failing = false
    await expect(log.append([part(2)])).rejects.toMatchObject({ code: 'store_failed' })
    await expect(log.flush()).rejects.toMatchObject({ code: 'store_failed' })
    await log.close()
    const background = await store.open('t', { ...opener, durability: 'exit' })
    await background.append([part(0)])
    failing = true
    await expect(background.close(), 'no caller got the error before').rejects.toMatchObject({
      code: 'store_failed',
    })
    failing = false
    await (await store.open('t', opener)).close()
  })

  it('shares one sync among concurrent waits', async () => {
    let syncs = 0
    const files: FileLayer = {
      ...nodeFiles,
      sync: (fd) => {
        syncs++
        return nodeFiles.sync(fd)
      },
    }
    const store = new FileSessionStore(join(top, `${made++}`), { files })
    const log = await store.open('s', opener)
    await Promise.all(Array.from({ length: 100 }, (_, id) => log.append([part(id)])))
    expect(syncs).toBeLessThan(5)
    expect(idsIn(store)).toHaveLength(100)
    await log.close()
  })
})

describe('a directory that another process changes', () => {
  it.each([
    ['removed', (path: string) => rmSync(path, { recursive: true })],
    ['moved away', (path: string) => renameSync(path, `${path}.moved`)],
    ['left without its log', (path: string) => rmSync(join(path, 'log.jsonl'))],
    [
      'given another log',
      (path: string) => {
        writeFileSync(join(path, 'other'), '')
        renameSync(join(path, 'other'), join(path, 'log.jsonl'))
      },
    ],
    ['left without its lease', (path: string) => rmSync(join(path, 'lease-1.json'))],
  ])('%s: the writer gets an error, and the session can be opened again', async (_how, change) => {
    const store = new FileSessionStore(join(top, `${made++}`))
    const log = await store.open('s', opener)
    await log.append([part(0)])
    change(join(store.directory, 's'))
    await expect(log.append([part(1)])).rejects.toMatchObject({ code: 'store_lost_lease' })
    await log.close()
    const next = await store.open('s', opener)
    await next.append([part(2)])
    await next.close()
    expect(idsIn(store).at(-1)).toBe(2)
  })

  it('that cannot be written is reported with its own code', async () => {
    for (const code of ['EACCES', 'EROFS', 'EPERM', 'ENOTDIR']) {
      const files: FileLayer = {
        ...nodeFiles,
        makeDirectory: () => {
          throw systemError(code)
        },
      }
      const store = new FileSessionStore(join(top, `${made++}`), { files })
      await expect(store.open('s', opener)).rejects.toMatchObject({ code: 'store_unwritable' })
      expect(await store.list()).toEqual([])
    }
    const directory = join(top, `${made++}`)
    const store = new FileSessionStore(directory)
    await (await store.open('s', opener)).close()
    chmodSync(join(directory, 's', 'log.jsonl'), 0)
    // Root can read it anyway.
    const stored = store.readSync('s')
    if (process.getuid?.() !== 0) expect(stored?.damage).toContain('EACCES')
    expect(existsSync(join(directory, 's', 'log.jsonl'))).toBe(true)
  })
})

function idsIn(store: FileSessionStore): number[] {
  const stored = store.readSync('s')
  return (stored?.records ?? []).flatMap((record) => (record.type === 'part' ? [record.data.index] : []))
}
