import { mkdirSync, readdirSync, readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyCharacter } from '../../../test/support/any-character.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { checkSessionStore } from '../../testing/session-store-kit.js'
import { type SessionRecord, schemaVersion } from '../records.js'
import { type FileLayer, nodeFiles } from './file-layer.js'
import { FileSessionStore } from './file-session-store.js'
import { directoryName, isLongName, sessionIdOf } from './session-directory.js'

const opener = { holder: 'test', now: () => 1 } as const
const session = (id: string, updatedAtMs = 1): SessionRecord => ({
  type: 'session',
  data: { id, schemaVersion, updatedAtMs },
})
const top = sharedDirectory()
let made = 0
const fresh = (): string => join(top, `store-${made++}`, 'sessions')

it('satisfies the interface of a session store', async () => {
  const problems = await checkSessionStore(() => new FileSessionStore(fresh()), {
    again: (store) => new FileSessionStore((store as FileSessionStore).directory),
    loseLease(store, id) {
      const directory = join((store as FileSessionStore).directory, id)
      for (const name of readdirSync(directory).filter((name) => name.startsWith('lease-')))
        writeFileSync(join(directory, name.replace('-1', '-2')), '{"released":true }')
      unlinkSync(join(directory, 'lease-1.json'))
    },
  })
  expect(problems).toEqual([])
})

describe('the directory of a store', () => {
  it('is easy to read: one directory per session, one JSON line per record', async () => {
    const store = new FileSessionStore(fresh())
    const log = await store.open('ses_1', opener)
    await log.append([session('ses_1'), session('ses_1', 2)])
    await log.append([session('ses_1', 3)])
    await log.close()
    expect(readdirSync(store.directory)).toEqual(['ses_1'])
    const lines = readFileSync(join(store.directory, 'ses_1', 'log.jsonl'), 'utf8').split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { more: 1, ...session('ses_1'), crc: expect.stringMatching(/^[0-9a-f]{8}$/) },
      { ...session('ses_1', 2), crc: expect.any(String) },
      { ...session('ses_1', 3), crc: expect.any(String) },
    ])
  })

  it('is readable only by its owner', async () => {
    const store = new FileSessionStore(fresh())
    const log = await store.open('s', opener)
    const digest = await log.writeBlob(new Uint8Array(3))
    await log.append([session('s')])
    await log.close()
    const directory = join(store.directory, 's')
    const mode = (...path: string[]): number => statSync(join(directory, ...path)).mode & 0o777
    expect([mode(), mode('blobs'), mode('..')]).toEqual([0o700, 0o700, 0o700])
    expect([mode('log.jsonl'), mode('lease-1.json'), mode('blobs', digest)]).toEqual([0o600, 0o600, 0o600])
  })

  it('cannot be escaped by any id, and no two ids share a directory, even where case is ignored', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter, minLength: 1 }), { minLength: 2 }), (ids) => {
        const distinct = [...new Set(ids)]
        const names = distinct.map(directoryName)
        for (const [at, name] of names.entries()) {
          expect(name).toMatch(/^[a-z0-9_%-][a-z0-9._%~-]*$/)
          expect(name.length).toBeLessThan(256)
          expect(isLongName(name) ? distinct[at] : sessionIdOf(name)).toBe(distinct[at])
        }
        expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(distinct.length)
      }),
    )
    expect(() => directoryName('\ud800')).toThrow(/surrogate/)
    expect(['.', '..', 'a/../b', 'Con', 'nul.txt', 'ends.'].map(directoryName)).toEqual([
      '%2e',
      '%2e%2e',
      'a%2f..%2fb',
      '%43on',
      '%6eul.txt',
      'ends%2e',
    ])
  })

  it('is listed with the same work for any length of a log, and other files are ignored', async () => {
    let read = 0
    const files: FileLayer = {
      ...nodeFiles,
      async readLater(...args) {
        const got = await nodeFiles.readLater(...args)
        read += got
        return got
      },
    }
    const store = new FileSessionStore(fresh(), { files })
    const log = await store.open('s', { ...opener, durability: 'exit' })
    await log.append([session('s', 1)])
    for (let at = 0; at < 200; at++) await log.append(Array.from({ length: 50 }, () => session('s', 2)))
    await log.append([session('s', 77)])
    await log.close()
    mkdirSync(join(store.directory, 'Stranger'))
    mkdirSync(join(store.directory, 'empty'))
    writeFileSync(join(store.directory, 'note.txt'), '')
    read = 0
    expect(await store.list()).toEqual([{ id: 's', updatedAtMs: 77 }])
    expect(read).toBeLessThanOrEqual(64 * 1024)
    expect(store.readSync('s')?.records).toHaveLength(10_002)

    // A log that did not change since the last list is not read again.
    read = 0
    expect(await store.list()).toEqual([{ id: 's', updatedAtMs: 77 }])
    expect(read).toBe(0)
    const again = await store.open('s', { ...opener, durability: 'exit' })
    await again.append([session('s', 78)])
    expect(await store.list()).toEqual([{ id: 's', updatedAtMs: 78 }])
    await again.close()
    await store.delete('s')
    expect(await store.list()).toEqual([])
  })

  it('shows a reader only complete batches while another process writes', async () => {
    const store = new FileSessionStore(fresh())
    const log = await store.open('s', { ...opener, durability: 'exit' })
    for (let at = 1; at <= 50; at++) {
      await log.append([session('s', at), session('s', at)])
      const other = new FileSessionStore(store.directory)
      expect((await other.read('s'))?.records).toHaveLength(at * 2)
    }
    await log.close()
  })

  it('costs the same for every append and has the same bytes, however long the log is', async () => {
    const store = new FileSessionStore(fresh())
    const log = await store.open('s', { ...opener, durability: 'exit' })
    const size = (): number => statSync(join(store.directory, 's', 'log.jsonl')).size
    const added: number[] = []
    for (let at = 0; at < 3000; at++) {
      const before = size()
      await log.append([session('s', 1000)])
      added.push(size() - before)
    }
    await log.close()
    expect(new Set(added).size).toBe(1)
  })
})
