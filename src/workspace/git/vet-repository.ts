import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { entriesIfReadable } from '../if-readable.js'
import { gitEntry, hasOtherNames, readSmall } from './git-directory.js'
import type { FoundRepository } from './repository-scan.js'
import { harmfulSetting } from './safe-config.js'

/**
 * Returns why a repository that appeared while commands ran could make git start a program, or read a configuration
 * elsewhere; undefined for one that cannot, such as a result of `git init` or `git clone`. `isHeld` returns whether
 * commands could not change a git directory.
 */
export function harmOf(
  found: FoundRepository,
  isHeld: (gitDirectory: string) => boolean,
): string | undefined {
  if (found.kind === 'bare') return harmOfDirectory(found.directory, 0)
  const entry = gitEntry(found.directory)
  if (entry === undefined) return undefined
  if (entry.kind === 'directory') return harmOfDirectory(entry.path, 0)
  if (hasOtherNames(entry.path)) return 'its .git has other names'
  if (entry.kind === 'file' && entry.gitDirectory !== undefined && isHeld(entry.gitDirectory))
    return undefined
  // `git worktree add` creates the file before it writes to it. Git does not recognize an empty file as a repository.
  if (entry.kind === 'file' && readSmall(entry.path) === '') return undefined
  return 'it points to a git directory that is not protected'
}

/** All names that git itself creates in a new repository, except the four that are examined. */
const plainNames =
  /^(?:HEAD|description|objects|refs|logs|packed-refs|index|shallow|info|gc\.log|gc\.pid|(?:ORIG|FETCH|MERGE|CHERRY_PICK|REVERT|AUTO_MERGE)_HEAD|AUTO_MERGE|MERGE_(?:MSG|MODE)|COMMIT_EDITMSG|SQUASH_MSG|sharedindex\.[0-9a-f]+|.*\.lock)$/

/** Temporary files of git while it creates a repository (`tXXXXXX` also as a link), never read by these names. */
const temporaryNames = /^(?:packed-refs\.new|t[A-Za-z0-9]{6}|shallow_[A-Za-z0-9]{6})$/

const deepestModule = 8

function harmOfDirectory(directory: string, depth: number): string | undefined {
  const entries = entriesIfReadable(directory)
  if (entries === undefined || depth > deepestModule) return 'it cannot be read'
  for (const entry of entries) {
    const path = join(directory, entry.name)
    if (temporaryNames.test(entry.name)) continue
    if (entry.isSymbolicLink()) return `${entry.name} is a link`
    const harm = harmOfEntry(entry, path, depth)
    if (harm !== undefined) return harm
  }
  return undefined
}

function harmOfEntry(entry: Dirent, path: string, depth: number): string | undefined {
  switch (entry.name) {
    case 'config':
    case 'config.worktree':
      return harmOfConfig(path)
    case 'hooks':
      return entriesIfReadable(path)?.every((hook) => hook.isFile() && hook.name.endsWith('.sample')) === true
        ? undefined
        : 'it has hooks'
    case 'branches':
      return entriesIfReadable(path)?.length === 0 ? undefined : 'it has remotes in the old form'
    case 'modules':
      return harmOfModules(path, depth)
    case 'objects': {
      const info = entriesIfReadable(join(path, 'info')) ?? []
      return info.some(({ name }) => /alternates$/.test(name)) ? 'it takes objects from elsewhere' : undefined
    }
    default:
      return plainNames.test(entry.name) ? undefined : `${entry.name} is not known to be harmless`
  }
}

function harmOfConfig(path: string): string | undefined {
  const text = readSmall(path)
  if (text === undefined) return 'its configuration cannot be read'
  // Under another name, the file could be changed while this one is read-only.
  if (hasOtherNames(path)) return 'its configuration has other names'
  // Submodules have this setting; it names a directory of files, not a program.
  const setting = harmfulSetting(text, ({ section, subsection, key }) => {
    return section === 'core' && subsection === undefined && key === 'worktree'
  })
  return setting === undefined ? undefined : `its configuration sets ${setting}`
}

/** Checks the git directories of submodules; a submodule whose name contains a slash is one directory deeper. */
function harmOfModules(directory: string, depth: number): string | undefined {
  const entries = entriesIfReadable(directory)
  if (entries === undefined || depth > deepestModule) return 'it cannot be read'
  for (const { name } of entries) {
    const path = join(directory, name)
    const isModule = entriesIfReadable(path)?.some((entry) => entry.name === 'HEAD') === true
    const harm = isModule ? harmOfDirectory(path, depth + 1) : harmOfModules(path, depth + 1)
    if (harm !== undefined) return harm
  }
  return undefined
}
