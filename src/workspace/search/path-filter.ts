import { createIgnoreTree } from './gitignore.js'
import { compileGlob } from './glob-pattern.js'
import type { PermitRead, SearchTarget } from './search-target.js'

export type PathFilter = {
  /** Accepts a path relative to the root. */
  readonly accepts: (path: string) => boolean
  readonly names: readonly string[] | undefined
}

/** Returns the filter for every result: the glob, relative to the searched directory, and the permit. */
export function createPathFilter(
  target: SearchTarget,
  pattern: string | undefined,
  permit: PermitRead,
): PathFilter {
  const glob = pattern === undefined ? undefined : compileGlob(relativeTo(target, pattern))
  return {
    names: glob?.names,
    accepts: (path) =>
      (glob === undefined || glob.matches(path.slice(target.prefix.length))) &&
      permit(`${target.root === '/' ? '' : target.root}/${path}`) === undefined,
  }
}

/** Models also write absolute patterns; inside the searched directory they mean the same as relative ones. */
function relativeTo(target: SearchTarget, pattern: string): string {
  const start = `${target.directory}/`
  return pattern.startsWith(start) ? `/${pattern.slice(start.length)}` : pattern
}

/**
 * Applies the rules of directories above the searched one, outside of a repository. Ripgrep would read such rules from
 * every directory up to `/` or from none; here they end at the root, so they are applied to its results.
 */
export function createAncestorFilter(target: SearchTarget): ((path: string) => boolean) | undefined {
  if (target.repository !== undefined || target.prefix === '' || target.fileName !== undefined)
    return undefined
  const tree = createIgnoreTree(target.root, { repository: false })
  const directories = new Map<string, boolean>()
  const keepsDirectory = (path: string): boolean => {
    if (path.length < target.prefix.length) return true
    const known = directories.get(path)
    if (known !== undefined) return known
    const [parent, name] = split(path)
    const keeps = keepsDirectory(parent) && !tree.ignores(absolute(target, parent), name, true)
    directories.set(path, keeps)
    return keeps
  }
  return (path) => {
    const [parent, name] = split(path)
    return keepsDirectory(parent) && !tree.ignores(absolute(target, parent), name, false)
  }
}

function split(path: string): [parent: string, name: string] {
  const slash = path.lastIndexOf('/')
  return [path.slice(0, Math.max(0, slash)), path.slice(slash + 1)]
}

function absolute(target: SearchTarget, path: string): string {
  return path === '' ? target.root : `${target.root}/${path}`
}
