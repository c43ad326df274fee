import { constants } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { factor } from '../../../test/support/fault-factor.js'
import { thisProcess } from '../../workspace/scratch/owner.js'
import type { SessionRecord } from '../records.js'
import type { FileLayer } from './file-layer.js'
import { FileSessionStore } from './file-session-store.js'

type Write = { readonly at: number; readonly bytes: Buffer } | { readonly truncate: number }
type Inode = { id: number; data: Buffer; onDisk: Buffer; unsynced: Write[]; links: number; time: number }
type Tree = Map<string, Map<string, Inode | 'directory'>>
type NameChange = {
  readonly directory: string
  readonly names: readonly (readonly [string, Inode | 'directory' | undefined])[]
}

/**
 * A disk with a cache that forgets. After a power cut there is what was synced, and of the rest any part: single
 * sectors of what was written, in any order, and any of the changed names, where a rename happens whole or not at
 * all.
 */
class ForgetfulDisk implements FileLayer {
  readonly tree: Tree
  readonly onDisk: Tree
  #unsynced: NameChange[] = []
  readonly #open = new Map<number, Inode>()
  #next = 3
  #clock = 1
  /** How many changes are still made before the power fails. */
  left = Number.POSITIVE_INFINITY
  changes = 0

  constructor(tree: Tree = new Map([['/', new Map()]])) {
    this.tree = tree
    this.onDisk = copyTree(tree)
  }

  open(path: string, flags: number): number {
    const names = this.#names(dirname(path))
    let inode = names.get(basename(path))
    if (inode === 'directory') throw systemError('EISDIR')
    if (inode !== undefined && (flags & constants.O_EXCL) !== 0) throw systemError('EEXIST')
    if (inode === undefined) {
      if ((flags & constants.O_CREAT) === 0) throw systemError('ENOENT')
      this.#change()
      inode = {
        id: this.#next++,
        data: Buffer.alloc(0),
        onDisk: Buffer.alloc(0),
        unsynced: [],
        links: 0,
        time: this.#clock++,
      }
      this.#rename(dirname(path), [[basename(path), inode]])
    }
    const fd = this.#next++
    this.#open.set(fd, inode)
    return fd
  }

  close(fd: number): void {
    this.#open.delete(fd)
  }

  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number {
    return this.#inode(fd).data.copy(buffer, offset, position, position + length)
  }

  async readLater(...args: [number, Uint8Array, number, number, number]): Promise<number> {
    return this.read(...args)
  }

  write(fd: number, bytes: Uint8Array, offset: number, length: number, position: number): number {
    this.#change()
    const inode = this.#inode(fd)
    const write = { at: position, bytes: Buffer.from(bytes.subarray(offset, offset + length)) }
    inode.data = applied(inode.data, write)
    inode.unsynced.push(write)
    inode.time = this.#clock++
    return length
  }

  truncate(fd: number, length: number): void {
    this.#change()
    const inode = this.#inode(fd)
    inode.data = applied(inode.data, { truncate: length })
    inode.unsynced.push({ truncate: length })
  }

  async sync(fd: number): Promise<void> {
    this.#change()
    const inode = this.#inode(fd)
    inode.onDisk = Buffer.from(inode.data)
    inode.unsynced = []
  }

  async syncDirectory(path: string): Promise<void> {
    this.#change()
    for (const change of this.#unsynced) if (change.directory === path) applyNames(this.onDisk, change)
    this.#unsynced = this.#unsynced.filter(({ directory }) => directory !== path)
  }

  facts(fd: number) {
    return factsOf(this.#inode(fd))
  }

  factsAt(path: string) {
    const found = this.tree.get(dirname(path))?.get(basename(path))
    if (found === 'directory') return { size: 0, mtimeMs: 0, identity: path, links: 1, isDirectory: true }
    return found === undefined ? undefined : factsOf(found)
  }

  makeDirectory(path: string): string | undefined {
    if (this.tree.has(path)) return undefined
    const above = this.makeDirectory(dirname(path))
    this.#change()
    this.tree.set(path, new Map())
    this.#rename(dirname(path), [[basename(path), 'directory']])
    return above ?? path
  }

  list(path: string): string[] {
    return [...this.#names(path).keys()]
  }

  link(existing: string, path: string): void {
    const inode = this.#names(dirname(existing)).get(basename(existing))
    if (inode === undefined) throw systemError('ENOENT')
    if (this.#names(dirname(path)).has(basename(path))) throw systemError('EEXIST')
    this.#change()
    this.#rename(dirname(path), [[basename(path), inode]])
  }

  unlink(path: string): void {
    if (!this.#names(dirname(path)).has(basename(path))) throw systemError('ENOENT')
    this.#change()
    this.#rename(dirname(path), [[basename(path), undefined]])
  }

  rename(from: string, to: string): void {
    const inode = this.#names(dirname(from)).get(basename(from))
    if (inode === undefined || dirname(from) !== dirname(to)) throw systemError('ENOENT')
    this.#change()
    this.#rename(dirname(from), [
      [basename(from), undefined],
      [basename(to), inode],
    ])
  }

  removeTree(): void {
    throw systemError('ENOSYS')
  }

  /** What the machine may find when the power is back. */
  afterPowerCut(random: (below: number) => number): ForgetfulDisk {
    const tree = copyTree(this.onDisk)
    for (const change of this.#unsynced) if (random(2) === 0) applyNames(tree, change)
    // A directory whose own name was lost is gone with its content.
    for (const path of tree.keys()) if (!isReachable(tree, path)) tree.delete(path)
    const survivors = new Map<Inode, Inode>()
    for (const names of tree.values())
      for (const [name, inode] of names)
        if (inode !== 'directory') {
          const survived = survivor(inode, survivors, random)
          survived.links++
          names.set(name, survived)
        }
    return new ForgetfulDisk(tree)
  }

  #change(): void {
    if (this.left === 0) throw systemError('EIO')
    this.left--
    this.changes++
  }

  #inode(fd: number): Inode {
    const inode = this.#open.get(fd)
    if (inode === undefined) throw systemError('EBADF')
    return inode
  }

  #names(path: string): Map<string, Inode | 'directory'> {
    const names = this.tree.get(path)
    if (names === undefined) throw systemError('ENOENT')
    return names
  }

  #rename(directory: string, names: NameChange['names']): void {
    const change = { directory, names }
    const here = this.#names(directory)
    for (const [name, inode] of names) {
      const before = here.get(name)
      if (before !== undefined && before !== 'directory') before.links--
      if (inode !== undefined && inode !== 'directory') inode.links++
    }
    applyNames(this.tree, change)
    this.#unsynced.push(change)
  }
}

function isReachable(tree: Tree, path: string): boolean {
  const above = dirname(path)
  return path === '/' || (tree.get(above)?.get(basename(path)) === 'directory' && isReachable(tree, above))
}

function copyTree(tree: Tree): Tree {
  return new Map([...tree].map(([path, names]) => [path, new Map(names)]))
}

function applyNames(tree: Tree, { directory, names }: NameChange): void {
  const here = tree.get(directory) ?? new Map<string, Inode | 'directory'>()
  tree.set(directory, here)
  for (const [name, inode] of names) {
    if (inode === undefined) here.delete(name)
    else here.set(name, inode)
    const path = join(directory, name)
    if (inode === 'directory' && !tree.has(path)) tree.set(path, new Map())
  }
}

function applied(data: Buffer, write: Write): Buffer {
  if ('truncate' in write) return Buffer.concat([data], write.truncate)
  const size = Math.max(data.length, write.at + write.bytes.length)
  const grown = Buffer.alloc(size)
  data.copy(grown)
  write.bytes.copy(grown, write.at)
  return grown
}

const sector = 512

function survivor(inode: Inode, known: Map<Inode, Inode>, random: (below: number) => number): Inode {
  const found = known.get(inode)
  if (found !== undefined) return found
  const pieces = inode.unsynced.flatMap((write) => ('truncate' in write ? [write] : sectorsOf(write)))
  // Nothing, all, or any of them in any order.
  const mood = random(4)
  const written = mood === 0 ? [] : mood === 1 ? pieces : pieces.filter(() => random(2) === 0)
  if (mood === 3) written.sort(() => random(3) - 1)
  const data = written.reduce(applied, inode.onDisk)
  const made = { ...inode, data, onDisk: data, unsynced: [], links: 0 }
  known.set(inode, made)
  return made
}

function sectorsOf({ at, bytes }: { readonly at: number; readonly bytes: Buffer }): Write[] {
  const pieces: Write[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = Math.min(bytes.length, start + sector - ((at + start) % sector))
    pieces.push({ at: at + start, bytes: bytes.subarray(start, end) })
    start = end
  }
  return pieces
}

function factsOf({ id, data, links, time }: Inode) {
  return { size: data.length, mtimeMs: time, identity: `${id}`, links, isDirectory: false }
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: made up`), { code })
}

const opener = { holder: 'test', now: () => 1 } as const
const part = (id: number): SessionRecord => ({
  type: 'part',
  data: {
    id: `p${id}`,
    messageId: 'm',
    sessionId: 's',
    index: id,
    content: { type: 'text', text: `${id} `.repeat(1 + ((id * 37) % 300)) },
  },
})
const blobOf = (id: number): Uint8Array => new TextEncoder().encode(`blob ${id} `.repeat(200))

/** Opens twice and appends as fast as possible; returns what was acknowledged until the power failed. */
async function work(disk: ForgetfulDisk) {
  const acknowledged: SessionRecord[] = []
  const tried: SessionRecord[] = []
  const waiting: SessionRecord[] = []
  const blobs: [string, number][] = []
  // Written by a machine that was restarted since: its leases are those of dead processes.
  const store = new FileSessionStore('/a/sessions', {
    files: disk,
    owner: { ...thisProcess(), boot: 'before' },
  })
  try {
    for (let opened = 0; opened < 2; opened++) {
      const log = await store.open('s', opener)
      for (let round = 0; round < 3; round++) {
        const id = opened * 100 + round * 10
        const batches = [[part(id), part(id + 1), part(id + 2)], [part(id + 3)]]
        if (round === 1) blobs.push([await log.writeBlob(blobOf(id)), id])
        const appended = batches.map(async (batch) => {
          tried.push(...batch)
          await log.append(batch)
          return batch
        })
        // All are awaited before the first failure ends this.
        for (const result of await Promise.allSettled(appended)) {
          if (result.status === 'rejected') throw result.reason
          acknowledged.push(...waiting.splice(0), ...result.value)
        }
        // What can wait for the disk is not there yet, and comes before everything after it.
        const soon = [part(id + 4)]
        tried.push(...soon)
        await log.append(soon, { soon: true })
        waiting.push(...soon)
      }
      await log.close()
      acknowledged.push(...waiting.splice(0))
    }
  } catch (error) {
    expect(error).toMatchObject({ code: 'store_failed' })
  }
  return { acknowledged, tried, blobs }
}

it('keeps every acknowledged record after a power failure at any moment', async () => {
  let seed = 11
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const whole = new ForgetfulDisk()
  expect((await work(whole)).acknowledged).toHaveLength(30)
  let images = 0
  const perMoment = Math.ceil((500 * factor) / whole.changes)
  for (let moment = 0; moment <= whole.changes; moment++) {
    const disk = new ForgetfulDisk()
    disk.left = moment
    const { acknowledged, tried, blobs } = await work(disk)
    for (let image = 0; image < perMoment; image++, images++) {
      const after = disk.afterPowerCut(random)
      const store = new FileSessionStore('/a/sessions', { files: after })
      const found = store.readSync('s')?.records ?? []
      const where = `cut at ${moment}, image ${image}`
      expect(found.slice(0, acknowledged.length), where).toEqual(acknowledged)
      expect(found, where).toEqual(tried.slice(0, found.length))
      for (const [digest, id] of blobs)
        expect(Buffer.compare(store.readBlobSync('s', digest) ?? Buffer.alloc(0), blobOf(id)), where).toBe(0)
      const log = await openAfter(store, after)
      await log.append([part(999)])
      await log.close()
      expect(store.readSync('s')?.records, where).toEqual([...found, part(999)])
    }
  }
  expect(images).toBeGreaterThanOrEqual(500)
})

it('has the old records or the new ones when the power fails while a log is rewritten', async () => {
  let seed = 5
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  const all = [part(1), part(2), part(3), part(4), part(5)]
  const some = [part(2), part(5)]
  const rewrite = async (disk: ForgetfulDisk, left: number): Promise<boolean> => {
    const store = new FileSessionStore('/a/sessions', {
      files: disk,
      owner: { ...thisProcess(), boot: 'before' },
    })
    const log = await store.open('s', opener)
    await log.append(all)
    await log.close()
    disk.left = left
    disk.changes = 0
    return store
      .rewrite('s', () => some, opener)
      .then(
        () => true,
        () => false,
      )
  }
  const whole = new ForgetfulDisk()
  expect(await rewrite(whole, Number.POSITIVE_INFINITY)).toBe(true)
  const seen = { old: 0, new: 0 }
  const perMoment = Math.ceil((100 * factor) / whole.changes)
  for (let moment = 0; moment <= whole.changes; moment++) {
    const disk = new ForgetfulDisk()
    const done = await rewrite(disk, moment)
    for (let image = 0; image < perMoment; image++) {
      const after = disk.afterPowerCut(random)
      const store = new FileSessionStore('/a/sessions', { files: after })
      const stored = store.readSync('s')
      const where = `cut at ${moment}, image ${image}`
      expect(stored?.damage, where).toBeUndefined()
      const isNew = stored?.records.length === some.length
      expect(stored?.records, where).toEqual(isNew ? some : all)
      if (done) expect(isNew, where).toBe(true)
      seen[isNew ? 'new' : 'old']++
      const log = await openAfter(store, after)
      await log.append([part(999)])
      await log.close()
      expect(store.readSync('s')?.records, where).toEqual([...(isNew ? some : all), part(999)])
    }
  }
  expect(Math.min(seen.old, seen.new)).toBeGreaterThan(0)
})

/** A lease that lost its bytes but not its name expires by its age: that time has to pass. */
async function openAfter(store: FileSessionStore, disk: ForgetfulDisk) {
  const names = disk.tree.get('/a/sessions/s') ?? new Map<string, Inode | 'directory'>()
  for (const [name, inode] of names) if (name.startsWith('lease-') && inode !== 'directory') inode.time = -1e6
  return store.open('s', opener)
}
