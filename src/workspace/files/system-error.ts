import { CapstanError } from '../../tool/errors.js'
import { FileNotFoundError, FileSystemError, LinkLoopError, PathInvalidError } from './errors.js'

/** Converts a system error to a Capstan error, without the system's message, which contains host paths. */
export function fromSystem(thrown: unknown, path: string): unknown {
  if (thrown instanceof CapstanError) return thrown
  const errno = errnoOf(thrown)
  if (errno === undefined) return thrown
  if (errno === 'ENOENT') return new FileNotFoundError(path)
  if (errno === 'ELOOP') return new LinkLoopError(path)
  if (errno === 'ENAMETOOLONG')
    return new PathInvalidError(path, 'it is too long for this file system; use a shorter one')
  return new FileSystemError(path, errno, problems[errno] ?? 'the file system refused')
}

export function errnoOf(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !('code' in thrown) || thrown instanceof CapstanError) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}

/** For `.catch`: returns `answer` for the named errors and rethrows all others. */
export function tolerate<T>(codes: readonly string[], answer: T): (thrown: unknown) => T {
  return (thrown) => {
    if (codes.includes(errnoOf(thrown) ?? '')) return answer
    throw thrown
  }
}

const problems: Readonly<Record<string, string>> = {
  EACCES: 'the operating system denies access; ask the user to change its permissions',
  EPERM: 'the operating system does not permit this; ask the user to change its permissions or attributes',
  EROFS: 'the file system is read-only; nothing was written',
  ENOSPC: 'the disk is full; the file was left as it was. Free some space and try again',
  EDQUOT: 'the disk quota is used up; the file was left as it was. Free some space and try again',
  EFBIG: 'the file would be larger than the file system allows; the file was left as it was',
  EMFILE: 'too many files are open; try again in a moment',
  ENFILE: 'too many files are open; try again in a moment',
  ENOTDIR: 'a part of the path is a file, not a directory',
  EISDIR: 'it is a directory',
  ENOTEMPTY: 'the directory is not empty; remove what is in it first',
  EBUSY: 'it is in use (a mount point, perhaps)',
  EXDEV: 'it cannot be moved to another file system',
  EINVAL: 'the operating system rejects this as invalid (a directory cannot be moved into itself)',
  EIO: 'the disk reported an error; the outcome is unknown, read the file before you continue',
}
