import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { UnreadablePaths } from '../shell/confinement.js'
import { TreeTooLargeError } from './errors.js'

/** What a sandbox must cover in a directory tree. */
export type TreeFindings = {
  /** Socket files: a read-only mount keeps no command from connecting to them. */
  readonly sockets: readonly string[]
  /** Files and directories that rules keep from being read; nothing inside such a directory. */
  readonly denied: readonly string[]
}

export type TreeIndex = (unreadable: UnreadablePaths | undefined) => Promise<TreeFindings>

/** How many directories are looked at. Beyond, commands are refused: what was not looked at could not be covered. */
const maxDirectories = 250_000
/** How long the event loop is held at a time. */
const sliceMs = 8
/**
 * A directory that changed this recently is read again: on some file systems a second change would show the same time.
 */
const settledMs = 2500

/**
 * Finds what a sandbox must cover below a directory, at any depth. Each directory is read once and again only when its
 * change time differs, so that a look costs one `lstat` for each directory.
 */
export function indexTree(root: string): TreeIndex {
  const knownFor = new WeakMap<object, Map<string, Listing>>()
  return async (unreadable) => {
    const key = unreadable?.key ?? nothingDenied
    const known = knownFor.get(key) ?? new Map<string, Listing>()
    const denies = (path: string): boolean => unreadable?.denies(path) ?? false
    const seen = new Map<string, Listing>()
    const pending = [root]
    let pauseAt = performance.now() + sliceMs
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      if (seen.size >= maxDirectories) throw new TreeTooLargeError(root, maxDirectories)
      if (performance.now() > pauseAt) {
        await nextTurn()
        pauseAt = performance.now() + sliceMs
      }
      const listing = look(path, known.get(path), denies)
      if (listing === undefined) continue
      seen.set(path, listing)
      for (const name of listing.directories) pending.push(join(path, name))
    }
    knownFor.set(key, seen)
    const listings = [...seen.values()]
    return {
      sockets: listings.flatMap(({ sockets }) => sockets),
      denied: listings.flatMap(({ denied }) => denied),
    }
  }
}

/** The key of a look for sockets alone. */
const nothingDenied = {}

type Listing = {
  /** When the directory last changed; undefined when that cannot be relied on yet. */
  readonly changed: number | undefined
  readonly inode: number
  readonly directories: readonly string[]
  readonly sockets: readonly string[]
  readonly denied: readonly string[]
}

function look(
  path: string,
  known: Listing | undefined,
  denies: (path: string) => boolean,
): Listing | undefined {
  // Taken before the names are read: what changes in between is seen the next time.
  const stat = statOf(path)
  if (stat === undefined) return undefined
  if (known !== undefined && known.changed === stat.ctimeMs && known.inode === stat.ino) return known
  const directories: string[] = []
  const sockets: string[] = []
  const denied: string[] = []
  for (const entry of entriesOf(path)) {
    const full = join(path, entry.name)
    if (denies(full)) denied.push(full)
    else if (entry.isDirectory()) directories.push(entry.name)
    else if (entry.isSocket()) sockets.push(full)
  }
  const settled = Date.now() - stat.ctimeMs > settledMs
  return { changed: settled ? stat.ctimeMs : undefined, inode: stat.ino, directories, sockets, denied }
}

function statOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    // Not reachable for this user, nor for its commands.
    return undefined
  }
}

function entriesOf(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    // Gone meanwhile, or not readable for this user, nor for its commands.
    return []
  }
}
