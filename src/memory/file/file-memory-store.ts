import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { createNew, errnoOf, type FileLayer, nodeFiles, writeAll } from '../../store/file/file-layer.js'
import { CapstanError } from '../../tool/errors.js'
import { MemoryError, type MemoryErrorCode } from '../errors.js'
import { idTaken } from '../in-process-store.js'
import { checkMemoryItem, isMemoryId, type MemoryItem } from '../memory-item.js'
import type { MemoryStore } from '../memory-store.js'
import { extension, ItemFiles } from './item-files.js'
import { itemText } from './item-text.js'

/** Options of `FileMemoryStore`. */
export type FileMemoryStoreOptions = {
  /** The file system. Default: the disk of this machine. */
  readonly files?: FileLayer
}

/**
 * Stores memories in a directory, one Markdown file each, which people can read, edit and delete; changes are noticed.
 * Any number of sessions and processes can share the directory.
 *
 * ```ts
 * const store = new FileMemoryStore('.capstan/memory')
 * ```
 */
export class FileMemoryStore implements MemoryStore {
  readonly backend = 'file'
  readonly directory: string
  readonly #files: FileLayer
  readonly #items: ItemFiles
  #swept = false

  constructor(directory: string, options: FileMemoryStoreOptions = {}) {
    if (typeof directory !== 'string' || directory === '')
      throw new TypeError('FileMemoryStore takes the path of a directory.')
    this.directory = resolve(directory)
    this.#files = options.files ?? nodeFiles
    this.#items = new ItemFiles(this.#files, this.directory)
  }

  async add(item: MemoryItem): Promise<void> {
    const checked = checkMemoryItem(item)
    try {
      await this.#write(checked)
    } catch (error) {
      throw failure(error, 'kept')
    }
  }

  async list(): Promise<ReadonlyMap<string, MemoryItem>> {
    try {
      return await this.#items.read()
    } catch (error) {
      throw failure(error, 'read')
    }
  }

  async delete(id: string): Promise<boolean> {
    if (!isMemoryId(id)) return false
    try {
      this.#files.unlink(join(this.directory, `${id}${extension}`))
      await this.#files.syncDirectory(this.directory)
      return true
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return false
      throw failure(error, 'deleted')
    }
  }

  async changed(ids: readonly string[]): Promise<boolean> {
    return this.#items.changed(ids)
  }

  problems(): readonly string[] {
    return this.#items.problems()
  }

  /**
   * Writes a file under a name that no reader uses, then links it to its final name, which cannot replace another item.
   */
  async #write(item: MemoryItem): Promise<void> {
    const files = this.#files
    const made = files.makeDirectory(this.directory)
    const draft = join(this.directory, `${draftPrefix}${randomBytes(9).toString('hex')}`)
    const fd = files.open(draft, createNew)
    try {
      writeAll(files, fd, Buffer.from(itemText(item)), 0)
      await files.sync(fd)
      this.#sweep(files.facts(fd).mtimeMs)
      this.#name(draft, item.id)
    } finally {
      files.close(fd)
      files.unlink(draft)
    }
    await files.syncDirectory(this.directory)
    if (made !== undefined) await this.#syncAbove(made)
  }

  #name(draft: string, id: string): void {
    try {
      this.#files.link(draft, join(this.directory, `${id}${extension}`))
    } catch (error) {
      throw errnoOf(error) === 'EEXIST' ? idTaken(id) : error
    }
  }

  /** Syncs the parents of the created directories, because each directory is an entry of its parent. */
  async #syncAbove(topmost: string): Promise<void> {
    const end = dirname(topmost)
    for (let path = this.directory; path !== end && path !== dirname(path); ) {
      path = dirname(path)
      await this.#files.syncDirectory(path)
    }
  }

  /**
   * Removes drafts of processes that were killed. Uses the disk's clock, because it also set the times of the drafts.
   */
  #sweep(nowMs: number): void {
    if (this.#swept) return
    this.#swept = true
    for (const name of this.#files.list(this.directory)) {
      if (!name.startsWith(draftPrefix)) continue
      const path = join(this.directory, name)
      const facts = this.#files.factsAt(path)
      if (facts !== undefined && nowMs - facts.mtimeMs > draftLifeMs) this.#remove(path)
    }
  }

  #remove(path: string): void {
    try {
      this.#files.unlink(path)
    } catch (error) {
      // Another process may have removed the same draft.
      if (errnoOf(error) !== 'ENOENT') throw error
    }
  }
}

const draftPrefix = '.draft-'
const draftLifeMs = 60 * 60 * 1000

function failure(thrown: unknown, doing: string): unknown {
  const errno = errnoOf(thrown)
  if (errno === undefined || thrown instanceof CapstanError || errno.startsWith('ERR_')) return thrown
  const [code, words] = meanings[errno] ?? ['memory_failed', 'the system refused']
  return new MemoryError(code, `The memory could not be ${doing} (${errno}): ${words}.`, { cause: thrown })
}

const full: readonly [MemoryErrorCode, string] = [
  'memory_full',
  'no space is left; free some, then try again',
]
const fileInTheWay: readonly [MemoryErrorCode, string] = [
  'memory_unwritable',
  'there is a file where a directory is needed; move it away',
]
const denied = 'give this process the permission to use the directory of the memories'

const meanings: Readonly<Record<string, readonly [MemoryErrorCode, string]>> = {
  ENOSPC: full,
  EDQUOT: full,
  EFBIG: full,
  EACCES: ['memory_unwritable', `access is denied; ${denied}`],
  EPERM: ['memory_unwritable', `it is not permitted; ${denied}, on a file system that has hard links`],
  EROFS: ['memory_unwritable', 'the file system is read-only; choose another directory for the memories'],
  ENOTDIR: fileInTheWay,
  EEXIST: fileInTheWay,
  ENOENT: ['memory_failed', 'its directory was removed; try again'],
  EISDIR: ['memory_unwritable', 'there is a directory where a file is needed; move it away'],
}
