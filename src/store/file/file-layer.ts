import * as fs from 'node:fs'

export type FileFacts = {
  readonly size: number
  readonly mtimeMs: number
  /** Device and inode: the same for as long as it is the same file. */
  readonly identity: string
  readonly links: number
  readonly isDirectory: boolean
}

/**
 * All that a file store does to a disk. Tests put faults between it and the store. Writes are synchronous: they only reach the
 * system's cache, which costs a few microseconds where a trip through the thread pool costs many; what waits for the disk does not block.
 */
export interface FileLayer {
  open(path: string, flags: number): number
  close(fd: number): void
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number
  readLater(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>
  write(fd: number, bytes: Uint8Array, offset: number, length: number, position: number): number
  truncate(fd: number, length: number): void
  /** The content is on disk. */
  sync(fd: number): Promise<void>
  /** The names in a directory are on disk. */
  syncDirectory(path: string): Promise<void>
  facts(fd: number): FileFacts
  /** Undefined when there is nothing. Links are not followed. */
  factsAt(path: string): FileFacts | undefined
  /** With those above it that are missing. Gives the topmost that was made. */
  makeDirectory(path: string): string | undefined
  list(path: string): string[]
  link(existing: string, path: string): void
  unlink(path: string): void
  rename(from: string, to: string): void
  removeTree(path: string): void
}

export const nodeFiles: FileLayer = {
  open: (path, flags) => fs.openSync(path, flags | (fs.constants.O_NOFOLLOW ?? 0), 0o600),
  close: (fd) => fs.closeSync(fd),
  read: (fd, buffer, offset, length, position) => fs.readSync(fd, buffer, offset, length, position),
  readLater: (fd, buffer, offset, length, position) =>
    new Promise((resolve, reject) => {
      fs.read(fd, buffer, offset, length, position, (error, got) => (error ? reject(error) : resolve(got)))
    }),
  write: (fd, bytes, offset, length, position) => fs.writeSync(fd, bytes, offset, length, position),
  truncate: (fd, length) => fs.ftruncateSync(fd, length),
  sync: (fd) =>
    new Promise((resolve, reject) => {
      fs.fdatasync(fd, (error) => (error ? reject(error) : resolve()))
    }),
  async syncDirectory(path) {
    try {
      const directory = await fs.promises.open(path, fs.constants.O_RDONLY)
      try {
        await directory.sync()
      } finally {
        await directory.close()
      }
    } catch (thrown) {
      if (!directoriesCannotBeSynced(thrown)) throw thrown
    }
  },
  facts: (fd) => factsOf(fs.fstatSync(fd)),
  factsAt(path) {
    const found = fs.lstatSync(path, { throwIfNoEntry: false })
    return found === undefined ? undefined : factsOf(found)
  },
  makeDirectory: (path) => fs.mkdirSync(path, { recursive: true, mode: 0o700 }),
  list: (path) => fs.readdirSync(path),
  link: (existing, path) => fs.linkSync(existing, path),
  unlink: (path) => fs.unlinkSync(path),
  rename: (from, to) => fs.renameSync(from, to),
  removeTree: (path) => fs.rmSync(path, { recursive: true, force: true }),
}

export const readOnly = fs.constants.O_RDONLY
export const readWrite = fs.constants.O_RDWR
export const create = fs.constants.O_RDWR | fs.constants.O_CREAT
export const createNew = create | fs.constants.O_EXCL

/** A disk that is filling up takes a part without an error; the rest is what fails. */
export function writeAll(files: FileLayer, fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const wrote = files.write(fd, bytes, done, bytes.length - done, position + done)
    if (wrote === 0) throw Object.assign(new Error('the disk takes no more bytes'), { code: 'ENOSPC' })
    done += wrote
  }
}

function factsOf(stats: fs.Stats): FileFacts {
  return {
    size: stats.size,
    mtimeMs: stats.mtimeMs,
    identity: `${stats.dev}:${stats.ino}`,
    links: stats.nlink,
    isDirectory: stats.isDirectory(),
  }
}

/** Some systems have no such thing and say so with these codes: then there is nothing to wait for. */
function directoriesCannotBeSynced(thrown: unknown): boolean {
  return ['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR', 'EBADF'].includes(errnoOf(thrown) ?? '')
}

export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}
