import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { bestMethod, type OpenMethod, openDirectory } from '../files/open-directory.js'
import { SearchError } from './errors.js'

/** Returns why a file at a real path must not be read, or undefined when it can be read. */
export type PermitRead = (realPath: string) => string | undefined

/** The target of a search: a directory, or one file in it, whose real path is inside the root. */
export type SearchTarget = {
  readonly root: string
  readonly directory: string
  /** The path from the root to the directory, with forward slashes and a trailing one; empty for the root itself. */
  readonly prefix: string
  readonly fileName: string | undefined
  /** The top of the git repository that contains the root, if any. Ignore rules apply from there, or from the root. */
  readonly repository: string | undefined
  readonly method: OpenMethod
}

/** A target whose directory is open. `at` leads to that directory even if it is replaced in the meantime. */
export type OpenTarget = SearchTarget & { readonly at: string }

/**
 * Finds a target and keeps its directory open while it is used. Where `/proc` does not show the handles of this
 * process, `at` is the path that was checked: another process cannot be started in a directory that only this process
 * has open.
 */
export async function withTarget<T>(
  root: string,
  path: string | undefined,
  permit: PermitRead,
  use: (target: OpenTarget) => Promise<T>,
): Promise<T> {
  const target = findTarget(root, path, permit)
  if (target.method === 'compare') return use({ ...target, at: target.directory })
  const opened = await openDirectory('handle', target.directory, { follow: false }).catch(
    (cause: unknown) => {
      throw missing(path, cause)
    },
  )
  try {
    if (opened.realPath !== target.directory) throw missing(path, undefined)
    return await use({ ...target, at: opened.at('.') })
  } finally {
    await opened.close()
  }
}

export function findTarget(root: string, path: string | undefined, permit: PermitRead): SearchTarget {
  const realRoot = realpathSync(root)
  const { real, kind } = locate(realRoot, path ?? '.')
  const fromRoot = relative(realRoot, real)
  if (fromRoot === '..' || fromRoot.startsWith(`..${sep}`) || isAbsolute(fromRoot)) {
    throw new SearchError('search_path_refused', `${show(path)} is outside the workspace.`)
  }
  if (kind === 'other') {
    throw new SearchError('search_path_refused', `${show(path)} is neither a file nor a directory.`)
  }
  const refusal = kind === 'file' ? permit(real) : undefined
  if (refusal !== undefined) throw new SearchError('search_path_refused', refusal)
  const directory = kind === 'file' ? dirname(real) : real
  const below = relative(realRoot, directory).split(sep).join('/')
  return {
    root: realRoot,
    directory,
    prefix: below === '' ? '' : `${below}/`,
    fileName: kind === 'file' ? real.slice(directory.length).replace(sep, '') : undefined,
    repository: findRepository(realRoot),
    method: methodFor(realRoot),
  }
}

function locate(root: string, path: string): { real: string; kind: 'file' | 'directory' | 'other' } {
  if (path.includes('\0') || path.length > 4_096) {
    throw new SearchError('search_path_refused', `${show(path)} is not a path.`)
  }
  try {
    const real = realpathSync(resolve(root, path))
    const stat = statSync(real)
    return { real, kind: stat.isDirectory() ? 'directory' : stat.isFile() ? 'file' : 'other' }
  } catch (cause) {
    // The same message inside and outside, so that a search does not reveal what exists elsewhere.
    const inside = !relative(root, resolve(root, path)).startsWith('..')
    const code = inside ? 'search_path_missing' : 'search_path_refused'
    const words = inside ? 'does not exist or cannot be read' : 'is outside the workspace'
    throw new SearchError(code, `${show(path)} ${words}.`, { cause })
  }
}

/** An unreadable root is not a reason to use the weaker method. */
function methodFor(root: string): OpenMethod {
  try {
    return bestMethod(root)
  } catch (cause) {
    throw missing('.', cause)
  }
}

function missing(path: string | undefined, cause: unknown): SearchError {
  return new SearchError('search_path_missing', `${show(path)} does not exist or cannot be read.`, { cause })
}

function findRepository(root: string): string | undefined {
  for (let at = root; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return at
    if (at === dirname(at)) return undefined
  }
}

function show(path: string | undefined): string {
  return JSON.stringify((path ?? '.').slice(0, 200))
}
