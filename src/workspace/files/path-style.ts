/** How a platform writes paths. A seam: the rules of each can be tested on every other. */
export type PathStyle = {
  readonly separator: '/' | '\\'
  /** Two names that differ in case are one file on the platform's usual volumes. */
  readonly foldsCase: boolean
}

export const linuxStyle: PathStyle = { separator: '/', foldsCase: false }
export const macStyle: PathStyle = { separator: '/', foldsCase: true }
export const windowsStyle: PathStyle = { separator: '\\', foldsCase: true }

export function styleOf(platform: string): PathStyle {
  if (platform === 'win32') return windowsStyle
  return platform === 'darwin' ? macStyle : linuxStyle
}

/** An absolute path taken apart: what it starts from (`/` or `C:\`) and the names from there on. */
export type PathParts = { readonly start: string; readonly names: readonly string[] }

/** Takes an absolute path apart; undefined when it is not absolute in this style. */
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
 * Takes `.` and `..` away by their text alone. What remains holds no `..`, so that the path which was checked and the
 * path which the system walks are the same also where a link is before the `..`.
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

/** One key for all spellings that some file system takes for one file. Too wide is harmless: writers wait. */
export function foldCase(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
