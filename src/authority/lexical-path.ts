/**
 * Paths as text. What links make of a path only the file system knows: the workspace resolves them and judges the real path again.
 */

export type PathStart = {
  /** Where a relative path starts; an absolute path. */
  readonly cwd: string
  /** What `~` stands for; left out, `~` is an ordinary name. */
  readonly home?: string | undefined
}

/** The absolute path without `.`, `..` and doubled slashes; `..` above the root stays at the root, as in POSIX. */
export function resolvePath(path: string, { cwd, home }: PathStart): string {
  return `/${resolveSegments(path, { cwd, home }).join('/')}`
}

function resolveSegments(path: string, { cwd, home }: PathStart): string[] {
  if (path.startsWith('/')) return normalSegments(path)
  if (home !== undefined && (path === '~' || path.startsWith('~/')))
    return normalSegments(`${home}/${path.slice(1)}`)
  return normalSegments(`${cwd}/${path}`)
}

/** The names on the way down to an absolute path. */
export function normalSegments(path: string): string[] {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') segments.pop()
    else segments.push(segment)
  }
  return segments
}

/** The path as seen from a directory above it, or itself when it lies elsewhere. */
export function relativeTo(root: string, path: string): string {
  if (path === root) return '.'
  const start = root === '/' ? '/' : `${root}/`
  return path.startsWith(start) ? path.slice(start.length) : path
}
