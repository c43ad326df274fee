import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { factor } from '../../../test/support/fault-factor.js'
import { sharedDirectory } from '../../../test/support/temporary-directory.js'
import { type SessionRecord, schemaVersion } from '../records.js'
import { FileSessionStore } from './file-session-store.js'

/** Tests run in a short form; `FAULT_FACTOR=20` gives the figures of the long form. */
const reopenEvery = factor > 1 ? 1 : 29
const top = sharedDirectory()
let made = 0

const opener = { holder: 'test', durability: 'exit', now: () => 1 } as const
const part = (id: number, text: string): SessionRecord => ({
  type: 'part',
  data: { id: `p${id}`, messageId: 'm', sessionId: 's', index: id, content: { type: 'text', text } },
})
const batches: readonly (readonly SessionRecord[])[] = [
  [{ type: 'session', data: { id: 's', schemaVersion, updatedAtMs: 1, title: 'ä title' } }],
  [part(1, 'one'), part(2, 'two {"more":3,"type":"session"} \n'), part(3, '')],
  [part(4, 'x'.repeat(300))],
  [part(5, '😀'), part(6, 'six')],
  [part(7, 'seven')],
]

/** A store with one session, its log's bytes, and where each batch ends. */
async function damagedStore() {
  const store = new FileSessionStore(join(top, `${made++}`))
  const path = join(store.directory, 's', 'log.jsonl')
  const log = await store.open('s', opener)
  const ends = [0]
  for (const batch of batches) {
    await log.append(batch)
    ends.push(readFileSync(path).length)
  }
  await log.close()
  return { store, path, bytes: readFileSync(path), ends, directory: join(store.directory, 's') }
}

describe('a damaged log', () => {
  it('cut anywhere, returns every complete batch, and can be extended after them', async () => {
    const { store, path, bytes, ends, directory } = await damagedStore()
    let reopened = 0
    for (let length = bytes.length; length >= 0; length--) {
      const cut = bytes.subarray(0, length)
      writeFileSync(path, cut)
      const whole = ends.findLastIndex((end) => end <= length)
      const stored = store.readSync('s')
      expect(stored?.records).toEqual(batches.slice(0, whole).flat())
      expect(stored?.damage !== undefined).toBe(length !== ends[whole])
      expect(await store.read('s')).toEqual(stored)
      expect(readFileSync(path).equals(cut)).toBe(true)
      if (length % reopenEvery !== 0) continue
      const log = await store.open('s', opener)
      expect(log.damage !== undefined).toBe(length !== ends[whole])
      await log.append([part(9, 'after')])
      await log.close()
      expect(store.readSync('s')).toEqual({ records: [...batches.slice(0, whole).flat(), part(9, 'after')] })
      if (length === ends[whole]) continue
      reopened++
      const aside = readFileSync(join(directory, `log.jsonl.damaged-${reopened}`))
      expect(aside.equals(cut.subarray(ends[whole]))).toBe(true)
    }
    expect(reopened).toBeGreaterThan(20)
  })

  it('with any byte changed, is reported as damaged, and returns only what is before', async () => {
    const { store, path, bytes, ends } = await damagedStore()
    const flips = 500 * factor
    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    for (let flip = 0; flip < flips; flip++) {
      const at = flip < bytes.length ? flip : random(bytes.length)
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] ?? 0) ^ (1 + random(255))
      writeFileSync(path, damaged)
      const whole = ends.findLastIndex((end) => end <= at)
      const stored = store.readSync('s')
      expect(stored?.damage, `byte ${at} as ${damaged[at]}`).toMatch(/^log\.jsonl: /)
      expect(stored?.records).toEqual(batches.slice(0, whole).flat())
    }
  })

  it('with any single bit of its last checksum changed, is reported as damaged', async () => {
    const { store, path, bytes } = await damagedStore()
    for (let at = bytes.length - 20; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const damaged = Buffer.from(bytes)
        damaged[at] = (damaged[at] ?? 0) ^ (1 << bit)
        writeFileSync(path, damaged)
        expect(store.readSync('s')?.damage, `byte ${at}, bit ${bit}`).toBeDefined()
      }
    }
  })

  it('in a batch that is longer than what is read at once, returns every batch before it', async () => {
    const { store, path, bytes } = await damagedStore()
    const before = batches.flat()
    const long = [part(8, 'a'.repeat(700_000)), part(9, 'b'.repeat(1_500_000)), part(10, 'c'.repeat(700_000))]
    const after = Array.from({ length: 3 }, (_, at) => part(11 + at, 'd'.repeat(500_000)))
    const log = await store.open('s', opener)
    await log.append(long)
    const end = readFileSync(path).length
    for (const record of after) await log.append([record])
    await log.close()
    const whole = readFileSync(path)
    expect(await store.read('s')).toEqual({ records: [...before, ...long, ...after] })
    const secondLine = whole.indexOf('\n', bytes.length) + 1
    const thirdLine = whole.indexOf('\n', secondLine) + 1
    for (const [start, at] of [
      [bytes.length, bytes.length + 1_000],
      [secondLine, secondLine + 1_200_000],
      [thirdLine, thirdLine + 690_000],
    ] as const) {
      for (const length of [whole.length, end, end - 10]) {
        const damaged = Buffer.from(whole.subarray(0, length))
        damaged[at] = 0x41
        writeFileSync(path, damaged)
        const stored = await store.read('s')
        expect(stored?.records).toEqual(before)
        // Of a last line that is cut off, only the lines before it can be checked.
        if (length >= end || start < thirdLine)
          expect(stored?.damage).toContain(`the line at byte ${start} does not fit its checksum`)
      }
    }
    for (const length of [secondLine, secondLine + 1_000_000, thirdLine, thirdLine + 1]) {
      writeFileSync(path, whole.subarray(0, length))
      const stored = await store.read('s')
      expect(stored?.records).toEqual(before)
      expect(stored?.damage).toContain('its last lines are cut off')
    }
  })

  it('with lines lost, repeated or reordered, is reported as damaged', async () => {
    const { store, path, bytes } = await damagedStore()
    const lines = bytes.toString().split('\n').slice(0, -1)
    const put = (changed: readonly string[]): string | undefined => {
      writeFileSync(path, `${changed.join('\n')}\n`)
      return store.readSync('s')?.damage
    }
    expect(put(lines)).toBeUndefined()
    for (let at = 0; at < lines.length - 1; at++) {
      expect(put(lines.toSpliced(at, 1)), `without ${at}`).toBeDefined()
      expect(put(lines.toSpliced(at, 0, lines[at] ?? '')), `${at} twice`).toBeDefined()
      expect(put(lines.toSpliced(at, 2, lines[at + 1] ?? '', lines[at] ?? '')), `${at} late`).toBeDefined()
    }
  })

  it('with unknown bytes after it, or empty, is reported as damaged and never throws', async () => {
    const { store, path, bytes, directory } = await damagedStore()
    const all = batches.flat()
    for (const garbage of [
      '{}\n',
      '\n',
      '\0'.repeat(5000),
      '{"type":"part","data":{}}\n',
      'x',
      '\n\n\n',
      bytes.toString(),
    ]) {
      writeFileSync(path, bytes)
      appendFileSync(path, garbage)
      expect(await store.read('s')).toMatchObject({
        records: all,
        damage: expect.stringContaining('bytes after'),
      })
    }
    writeFileSync(path, 'not a log at all')
    expect(store.readSync('s')).toMatchObject({ records: [], damage: expect.any(String) })
    rmSync(path)
    expect(store.readSync('s')).toEqual({ records: [], damage: 'log.jsonl: it is missing' })
    const log = await store.open('s', opener)
    expect(log.damage).toContain('missing')
    await log.close()
    rmSync(path)
    mkdirSync(path)
    expect(store.readSync('s')?.damage).toBeDefined()
    await expect(store.open('s', opener)).rejects.toMatchObject({ code: 'store_unwritable' })
    rmSync(path, { recursive: true })
    symlinkSync('/etc/hostname', path)
    expect(store.readSync('s')).toMatchObject({ records: [], damage: expect.stringContaining('ELOOP') })
    rmSync(directory, { recursive: true })
    writeFileSync(directory, 'a file')
    expect(store.readSync('s')?.damage).toContain('ENOTDIR')
    expect(await store.list()).toEqual([])
    await expect(store.open('s', opener)).rejects.toMatchObject({ code: expect.stringMatching(/^store_/) })
  })

  it('is still listed, from its beginning and end', async () => {
    const { store, path, bytes } = await damagedStore()
    writeFileSync(path, bytes.subarray(0, bytes.length - 3))
    expect(await store.list()).toMatchObject([{ id: 's', title: 'ä title' }])
    writeFileSync(path, '')
    expect(await store.list()).toMatchObject([{ id: 's' }])
  })

  it('loses no content silently: a damaged blob is rejected, and written again when it is stored again', async () => {
    const store = new FileSessionStore(join(top, `${made++}`))
    const log = await store.open('s', opener)
    const content = new TextEncoder().encode('content')
    const digest = await log.writeBlob(content)
    const path = join(store.directory, 's', 'blobs', digest)
    writeFileSync(path, 'c0ntent')
    await expect(store.readBlob('s', digest)).rejects.toMatchObject({ code: 'store_damaged' })
    expect(await log.writeBlob(content)).toBe(digest)
    expect(await store.readBlob('s', digest)).toEqual(content)
    expect(readdirSync(join(store.directory, 's', 'blobs'))).toEqual([digest])
    await log.close()
  })
})
