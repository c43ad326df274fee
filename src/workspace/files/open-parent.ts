import type { Stats } from 'node:fs'
import { lstat, mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Access, authorise } from './access.js'
import { type ContainedPath, rootOfReal } from './contained-path.js'
import { FileKindError, FileNotFoundError, PathOutsideError, PathUnstableError } from './errors.js'
import { type OpenDirectory, openDirectory } from './open-directory.js'
import { errnoOf, tolerate } from './system-error.js'

export type ParentWant = { readonly kind: 'read' | 'write'; readonly makeParents?: boolean | undefined }

export const nowhere = 'is a link that leads to nothing inside the workspace'

/** Opens the parent directory of a path. Missing directories are created if allowed, each inside a root. */
export async function openParent(
  access: Access,
  path: ContainedPath,
  parent: string,
  name: string,
  want: ParentWant,
): Promise<OpenDirectory> {
  const { directory, missing, blocked } = await openNearest(access, path, parent)
  const [first] = missing
  if (first === undefined) return directory
  try {
    explainBlocked(path, await lstat(directory.at(first)).catch(tolerate(['ENOENT'], undefined)), blocked)
    if (want.makeParents !== true) throw new FileNotFoundError(path.asWritten)
    await authorise(access, want.kind, join(directory.realPath, ...missing, name), path.asWritten)
  } catch (thrown) {
    await directory.close()
    throw thrown
  }
  return makeDirectories(access, path, directory, missing)
}

type Nearest = {
  readonly directory: OpenDirectory
  /** The names that could not be opened. */
  readonly missing: readonly string[]
  /** The system error of the first of them. */
  readonly blocked: string | undefined
}

/** Opens the deepest existing directory on the way, and checks that it is inside a root. */
export async function openNearest(access: Access, path: ContainedPath, wanted: string): Promise<Nearest> {
  const missing: string[] = []
  let blocked: string | undefined
  for (let at = wanted; ; at = dirname(at)) {
    const opened = await openDirectory(access.method, at).catch((thrown: unknown) => {
      // The blocking entry may be the target of a link that leads outside; continuing upwards does not reveal it.
      blocked = errnoOf(thrown) ?? ''
      if (
        ['ENOENT', 'ENOTDIR', 'EACCES'].includes(blocked) &&
        rootOfReal(access.area, dirname(at)) !== undefined
      )
        return undefined
      throw thrown
    })
    if (opened !== undefined) {
      if (rootOfReal(access.area, opened.realPath) !== undefined)
        return { directory: opened, missing, blocked }
      await opened.close()
      throw new PathOutsideError(path.asWritten, 'leads outside the workspace')
    }
    missing.unshift(basename(at))
  }
}

/** Throws the reason when an existing entry is not a directory that can be opened. */
function explainBlocked(path: ContainedPath, stat: Stats | undefined, blocked: string | undefined): void {
  if (stat === undefined) return
  if (stat.isSymbolicLink()) throw new PathOutsideError(path.asWritten, nowhere)
  if (stat.isDirectory()) {
    if (blocked === 'EACCES') throw Object.assign(new Error('no access'), { code: 'EACCES' })
    // Another process has created it in the meantime.
    return
  }
  throw new FileKindError(path.asWritten, 'runs through a file as if it were a directory; use another path')
}

async function makeDirectories(
  access: Access,
  path: ContainedPath,
  from: OpenDirectory,
  names: readonly string[],
): Promise<OpenDirectory> {
  let directory = from
  for (const name of names) {
    const parent = directory
    try {
      const made = await mkdir(parent.at(name)).then(() => true, tolerate(['EEXIST'], false))
      if (made && access.durable) await parent.sync()
      // Links are not followed: the created entry is a directory, and a link in its place is refused.
      directory = await openDirectory(access.method, parent.at(name), { follow: false }).catch(
        (thrown: unknown) => {
          if (['ELOOP', 'ENOTDIR', 'ENOENT'].includes(errnoOf(thrown) ?? ''))
            throw new PathUnstableError(path.asWritten)
          throw thrown
        },
      )
    } finally {
      await parent.close()
    }
    if (rootOfReal(access.area, directory.realPath) === undefined) {
      await directory.close()
      throw new PathOutsideError(path.asWritten, 'leads outside the workspace')
    }
  }
  return directory
}
