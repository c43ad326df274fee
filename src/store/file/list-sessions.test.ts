import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { type SessionRecord, schemaVersion } from '../records.js'
import { type FileLayer, nodeFiles } from './file-layer.js'
import { FileSessionStore } from './file-session-store.js'

const opener = { holder: 'test', now: () => 1 } as const
const row = (id: string, title: string): SessionRecord => ({
  type: 'session',
  data: { id, schemaVersion, updatedAtMs: 1, title },
})

describe('a list of many sessions', () => {
  const sharedPlace = sharedDirectory()
  const directory = join(sharedPlace, 'sessions')
  const saved = join(directory, '.list.json')
  const count = 120

  it('is saved, so that another process reads only the logs that changed', async () => {
    const store = new FileSessionStore(directory)
    for (let n = 0; n < count; n++) await store.create(`s${n}`, [row(`s${n}`, `title ${n}`)])
    const first = await store.list()
    expect(first).toHaveLength(count)

    const other = countingStore(directory)
    expect(await other.store.list()).toEqual(first)
    expect(other.reads()).toBe(0)

    const log = await store.open('s7', { ...opener, durability: 'exit' })
    await log.append([row('s7', 'changed')])
    await log.close()
    const third = countingStore(directory)
    expect((await third.store.list()).find(({ id }) => id === 's7')?.title).toBe('changed')
    expect(third.reads()).toBe(1)
  })

  it('contains nothing of a deleted or rewritten session', async () => {
    const store = new FileSessionStore(directory)
    await store.list()
    expect(readFileSync(saved, 'utf8')).toContain('title 8')
    await store.delete('s8')
    expect(() => readFileSync(saved)).toThrow('ENOENT')
    expect(await store.list()).toHaveLength(count - 1)
    expect(readFileSync(saved, 'utf8')).not.toContain('title 8"')

    await store.rewrite('s9', () => [row('s9', 'other')], opener)
    expect(() => readFileSync(saved)).toThrow('ENOENT')
  })

  it('drops what another process saved about deleted sessions', async () => {
    const store = new FileSessionStore(directory)
    await store.list()
    const text = readFileSync(saved, 'utf8')
    await store.delete('s10')
    // A process that was listing meanwhile.
    writeFileSync(saved, text)
    expect(await new FileSessionStore(directory).list()).toHaveLength(count - 2)
    expect(readFileSync(saved, 'utf8')).not.toContain('title 10"')
  })

  it('drops what another process saved about a session that was rewritten in the meantime', async () => {
    const store = new FileSessionStore(directory)
    await store.list()
    const text = readFileSync(saved, 'utf8')
    expect(text).toContain('title 11"')
    await store.rewrite('s11', () => [row('s11', 'other')], opener)
    writeFileSync(saved, text)
    await new FileSessionStore(directory).list()
    expect(readFileSync(saved, 'utf8')).not.toContain('title 11"')
  })

  it('is still returned when the saved one cannot be removed', async () => {
    const place = join(sharedPlace, 'few')
    const store = new FileSessionStore(place)
    await store.create('here', [row('here', 'here')])
    const gone = { name: 'gone', size: 1, mtimeMs: 1, identity: '1:1', info: { id: 'gone' } }
    writeFileSync(join(place, '.list.json'), JSON.stringify({ version: 1, sessions: [gone] }))
    const fail = (): never => {
      throw Object.assign(new Error('the disk is read-only'), { code: 'EROFS' })
    }
    const files = { ...nodeFiles, unlink: fail, removeTree: fail }
    expect(await new FileSessionStore(place, { files }).list()).toMatchObject([{ id: 'here' }])
  })

  it('does not depend on the saved list', async () => {
    const expected = await new FileSessionStore(directory).list()
    for (const text of ['', '{', '{"version":1,"sessions":[{"name":"s1"},null]}', '{"version":2}']) {
      writeFileSync(saved, text)
      expect(await new FileSessionStore(directory).list()).toEqual(expected)
    }
  })
})

/** A store in a process of its own, as far as the list is concerned, that counts the logs it reads. */
function countingStore(directory: string): { readonly store: FileSessionStore; reads(): number } {
  let reads = 0
  const files: FileLayer = {
    ...nodeFiles,
    readLater(...args) {
      reads++
      return nodeFiles.readLater(...args)
    },
  }
  return { store: new FileSessionStore(directory, { files }), reads: () => reads }
}
