/** Paths as text. Links are resolved by the workspace, which judges the real path again. */

export type PathStart = {
  /** The absolute directory that relative paths start from. */
  readonly cwd: string
  /** The directory that `~` means. Absent: `~` is an ordinary name. */
  readonly home?: string | undefined
}

/** Returns the absolute path without `.`, `..` and doubled slashes; `..` above the root stays at the root. */
export function resolvePath(path: string, { cwd, home }: PathStart): string {
  return `/${resolveSegments(path, { cwd, home }).join('/')}`
}

function resolveSegments(path: string, { cwd, home }: PathStart): string[] {
  if (path.startsWith('/')) return normalSegments(path)
  if (home !== undefined && (path === '~' || path.startsWith('~/')))
    return normalSegments(`${home}/${path.slice(1)}`)
  return normalSegments(`${cwd}/${path}`)
}

/** Returns the names of an absolute path, from the root down. */
export function normalSegments(path: string): string[] {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') segments.pop()
    else segments.push(segment)
  }
  return segments
}

/** Returns the path relative to a directory above it, or unchanged when it is elsewhere. */
export function relativeTo(root: string, path: string): string {
  if (path === root) return '.'
  const start = root === '/' ? '/' : `${root}/`
  return path.startsWith(start) ? path.slice(start.length) : path
}
