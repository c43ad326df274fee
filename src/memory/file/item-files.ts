import { constants } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, type FileFacts, type FileLayer, readOnly } from '../../store/file/file-layer.js'
import { messageOf } from '../../tool/errors.js'
import { inSlices } from '../in-slices.js'
import { isMemoryId, type MemoryItem } from '../memory-item.js'
import { readItem } from './item-text.js'

/** The last state of one file: its facts, and the item that it had then, or why it could not be read. */
type Seen = { readonly facts: FileFacts; readonly item?: MemoryItem | undefined; readonly problem?: string }

export const extension = '.md'

/**
 * The items of a directory. Files are read again only after a change. The directory's modification time shows added and
 * removed names; a changed file shows only in its own modification time, so each read checks some files, in turn.
 */
export class ItemFiles {
  readonly #files: FileLayer
  readonly #directory: string
  readonly #seen = new Map<string, Seen>()
  /** Names to read, or to read again. */
  readonly #stale = new Set<string>()
  #listed: Listed | undefined
  #turn: Iterator<string> | undefined
  #items: ReadonlyMap<string, MemoryItem> = new Map()
  #reading: Promise<unknown> = Promise.resolve()
  #leftOut = 0

  constructor(files: FileLayer, directory: string) {
    this.#files = files
    this.#directory = directory
  }

  /** Reads one at a time: a call that waited for another finds most of the work done. */
  read(): Promise<ReadonlyMap<string, MemoryItem>> {
    const done = this.#reading.then(() => this.#read())
    this.#reading = done.catch(() => undefined)
    return done
  }

  /** Whether one of these differs from what was last read; the next `read` reads it again. */
  changed(ids: readonly string[]): boolean {
    let changed = false
    for (const id of ids) changed = this.#lookAt(`${id}${extension}`) || changed
    return changed
  }

  problems(): readonly string[] {
    const own = [...this.#seen].flatMap(([name, { problem }]) =>
      problem === undefined ? [] : [`${name} is skipped: ${problem}.`],
    )
    if (this.#leftOut === 0) return own
    return [`${this.#leftOut} files are skipped: only ${maxFiles} are read.`, ...own]
  }

  async #read(): Promise<ReadonlyMap<string, MemoryItem>> {
    const left = this.#listNames()
    this.#lookAtSome()
    if (left === 0 && this.#stale.size === 0) return this.#items
    const stale = [...this.#stale]
    await inSlices(stale, (name) => {
      // Before the file is read, so that a change during the read marks it again.
      this.#stale.delete(name)
      const seen = this.#readFile(name)
      if (seen === undefined) this.#seen.delete(name)
      else this.#seen.set(name, seen)
    })
    const items = new Map<string, MemoryItem>()
    for (const { item } of this.#seen.values()) if (item !== undefined) items.set(item.id, item)
    this.#items = items
    return items
  }

  /** Marks new names as stale and removes deleted ones. Returns the number of deleted names. */
  #listNames(): number {
    const facts = this.#files.factsAt(this.#directory)
    if (facts !== undefined && !this.#mayHaveOtherNames(facts)) return 0
    const names = new Set(facts === undefined ? [] : this.#namesNow())
    for (const name of names) if (!this.#seen.has(name)) this.#stale.add(name)
    let gone = 0
    for (const name of this.#seen.keys()) {
      if (names.has(name)) continue
      this.#seen.delete(name)
      gone++
    }
    for (const name of this.#stale) if (!names.has(name)) this.#stale.delete(name)
    return gone
  }

  /**
   * Whether the directory may have changed since its names were listed. File system clocks have steps of milliseconds,
   * and two changes within one step have the same time: a time is trusted only if it was old when the names were
   * listed.
   */
  #mayHaveOtherNames({ identity, mtimeMs }: FileFacts): boolean {
    const time = `${identity} ${mtimeMs}`
    const now = performance.now()
    const before = this.#listed?.time === time ? this.#listed : undefined
    if (before !== undefined && before.listedAt - before.metAt >= clockStepMs) return false
    this.#listed = { time, metAt: before?.metAt ?? now, listedAt: now }
    return true
  }

  #namesNow(): string[] {
    try {
      const names = this.#files
        .list(this.#directory)
        .filter((name) => this.#seen.has(name) || isItemName(name))
      this.#leftOut = Math.max(0, names.length - maxFiles)
      // Names begin with a date, so the oldest are left out.
      return this.#leftOut === 0 ? names : names.toSorted().slice(-maxFiles)
    } catch (error) {
      this.#listed = undefined
      if (errnoOf(error) === 'ENOENT') return []
      throw error
    }
  }

  #lookAtSome(): void {
    for (let left = Math.min(looksEachTime, this.#seen.size); left > 0; left--) {
      const name = this.#nextInTurn()
      if (name !== undefined) this.#lookAt(name)
    }
  }

  #nextInTurn(): string | undefined {
    const next = this.#turn?.next()
    if (next !== undefined && !next.done) return next.value
    this.#turn = this.#seen.keys()
    const first = this.#turn.next()
    return first.done ? undefined : first.value
  }

  #lookAt(name: string): boolean {
    const known = this.#seen.get(name)?.facts
    const facts = this.#files.factsAt(join(this.#directory, name))
    if (known !== undefined && facts !== undefined && sameFacts(known, facts)) return false
    if (known === undefined && facts === undefined) return false
    this.#stale.add(name)
    return true
  }

  #readFile(name: string): Seen | undefined {
    const path = join(this.#directory, name)
    const facts = this.#files.factsAt(path)
    if (facts === undefined) return undefined
    try {
      return this.#readItem(name, path)
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined
      return { facts, problem: problemOf(error) }
    }
  }

  #readItem(name: string, path: string): Seen {
    // Opening a pipe must not block until another process opens its other end.
    const fd = this.#files.open(path, readOnly | (constants.O_NONBLOCK ?? 0))
    try {
      const facts = this.#files.facts(fd)
      if (facts.isDirectory) return { facts, problem: 'it is a directory' }
      if (facts.size > maxBytes)
        return { facts, problem: `it has ${facts.size} bytes, and ${maxBytes} is the limit` }
      const bytes = Buffer.alloc(facts.size)
      const length = this.#files.read(fd, bytes, 0, bytes.length, 0)
      const id = name.slice(0, -extension.length)
      const item = readItem(id, bytes.toString('utf8', 0, length), facts.mtimeMs)
      return { facts, item }
    } finally {
      this.#files.close(fd)
    }
  }
}

/** When the names were last listed, and when the directory's current modification time was first seen. */
type Listed = { readonly time: string; readonly metAt: number; readonly listedAt: number }

/** More than any item that a store writes: people may add text to the files. */
const maxBytes = 64 * 1024
const maxFiles = 100_000
const looksEachTime = 512
const clockStepMs = 50

function isItemName(name: string): boolean {
  return name.endsWith(extension) && isMemoryId(name.slice(0, -extension.length))
}

function sameFacts(a: FileFacts, b: FileFacts): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.identity === b.identity
}

function problemOf(error: unknown): string {
  const errno = errnoOf(error)
  if (errno === 'ELOOP') return 'it is a symbolic link, and links are not followed'
  if (errno === 'EACCES' || errno === 'EPERM') return 'this process may not read it'
  return errno === undefined
    ? `its front matter cannot be read (${messageOf(error)})`
    : `it cannot be read (${errno})`
}
