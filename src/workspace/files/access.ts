import { lstatSync } from 'node:fs'
import { CapstanError } from '../../tool/errors.js'
import { type Area, containPath, type RootMatch, rootOfReal } from './contained-path.js'
import { PathNotPermittedError, PathOutsideError, PathProtectedError } from './errors.js'
import type { OpenMethod } from './open-directory.js'
import { type Protection, protectedBelow, protectedBy } from './protected-path.js'

/** Checks a real path at the moment of use. Returns the reason for a refusal, or nothing when it is allowed. */
export type Permit = (kind: 'read' | 'write', realPath: string) => string | undefined

/** What one user of the files may do. */
export type Guard = {
  readonly area: Area
  readonly protection: Protection
  readonly permit: Permit
  /** Real directories that are protected because the workspace's `.git` only points there. */
  linkedGit(): Promise<readonly string[]>
  /** Whether there is anything at a path, a link included. */
  exists(path: string): boolean | Promise<boolean>
}

/** What one user of the files on this machine's disk may do, and how they are reached. */
export type Access = Guard & {
  readonly method: OpenMethod
  /** Whether a change is on the disk, safe from a power cut, before it is acknowledged. */
  readonly durable: boolean
  /** What was looked at last, and what was opened last: the system has both in memory. */
  readonly looked: { path: string | undefined; used?: string | undefined }
}

/** Throws unless this real path may be used so. `asWritten` is for the message. */
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

/** Throws when something protected would go along if this were moved or removed. */
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
 * The directory on the way to a path that git takes, or would take once the path is written, for a git directory under
 * another name: one with `HEAD`, `objects` and `refs` (a bare repository, or what a `.git` file points to), or with
 * `HEAD` and `commondir`. Its configuration runs programs like that of a `.git`. `names` lead from the root to the
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

/** Whether there is anything at a path of this machine's disk. */
export function existsOnDisk(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // A file on the way, or a directory that may not be entered: nothing can be made there either.
    return false
  }
}
