import { describe, expect, it } from 'vitest'
import type { FileChangeNote } from '../../store/records.js'
import {
  type ChangesKeeper,
  FileChanges,
  type FileChangesOptions,
  type FoundImage,
  hostCalls,
} from './file-changes.js'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const found = (text: string): FoundImage => ({
  image: { kind: 'file', version: `v-${text}`, bytes: text.length, mode: 0o644 },
  bytes: bytesOf(text),
})
const look = (text: string) => async (): Promise<FoundImage> => found(text)
const none = async (): Promise<FoundImage> => ({ image: { kind: 'none' } })

function open(options: Partial<FileChangesOptions> = {}) {
  const notes: FileChangeNote[] = []
  const images = new Map<string, Uint8Array>()
  const keep: ChangesKeeper = {
    change: async (note) => void notes.push(note),
    writeImage: async (bytes) => {
      const digest = `d${images.size}`
      images.set(digest, bytes)
      return digest
    },
    readImage: async (digest) => images.get(digest),
  }
  return { changes: new FileChanges({ keep, now: () => 7, ...options }), notes, images, keep }
}
const contentOf = async (changes: FileChanges, id: string, path: string): Promise<string | undefined> => {
  const file = changes.get(id)?.files.get(path)
  const bytes = file && (await changes.content(file))
  return bytes && new TextDecoder().decode(bytes)
}

describe('FileChanges', () => {
  it('saves the content of a file before its run first changed it, and everything that the run wrote', async () => {
    const { changes, notes } = open()
    await changes.note({ id: 'r' }, 'a', 'v1', look('before'))
    await changes.note({ id: 'r' }, 'a', null, async () => {
      throw new Error('it is not looked at twice')
    })
    expect(changes.get('r')?.files.get('a')).toMatchObject({ written: ['v1', null], undone: false })
    expect(await contentOf(changes, 'r', 'a')).toBe('before')
    expect(notes.map(({ before }) => before !== undefined)).toEqual([true, false])
    expect(notes[0]).toMatchObject({ runId: 'r', path: 'a', after: 'v1', atMs: 7 })
  })

  it('records a change before it is made: a change that cannot be recorded is not made', async () => {
    const { keep } = open()
    const changes = new FileChanges({
      now: () => 0,
      keep: {
        ...keep,
        change: async () => {
          throw new Error('disk full')
        },
      },
    })
    await expect(changes.note({ id: 'r' }, 'a', 'v1', none)).rejects.toThrow('disk full')
    expect(changes.get('r')).toBeUndefined()
  })

  it('records changes of one path one after another, also after one failed', async () => {
    const { changes } = open()
    const order: string[] = []
    const slow = changes.note({ id: 'r' }, 'a', 'v1', async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      order.push('first')
      throw new Error('unreadable')
    })
    const next = changes.note({ id: 's' }, 'a', 'v2', async () => {
      order.push('second')
      return found('x')
    })
    await expect(slow).rejects.toThrow('unreadable')
    await next
    expect(order).toEqual(['first', 'second'])
  })

  it('lists the runs that can be undone, newest first, without undos and direct calls of the host', async () => {
    const { changes } = open()
    expect(changes.openRuns()).toEqual([])
    await changes.note({ id: 'first' }, 'a', 'v1', look('0'))
    await changes.note({ id: 'second' }, 'b', 'v2', none)
    await changes.note({ id: hostCalls }, 'c', 'v3', none)
    expect(changes.openRuns()[0]?.id).toBe('second')
    await changes.note({ id: 'u', undoes: 'second' }, 'b', null, look('v2'))
    expect(changes.get('second')?.files.get('b')?.undone).toBe(true)
    expect(changes.openRuns()[0]?.id).toBe('first')
  })

  it('restores the undone changes when the undo is undone', async () => {
    const { changes } = open()
    await changes.note({ id: 'r' }, 'a', 'v1', look('0'))
    await changes.note({ id: 'u', undoes: 'r' }, 'a', 'v0', look('1'))
    await changes.note({ id: 'uu', undoes: 'u' }, 'a', 'v1', look('0'))
    expect(changes.get('u')?.files.get('a')?.undone).toBe(true)
    expect(changes.get('r')?.files.get('a')?.undone).toBe(false)
  })

  it('can be undone again when a run writes again after an undo', async () => {
    const { changes } = open()
    await changes.note({ id: 'r' }, 'a', 'v1', look('0'))
    await changes.note({ id: 'u', undoes: 'r' }, 'a', 'v0', look('1'))
    await changes.note({ id: 'r' }, 'a', 'v2', none)
    expect(changes.get('r')?.files.get('a')).toMatchObject({ undone: false, written: ['v1', 'v2'] })
  })

  it('names the run that wrote the same file later', async () => {
    const { changes } = open()
    for (const id of ['r', 's', 't']) await changes.note({ id }, id === 't' ? 'b' : 'a', `v-${id}`, none)
    expect(changes.laterWriter('r', 'a')).toBe('s')
    expect(changes.laterWriter('s', 'a')).toBeUndefined()
  })

  it('is restored after a restart, with contents from the store', async () => {
    const { changes, notes, keep } = open()
    await changes.note({ id: 'r' }, 'a', 'v1', look('before'))
    const restored = new FileChanges({ now: () => 0, keep, restored: notes })
    expect(restored.get('r')).toEqual(changes.get('r'))
    expect(await contentOf(restored, 'r', 'a')).toBe('before')
    const cut = new FileChanges({ now: () => 0, restored: notes.map(({ before: _, ...note }) => note) })
    expect(cut.get('r')?.files.get('a')?.before).toMatchObject({ kind: 'unknown' })
  })

  it('keeps in memory what must not be written to the log, and what has no store', async () => {
    const secret = open({ mayKeep: () => false })
    await secret.changes.note({ id: 'r' }, 'a', 'v1', look('hunter2'))
    expect(secret.images.size).toBe(0)
    expect(await contentOf(secret.changes, 'r', 'a')).toBe('hunter2')
    const alone = new FileChanges({ now: () => 0 })
    await alone.note({ id: 'r' }, 'a', 'v1', look('here'))
    expect(await contentOf(alone, 'r', 'a')).toBe('here')
    await alone.note({ id: 'r' }, 'new', 'v1', none)
    expect(await contentOf(alone, 'r', 'new')).toBeUndefined()
  })

  it('drops the oldest content above 64 MB, and the oldest runs above 1,000', async () => {
    const changes = new FileChanges({ now: () => 0 })
    const large = new Uint8Array(40 * 1024 * 1024)
    for (const name of ['a', 'b'])
      await changes.note({ id: 'r' }, name, 'v1', async () => ({
        image: { kind: 'file', version: name, bytes: large.length, mode: 0o644 },
        bytes: large,
      }))
    const held = async (name: string) => {
      const file = changes.get('r')?.files.get(name)
      return file && (await changes.content(file)) !== undefined
    }
    expect([await held('a'), await held('b')]).toEqual([false, true])
    for (let n = 0; n < 1_000; n++) await changes.note({ id: `run${n}` }, 'x', 'v', none)
    expect(changes.get('r')).toBeUndefined()
    expect(changes.get('run0')).toBeDefined()
  })
})
