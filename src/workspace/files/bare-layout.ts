import { lstatSync } from 'node:fs'

/**
 * The directory on the way to a path that git takes, or would take once the path is written, for a git directory under
 * another name: one with `HEAD`, `objects` and `refs` (a bare repository, or what a `.git` file points to), or with
 * `HEAD` and `commondir`. Its configuration runs programs like that of a `.git`. `names` lead from the root to the
 * path.
 */
export function gitDirectoryOn(root: string, names: readonly string[]): string | undefined {
  for (const [at, name] of names.entries()) {
    const directory = [root, ...names.slice(0, at)].join('/')
    const child = name.toLowerCase()
    const has = (part: string): boolean => child === part.toLowerCase() || exists(`${directory}/${part}`)
    if (has('HEAD') && (has('commondir') || (has('objects') && has('refs')))) {
      return names.slice(0, at).join('/') || '.'
    }
  }
  return undefined
}

function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // A file on the way, or a directory that may not be entered: nothing can be made there either.
    return false
  }
}
