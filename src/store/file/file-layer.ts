import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  read,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  unlinkSync,
  writeSync,
} from 'node:fs'

export type FileFacts = {
  readonly size: number
  readonly mtimeMs: number
  /** Device and inode, which identify the file. */
  readonly identity: string
  readonly links: number
  readonly isDirectory: boolean
}

/**
 * Everything that a file store does to a disk. Tests inject faults here. Writes are synchronous: they only reach the
 * system's cache, which costs a few microseconds, much less than the thread pool. Operations that wait for the disk
 * do not block.
 */
export interface FileLayer {
  open(path: string, flags: number): number
  close(fd: number): void
  read(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): number
  readLater(fd: number, buffer: Uint8Array, offset: number, length: number, position: number): Promise<number>
  write(fd: number, bytes: Uint8Array, offset: number, length: number, position: number): number
  truncate(fd: number, length: number): void
  /** Resolves when the content is on disk. */
  sync(fd: number): Promise<void>
  /** Resolves when the names in a directory are on disk. */
  syncDirectory(path: string): Promise<void>
  facts(fd: number): FileFacts
  /** Returns facts about a path; undefined when nothing is there. Links are not followed. */
  factsAt(path: string): FileFacts | undefined
  /** Creates a directory and its missing parents. Returns the topmost directory that was created. */
  makeDirectory(path: string): string | undefined
  list(path: string): string[]
  link(existing: string, path: string): void
  unlink(path: string): void
  rename(from: string, to: string): void
  removeTree(path: string): void
}

export const nodeFiles: FileLayer = {
  open: (path, flags) => openSync(path, flags | (constants.O_NOFOLLOW ?? 0), 0o600),
  close: (fd) => closeSync(fd),
  read: (fd, buffer, offset, length, position) => readSync(fd, buffer, offset, length, position),
  readLater: (fd, buffer, offset, length, position) =>
    new Promise((resolve, reject) => {
      read(fd, buffer, offset, length, position, (error, got) => (error ? reject(error) : resolve(got)))
    }),
  write: (fd, bytes, offset, length, position) => writeSync(fd, bytes, offset, length, position),
  truncate: (fd, length) => ftruncateSync(fd, length),
  sync: (fd) =>
    new Promise((resolve, reject) => {
      fdatasync(fd, (error) => (error ? reject(error) : resolve()))
    }),
  async syncDirectory(path) {
    try {
      // Opening and closing take microseconds; only the sync itself runs on another thread.
      const fd = openSync(path, constants.O_RDONLY)
      try {
        await new Promise<void>((resolve, reject) => {
          fsync(fd, (error) => (error ? reject(error) : resolve()))
        })
      } finally {
        closeSync(fd)
      }
    } catch (thrown) {
      if (!directoriesCannotBeSynced(thrown)) throw thrown
    }
  },
  facts: (fd) => factsOf(fstatSync(fd)),
  factsAt(path) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    return found === undefined ? undefined : factsOf(found)
  },
  makeDirectory: (path) => mkdirSync(path, { recursive: true, mode: 0o700 }),
  list: (path) => readdirSync(path),
  link: (existing, path) => linkSync(existing, path),
  unlink: (path) => unlinkSync(path),
  rename: (from, to) => renameSync(from, to),
  removeTree: (path) => rmSync(path, { recursive: true, force: true }),
}

export const readOnly = constants.O_RDONLY
export const readWrite = constants.O_RDWR
export const create = constants.O_RDWR | constants.O_CREAT
export const createNew = create | constants.O_EXCL

/** Writes all bytes: a disk that is filling up writes a part without an error, and fails on the rest. */
export function writeAll(files: FileLayer, fd: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    const wrote = files.write(fd, bytes, done, bytes.length - done, position + done)
    if (wrote === 0) throw Object.assign(new Error('the disk accepts no more bytes'), { code: 'ENOSPC' })
    done += wrote
  }
}

function factsOf(stats: Stats): FileFacts {
  return {
    size: stats.size,
    mtimeMs: stats.mtimeMs,
    identity: `${stats.dev}:${stats.ino}`,
    links: stats.nlink,
    isDirectory: stats.isDirectory(),
  }
}

/** Some systems cannot sync directories and report one of these codes. Then there is nothing to wait for. */
function directoriesCannotBeSynced(thrown: unknown): boolean {
  return ['EINVAL', 'ENOTSUP', 'EPERM', 'EISDIR', 'EBADF'].includes(errnoOf(thrown) ?? '')
}

export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown)) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Removes a file; no error when there is none. */
export function removeIfThere(files: FileLayer, path: string): void {
  try {
    files.unlink(path)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error
  }
}
