import { CapstanError } from '../../tool/errors.js'
import { statIfReadable } from '../if-readable.js'
import { type Area, containPath, type RootMatch, rootOfReal } from './contained-path.js'
import { PathNotPermittedError, PathOutsideError, PathProtectedError } from './errors.js'
import type { OpenMethod } from './open-directory.js'
import { type Protection, protectedBelow, protectedBy } from './protected-path.js'

/** Checks a real path at the moment of use. Returns the reason for a refusal, or nothing when it is allowed. */
export type Permit = (kind: 'read' | 'write', realPath: string) => string | undefined

/** The access of one user of the files. */
export type Guard = {
  readonly area: Area
  readonly protection: Protection
  readonly permit: Permit
  /** Returns the real directories that are protected because the workspace's `.git` points to them. */
  linkedGit(): Promise<readonly string[]>
  /** Whether anything exists at a path, including a link. */
  exists(path: string): boolean | Promise<boolean>
}

/** The access of one user of the files on this machine's disk, and how the files are opened. */
export type Access = Guard & {
  readonly method: OpenMethod
  /** Whether a change is flushed to the disk, so that it survives a power failure, before it is acknowledged. */
  readonly durable: boolean
  /** The paths that were checked last and opened last: the system has both in its cache. */
  readonly looked: { path: string | undefined; used?: string | undefined }
}

/** Throws unless this access to the real path is allowed. `asWritten` is used in the message. */
export async function authorise(
  access: Guard,
  kind: 'read' | 'write',
  realPath: string,
  asWritten: string,
): Promise<RootMatch> {
  const match = rootOfReal(access.area, realPath)
  if (match === undefined) throw new PathOutsideError(asWritten, 'leads outside the workspace')
  if (kind === 'write') await refuseProtected(access, match, realPath, asWritten)
  const refusal = access.permit(kind, realPath)
  if (refusal !== undefined) throw new PathNotPermittedError(asWritten, kind, refusal)
  return match
}

/** Returns why a path cannot be read; undefined when it can. */
export async function whyNotRead(access: Guard, path: string): Promise<string | undefined> {
  try {
    await authorise(access, 'read', containPath(access.area, path).absolute, path)
    return undefined
  } catch (thrown) {
    if (thrown instanceof CapstanError) return thrown.message
    throw thrown
  }
}

/** Throws when moving or removing this entry would also move or remove something protected. */
export function refuseCarrying(access: Guard, match: RootMatch, asWritten: string): void {
  const root = match.names.length === 0 ? 'the workspace root' : undefined
  const carried = root ?? protectedBelow(access.protection, match.names)
  if (carried !== undefined) throw new PathProtectedError(asWritten, carried)
}

async function refuseProtected(
  access: Guard,
  match: RootMatch,
  realPath: string,
  asWritten: string,
): Promise<void> {
  const name = protectedBy(access.protection, match.names)
  if (name !== undefined) throw new PathProtectedError(asWritten, name)
  const layout = await gitDirectoryOn(access, match.root.path, match.names)
  if (layout !== undefined) throw new PathProtectedError(asWritten, layout)
  for (const directory of await access.linkedGit()) {
    if (realPath === directory || realPath.startsWith(`${directory}/`))
      throw new PathProtectedError(asWritten, '.git')
  }
}

/**
 * Returns the directory on the way to a path that git accepts, or would accept after the write, as a git directory
 * under another name: one with `HEAD`, `objects` and `refs` (a bare repository, or the target of a `.git` file), or
 * with `HEAD` and `commondir`. Its configuration runs programs like that of a `.git`. `names` lead from the root to the
 * path.
 */
async function gitDirectoryOn(
  { exists }: Guard,
  root: string,
  names: readonly string[],
): Promise<string | undefined> {
  for (const [at, name] of names.entries()) {
    const directory = [root, ...names.slice(0, at)].join('/')
    const child = name.toLowerCase()
    const has = (part: string): boolean | Promise<boolean> =>
      child === part.toLowerCase() || exists(`${directory}/${part}`)
    if (!(await has('HEAD'))) continue
    if ((await has('commondir')) || ((await has('objects')) && (await has('refs'))))
      return names.slice(0, at).join('/') || '.'
  }
  return undefined
}

/** Whether anything exists at a path on this machine's disk. */
export function existsOnDisk(path: string): boolean {
  // Where a parent is a file, or a directory that cannot be entered, nothing can be created either.
  return statIfReadable(path) !== undefined
}
