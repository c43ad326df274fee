/**
 * Names and paths that no tool can write, whatever the rules say. A name protects itself and everything below it, at
 * any depth; a path with a slash is relative to the root.
 *
 * `.git` is protected as a whole rather than by a list of its dangerous parts, because such a list is never complete:
 * `hooks`, `config` and `config.worktree`, `info/attributes` (filters run commands), `modules/<name>/config` and
 * `hooks`, `worktrees`, `commondir`, `rebase-merge/git-rebase-todo` (its `exec` lines run), `objects/info/alternates`,
 * and `objects`, where other content under a known hash replaces reviewed content. A `.git` *file* is as dangerous as a
 * directory, because it names one. Users rarely edit these by hand; `git` itself does, as a command that rules and the
 * sandbox judge.
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

/** Returns the protected name that covers these names below a root, if there is one. */
export function protectedBy(protection: Protection, names: readonly string[]): string | undefined {
  const folded = names.map(foldName)
  const byName = folded.findIndex((name) => protection.names.some((guarded) => isSpelling(name, guarded)))
  if (byName >= 0) return names.slice(0, byName + 1).join('/')
  const byPath = protection.paths.find((path) => startsWith(folded, path))
  return byPath && names.slice(0, byPath.length).join('/')
}

/** Returns the protected path below these names, which would be moved or removed with them. */
export function protectedBelow(protection: Protection, names: readonly string[]): string | undefined {
  const folded = names.map(foldName)
  return protection.paths.find((path) => startsWith(path, folded))?.join('/')
}

function startsWith(names: readonly string[], start: readonly string[]): boolean {
  return start.length <= names.length && start.every((name, index) => isSpelling(names[index] ?? '', name))
}

/**
 * Returns one form for all spellings that some file system treats as the same name: case, Unicode forms, characters
 * that HFS+ ignores, and on NTFS trailing dots and spaces and stream suffixes. The same on every platform, because
 * repositories are copied between platforms.
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

/** Whether a name is a short name (`GIT~1`), the second name that FAT and NTFS assign to a file. */
function isShortName(name: string, guarded: string): boolean {
  const short = /^([^~]{1,6})~\d+(?:\.[^.]{0,3})?$/.exec(name)?.[1]
  return short !== undefined && short === guarded.replace(/^\.+/, '').split('.')[0]?.slice(0, 6)
}
