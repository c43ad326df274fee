/**
 * What no tool can write, whatever the rules say. A name means itself and everything below it, at any depth; a path
 * with a slash is counted from the root.
 *
 * `.git` is closed as a whole rather than by a list of its dangerous parts, since that list has no end: `hooks`,
 * `config` and `config.worktree`, `info/attributes` (filters run commands), `modules/<name>/config` and `hooks`,
 * `worktrees`, `commondir`, `rebase-merge/git-rebase-todo` (its `exec` lines run), `objects/info/alternates`, and
 * `objects`, where other content under a known hash rewrites what was reviewed. A `.git` *file* is as good as a
 * directory: it names one. Users do not edit these by hand in ordinary work; `git` itself does, as a command that rules
 * and the sandbox judge.
 */
const alwaysProtected: readonly string[] = ['.git', '.capstan', '.mcp.json']

export type Protection = {
  readonly names: readonly string[]
  readonly paths: readonly (readonly string[])[]
}

export const noProtection: Protection = { names: [], paths: [] }

export function protect(extra: readonly string[] = [], fromRoot: readonly string[] = []): Protection {
  const parts = (entry: string): string[] =>
    entry.split(/[\\/]+/).filter((name) => name !== '' && name !== '.')
  const all = [...alwaysProtected, ...extra].map(parts)
  const paths = [...all.filter((entry) => entry.length > 1), ...fromRoot.map(parts)]
  return {
    names: all.filter((entry) => entry.length === 1).map((entry) => foldName(entry[0] ?? '')),
    paths: paths.map((entry) => entry.map(foldName)),
  }
}

/** The protected name that covers these names below a root, if one does. */
export function protectedBy(protection: Protection, names: readonly string[]): string | undefined {
  const folded = names.map(foldName)
  const byName = folded.findIndex((name) => protection.names.some((guarded) => isSpelling(name, guarded)))
  if (byName >= 0) return names.slice(0, byName + 1).join('/')
  const byPath = protection.paths.find((path) => startsWith(folded, path))
  return byPath && names.slice(0, byPath.length).join('/')
}

/** The protected path that lies below these names: moving or removing them would take it along. */
export function protectedBelow(protection: Protection, names: readonly string[]): string | undefined {
  const folded = names.map(foldName)
  return protection.paths.find((path) => startsWith(path, folded))?.join('/')
}

function startsWith(names: readonly string[], start: readonly string[]): boolean {
  return start.length <= names.length && start.every((name, index) => isSpelling(names[index] ?? '', name))
}

/**
 * One form for every spelling that some file system takes for the same name: case, Unicode forms, characters that HFS+
 * ignores, and on NTFS trailing dots and spaces and stream suffixes. The same on every platform: a repository travels.
 */
function foldName(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g, '')
    .replace(/:.*$/s, '')
    .replace(/[. ]+$/, '')
}

function isSpelling(name: string, guarded: string): boolean {
  return name === guarded || isShortName(name, guarded)
}

/** `GIT~1`: the second name that FAT and NTFS give to a file. */
function isShortName(name: string, guarded: string): boolean {
  const short = /^([^~]{1,6})~\d+(?:\.[^.]{0,3})?$/.exec(name)?.[1]
  return short !== undefined && short === guarded.replace(/^\.+/, '').split('.')[0]?.slice(0, 6)
}
