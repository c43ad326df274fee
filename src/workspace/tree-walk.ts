import { type Dirent, lstatSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entriesIfReadable, ifReadable } from './if-readable.js'

/** The result of reading one directory. */
export type Listed = {
  /** The names of the directories to walk into. */
  readonly children: readonly string[]
}

export type TreeWalkOptions<Found extends Listed> = {
  /** Evaluates the entries of a directory. Undefined: it cannot be listed, and is tried again the next time. */
  read(directory: string, entries: readonly Dirent[] | undefined): Found
  /** The maximum number of directories. Above it, the error of `tooLarge` is thrown. */
  readonly limit: number
  tooLarge(limit: number): Error
  /** A directory that changed this recently is read again: a second change could have the same timestamp. */
  readonly settledMs: number
  /** What happens when a directory cannot be accessed: the walk ends with the error, or omits the directory. */
  readonly unreachable: 'throw' | 'leave out'
}

/** The maximum time for which the event loop is blocked, in milliseconds. */
const sliceMs = 8

/**
 * Walks a directory tree, at any depth, without following links. Each directory is listed once, and again only when its
 * inode or its `ctime`, which no program can set, differs: a later walk needs one `lstat` for each directory. The
 * result contains every directory with the result of `read`.
 */
export function treeWalk<Found extends Listed>(
  root: string,
  options: TreeWalkOptions<Found>,
): () => Promise<ReadonlyMap<string, Found>> {
  let known = new Map<string, Known<Found>>()
  return async () => {
    const seen = new Map<string, Known<Found>>()
    const pending = [root]
    let pauseAt = performance.now() + sliceMs
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      if (performance.now() > pauseAt) {
        await nextTurn()
        pauseAt = performance.now() + sliceMs
      }
      const now = look(path, known.get(path), options)
      if (now === undefined) continue
      if (seen.size >= options.limit) throw options.tooLarge(options.limit)
      seen.set(path, now)
      for (const name of now.found.children) pending.push(join(path, name))
    }
    known = seen
    return new Map(Array.from(seen, ([path, { found }]) => [path, found]))
  }
}

type Known<Found> = {
  /** When the directory last changed; undefined when that is not reliable. */
  readonly changed: number | undefined
  readonly inode: number
  readonly found: Found
}

/** Returns undefined when the directory does not exist any more. */
function look<Found extends Listed>(
  path: string,
  known: Known<Found> | undefined,
  { read, settledMs, unreachable }: TreeWalkOptions<Found>,
): Known<Found> | undefined {
  // Read before the names: a change in between is detected the next time.
  const stat = unreachable === 'throw' ? stateOf(path) : ifReadable(() => stateOf(path))
  if (stat?.isDirectory() !== true) return undefined
  const { ctimeMs: changed, ino: inode } = stat
  if (known !== undefined && known.changed === changed && known.inode === inode) return known
  const entries = entriesIfReadable(path)
  const isSettled = entries !== undefined && Date.now() - changed > settledMs
  return { changed: isSettled ? changed : undefined, inode, found: read(path, entries) }
}

function stateOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}
