/** The path syntax of a platform. A parameter, so that the rules of each can be tested on every other. */
export type PathStyle = {
  readonly separator: '/' | '\\'
  /** Whether two names that differ only in case are one file on the platform's usual volumes. */
  readonly foldsCase: boolean
}

export const linuxStyle: PathStyle = { separator: '/', foldsCase: false }
export const macStyle: PathStyle = { separator: '/', foldsCase: true }
export const windowsStyle: PathStyle = { separator: '\\', foldsCase: true }

export function styleOf(platform: string): PathStyle {
  if (platform === 'win32') return windowsStyle
  return platform === 'darwin' ? macStyle : linuxStyle
}

/** The parts of an absolute path: its start (`/` or `C:\`) and the names after it. */
export type PathParts = { readonly start: string; readonly names: readonly string[] }

/** Splits an absolute path into its parts; undefined when it is not absolute in this style. */
export function splitAbsolute(style: PathStyle, path: string): PathParts | undefined {
  if (style.separator === '/')
    return path.startsWith('/') ? { start: '/', names: splitNames(style, path) } : undefined
  const drive = /^([A-Za-z]):[\\/]/.exec(path)?.[1]
  if (drive === undefined) return undefined
  return { start: `${drive.toUpperCase()}:\\`, names: splitNames(style, path.slice(3)) }
}

export function splitNames(style: PathStyle, path: string): string[] {
  return path.split(style.separator === '/' ? /\/+/ : /[\\/]+/).filter((name) => name !== '')
}

export function joinParts(style: PathStyle, parts: PathParts): string {
  return parts.start + parts.names.join(style.separator)
}

/**
 * Removes `.` and `..` by their text alone. The result contains no `..`, so that the checked path and the path that the
 * system resolves are the same, even when a link precedes the `..`.
 */
export function withoutDots(names: readonly string[]): string[] {
  const kept: string[] = []
  for (const name of names) {
    if (name === '..') kept.pop()
    else if (name !== '.') kept.push(name)
  }
  return kept
}

export function sameName(style: PathStyle, a: string, b: string): boolean {
  return a === b || (style.foldsCase && foldCase(a) === foldCase(b))
}

/** Returns one key for all spellings that some file system treats as one file. Too wide is harmless: writers wait. */
export function foldCase(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
