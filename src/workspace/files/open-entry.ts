import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  read,
  readSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ifReadable } from '../if-readable.js'
import { type Access, authorise } from './access.js'
import { type ContainedPath, type Root, rootOfReal } from './contained-path.js'
import {
  FileKindError,
  FileNotFoundError,
  PathOutsideError,
  PathProtectedError,
  PathUnstableError,
} from './errors.js'
import type { OpenDirectory } from './open-directory.js'
import { nowhere, openNearest, openParent } from './open-parent.js'
import { protectedBy } from './protected-path.js'
import { fromSystem, tolerate } from './system-error.js'

/** The result of opening a path: an open directory inside a root, and a name in it, which need not exist. */
export type OpenEntry = {
  readonly asWritten: string
  readonly directory: OpenDirectory
  readonly name: string
  readonly realPath: string
  readonly root: Root
  /** The entry with this name, without following links; undefined when there is none. */
  readonly stat: Stats | undefined
}

export type Want = {
  readonly kind: 'read' | 'write'
  /** Whether a link at the end of the path is followed (to a target inside a root), or the link itself is used. */
  readonly follow: boolean
  /** Whether missing directories on the way are created. */
  readonly makeParents?: boolean | undefined
}

/**
 * Opens the directory that a path leads to and checks its real path. All work goes through that open directory, so the
 * checked directory is the one that is used, even if the tree changes at the same time (`open-directory.ts` describes
 * the limits of this on each platform). The caller closes `directory`.
 *
 * @example
 * const entry = await openEntry(access, path, { kind: 'read', follow: true })
 * try {
 *   return await readWhole(entry, limits)
 * } finally {
 *   await entry.directory.close()
 * }
 */
export async function openEntry(access: Access, path: ContainedPath, want: Want): Promise<OpenEntry> {
  refuseProtectedText(access, path, want)
  try {
    let target = path.absolute
    for (let hop = 0; hop < maxHops; hop++) {
      const found = await openTarget(access, path, target, want)
      if ('directory' in found) return found
      target = found.linkTo
    }
  } catch (thrown) {
    throw fromSystem(thrown, path.asWritten)
  }
  throw new PathUnstableError(path.asWritten)
}

/** Returns the real path that a path leads to, or would lead to if it existed. Checks containment only. */
export async function realPathOf(access: Access, path: ContainedPath, follow: boolean): Promise<string> {
  // Nothing is used at the path, so nothing needs to stay open: one system call is enough if it succeeds.
  const real = follow ? await followed(access, path.absolute) : undefined
  if (real === path.absolute) access.looked.path = real
  if (real !== undefined && !real.includes('\ufffd') && rootOfReal(access.area, real) !== undefined)
    return real
  const unrestricted: Access = { ...access, permit: () => undefined }
  try {
    const { directory, realPath } = await openEntry(unrestricted, path, { kind: 'read', follow })
    await directory.close()
    return realPath
  } catch (thrown) {
    if (thrown instanceof FileNotFoundError) return missingRealPath(access, path)
    throw thrown
  }
}

/** Returns the real path of an existing entry; undefined when it cannot be resolved. */
async function followed(access: Access, path: string): Promise<string | undefined> {
  const isKnown = access.looked.used === path || wasJustUsed(dirname(path))
  access.looked.used = undefined
  if (!isKnown) return realpath(path).catch(() => undefined)
  // The system has the path, or its directory, in its cache: a call on another thread would take longer. If the entry
  // was removed since, the caller continues with the open directories, which report the reason.
  return ifReadable(() => realpathSync.native(path))
}

/** The directory of the file that this process opened last, and when. */
const lastUsed = { directory: '', atMs: Number.NEGATIVE_INFINITY }
/** A disk that answered within this time is assumed to answer the next call without delay as well. */
const justMs = 1_000

function wasJustUsed(directory: string): boolean {
  return lastUsed.directory === directory && performance.now() - lastUsed.atMs < justMs
}

/** A regular file that is open for reading. */
export type OpenFile = {
  readonly stat: Stats
  /** Returns the number of bytes read; 0 at the end. Without a position it continues after the last read. */
  read(into: Uint8Array, offset: number, length: number, position: number | null): Promise<number>
  close(): void
}

/** Opens the regular file at an entry. Other kinds are not opened: a pipe would block, a device can have effects. */
export async function openRegular(entry: OpenEntry): Promise<OpenFile> {
  if (entry.stat === undefined) throw new FileNotFoundError(entry.asWritten)
  refuseIrregular(entry.asWritten, entry.stat)
  // Its metadata was just read and is cached, so opening it does not block.
  const fd = openSync(entry.directory.at(entry.name), readFlags)
  let isOpen = true
  const close = (): void => {
    // After it was closed once, the number may belong to another file.
    if (isOpen) closeSync(fd)
    isOpen = false
  }
  try {
    const stat = fstatSync(fd)
    refuseIrregular(entry.asWritten, stat)
    if (!(await entry.directory.isSame())) throw new PathUnstableError(entry.asWritten)
    return {
      stat,
      read: async (into, offset, length, position) =>
        // Reading a small file takes less time than passing the read to another thread.
        stat.size <= smallSize
          ? readSync(fd, into, offset, length, position)
          : (await readFrom(fd, into, offset, length, position)).bytesRead,
      close,
    }
  } catch (thrown) {
    close()
    throw thrown
  }
}

const readFrom = promisify(read)
const smallSize = 65_536

export function refuseIrregular(path: string, stat: Stats): void {
  if (stat.isFile()) return
  if (stat.isDirectory()) throw new FileKindError(path, 'is a directory; list it, or name a file in it')
  throw new FileKindError(
    path,
    'is not a regular file (a pipe, socket, device or link); only regular files can be used',
  )
}

// A followed link ends at a real path; more steps are needed only when the tree changes at the same time.
const maxHops = 10
const readFlags =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

type Link = { readonly linkTo: string }

async function openTarget(
  access: Access,
  path: ContainedPath,
  target: string,
  want: Want,
): Promise<OpenEntry | Link> {
  // The first `lstat` may wait for the disk, so it does not block this thread. The calls after it concern the same
  // entry, which is then in the cache. Everything is checked through the open directory, whatever this call found.
  if (access.looked.path !== target) await lstat(target).catch(() => undefined)
  access.looked.path = undefined
  const isRoot = rootOfReal(access.area, target)?.names.length === 0
  const directory = await openParent(
    access,
    path,
    isRoot ? target : dirname(target),
    isRoot ? '' : basename(target),
    want,
  )
  let entry: OpenEntry | undefined
  try {
    const name = isRoot ? '.' : basename(target)
    const at = directory.at(name)
    const stat = lstatSync(at, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink() && want.follow) return { linkTo: await linkTarget(access, path, at) }
    const realPath = isRoot
      ? directory.realPath
      : await spelledByDisk(access, stat, join(directory.realPath, name), at)
    const { root } = await authorise(access, want.kind, realPath, path.asWritten)
    const realName = isRoot ? '.' : basename(realPath)
    entry = { asWritten: path.asWritten, directory, name: realName, realPath, root, stat }
    access.looked.used = target
    lastUsed.directory = dirname(target)
    lastUsed.atMs = performance.now()
    return entry
  } finally {
    if (entry === undefined) await directory.close()
  }
}

/** Rejects a protected path by its text, before anything is accessed: the path may not exist yet. */
function refuseProtectedText(access: Access, path: ContainedPath, want: Want): void {
  const name = want.kind === 'write' ? protectedBy(access.protection, path.names) : undefined
  if (name !== undefined) throw new PathProtectedError(path.asWritten, name)
}

/** Returns case and Unicode form as stored on the disk, where a volume treats several spellings as one name. */
async function spelledByDisk(
  access: Access,
  stat: Stats | undefined,
  realPath: string,
  at: string,
): Promise<string> {
  const takesSpellings = access.area.style.foldsCase || access.method === 'compare'
  return takesSpellings && stat !== undefined && !stat.isSymbolicLink() ? realpath(at) : realPath
}

/** Targets outside the roots and missing targets produce the same error: a link must not reveal what exists. */
async function linkTarget(access: Access, path: ContainedPath, at: string): Promise<string> {
  const target = await realpath(at).catch(tolerate(['ENOENT', 'EACCES', 'ENOTDIR'], undefined))
  if (target === undefined || rootOfReal(access.area, target) === undefined) {
    throw new PathOutsideError(path.asWritten, nowhere)
  }
  return target
}

/** Returns the real path of an entry whose directories do not exist yet. */
async function missingRealPath(access: Access, path: ContainedPath): Promise<string> {
  const { directory, missing } = await openNearest(access, path, dirname(path.absolute))
  await directory.close()
  return join(directory.realPath, ...missing, basename(path.absolute))
}
