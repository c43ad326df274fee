import { closeSync, constants, fstatSync, lstatSync, openSync, read, readSync, type Stats } from 'node:fs'
import { lstat, realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
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

/** What a path led to: an open directory that is inside a root, and a name in it that need not exist. */
export type Place = {
  readonly asWritten: string
  readonly directory: OpenDirectory
  readonly name: string
  readonly realPath: string
  readonly root: Root
  /** What is there, links not followed; undefined when nothing is. */
  readonly stat: Stats | undefined
}

export type Want = {
  readonly kind: 'read' | 'write'
  /** Whether a link at the end of the path is followed (to somewhere inside) or is itself what is meant. */
  readonly follow: boolean
  /** Whether directories on the way are made. */
  readonly makeParents?: boolean
}

/**
 * Goes to a path and works there. The directory is opened, its real path checked, and the work goes through that open directory,
 * so what was checked is what is used however the tree is changed meanwhile (`open-directory.ts` says how far that holds where).
 */
export async function withPlace<T>(
  access: Access,
  path: ContainedPath,
  want: Want,
  use: (place: Place) => Promise<T>,
): Promise<T> {
  refuseProtectedText(access, path, want)
  try {
    let target = path.absolute
    for (let hop = 0; hop < maxHops; hop++) {
      const step = await stepTo(access, path, target, want, use)
      if ('done' in step) return step.done
      target = step.linkTo
    }
  } catch (thrown) {
    throw fromSystem(thrown, path.asWritten)
  }
  throw new PathUnstableError(path.asWritten)
}

/** The real path that a path leads to, or would if it existed. Judged by containment alone. */
export async function realPathOf(access: Access, path: ContainedPath, follow: boolean): Promise<string> {
  // Nothing is done there, hence nothing needs to stay open: one question is enough where there is an answer.
  const real = follow ? await realpath(path.absolute).catch(() => undefined) : undefined
  if (real === path.absolute) access.looked.path = real
  if (real !== undefined && !real.includes('\ufffd') && rootOfReal(access.area, real) !== undefined)
    return real
  const anyone: Access = { ...access, permit: () => undefined }
  try {
    return await withPlace(anyone, path, { kind: 'read', follow }, async (place) => place.realPath)
  } catch (thrown) {
    if (thrown instanceof FileNotFoundError) return missingRealPath(access, path)
    throw thrown
  }
}

/** A regular file that is open for reading. */
export type OpenFile = {
  readonly stat: Stats
  /** How many bytes were read; none at the end. Without a position it goes on where it was. */
  read(into: Uint8Array, offset: number, length: number, position: number | null): Promise<number>
  close(): void
}

/** Opens the regular file at a place. Nothing else is opened: a pipe would hang, a device would act. */
export async function openRegular(place: Place): Promise<OpenFile> {
  if (place.stat === undefined) throw new FileNotFoundError(place.asWritten)
  refuseIrregular(place.asWritten, place.stat)
  // It was looked at a moment ago, so that there is nothing to wait for before its bytes.
  const fd = openSync(place.directory.at(place.name), readFlags)
  let isOpen = true
  const close = (): void => {
    // Closed twice, it could be the next one's.
    if (isOpen) closeSync(fd)
    isOpen = false
  }
  try {
    const stat = fstatSync(fd)
    refuseIrregular(place.asWritten, stat)
    if (!(await place.directory.isSame())) throw new PathUnstableError(place.asWritten)
    return {
      stat,
      read: async (into, offset, length, position) =>
        // Like opening it, reading a small file is over sooner than somebody else could be asked to do it.
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

// A followed link ends at a real path; more hops are needed only when somebody changes the tree at that very moment.
const maxHops = 10
const readFlags =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0)

type Step<T> = { readonly done: T } | { readonly linkTo: string }

async function stepTo<T>(
  access: Access,
  path: ContainedPath,
  target: string,
  want: Want,
  use: (place: Place) => Promise<T>,
): Promise<Step<T>> {
  // The first look may wait for a disk, so it does not hold anybody up. What follows is about what was just looked at: the system
  // has it in memory, and all of it is checked through the open directory whatever this look saw.
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
    return { done: await use({ asWritten: path.asWritten, directory, name: realName, realPath, root, stat }) }
  } finally {
    await directory.close()
  }
}

/** By its text alone a protected path is refused before anything is touched: it may not exist yet. */
function refuseProtectedText(access: Access, path: ContainedPath, want: Want): void {
  const name = want.kind === 'write' ? protectedBy(access.protection, path.names) : undefined
  if (name !== undefined) throw new PathProtectedError(path.asWritten, name)
}

/** Case and Unicode form as the disk has them, where a volume takes several spellings for one name. */
async function spelledByDisk(
  access: Access,
  stat: Stats | undefined,
  realPath: string,
  at: string,
): Promise<string> {
  const takesSpellings = access.area.style.foldsCase || access.method === 'compare'
  return takesSpellings && stat !== undefined && !stat.isSymbolicLink() ? realpath(at) : realPath
}

/** Outside and missing get the same answer: a link must not be a way to learn what exists elsewhere. */
async function linkTarget(access: Access, path: ContainedPath, at: string): Promise<string> {
  const target = await realpath(at).catch(tolerate(['ENOENT', 'EACCES', 'ENOTDIR'], undefined))
  if (target === undefined || rootOfReal(access.area, target) === undefined) {
    throw new PathOutsideError(path.asWritten, nowhere)
  }
  return target
}

/** Where a path would be made whose directories do not exist yet. */
async function missingRealPath(access: Access, path: ContainedPath): Promise<string> {
  const { directory, missing } = await openNearest(access, path, dirname(path.absolute))
  await directory.close()
  return join(directory.realPath, ...missing, basename(path.absolute))
}
