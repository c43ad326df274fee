import type { Dirent } from 'node:fs'
import { join } from 'node:path'
import { realPathIfReadable } from '../if-readable.js'
import type { UnreadablePaths } from '../shell/confinement.js'
import { treeWalk } from '../tree-walk.js'
import { TreeTooLargeError } from './errors.js'

/** The paths in a directory tree that a sandbox must cover. */
export type TreeFindings = {
  /** Socket files: a read-only mount does not prevent a command from connecting to them. */
  readonly sockets: readonly string[]
  /** Files and directories that rules deny for reading; nothing inside such a directory. */
  readonly denied: readonly string[]
}

export type TreeIndex = (unreadable: UnreadablePaths | undefined) => Promise<TreeFindings>

/** The maximum number of directories. Above it, commands are refused: an unchecked directory could not be covered. */
export const maxDirectories = 250_000
/** On some file systems a second change within this time would have the same timestamp. */
export const settledMs = 2500

/** Finds the paths below a directory, at any depth, that a sandbox must cover. */
export function indexTree(root: string): TreeIndex {
  const walks = new WeakMap<object, () => Promise<ReadonlyMap<string, Found>>>()
  return async (unreadable) => {
    const key = unreadable?.key ?? nothingDenied
    const walk =
      walks.get(key) ??
      treeWalk(realPathIfReadable(root) ?? root, {
        read: (directory, entries = []) =>
          findingsIn(directory, entries, (path) => unreadable?.denies(path) ?? false),
        limit: maxDirectories,
        tooLarge: (limit) => new TreeTooLargeError(root, limit),
        settledMs,
        // Not accessible for this user, nor for its commands.
        unreachable: 'leave out',
      })
    walks.set(key, walk)
    const found = [...(await walk()).values()]
    return {
      sockets: found.flatMap(({ sockets }) => sockets),
      denied: found.flatMap(({ denied }) => denied),
    }
  }
}

/** The key for a search for sockets only. */
const nothingDenied = {}

type Found = TreeFindings & { readonly children: readonly string[] }

function findingsIn(directory: string, entries: readonly Dirent[], denies: (path: string) => boolean): Found {
  const children: string[] = []
  const sockets: string[] = []
  const denied: string[] = []
  for (const entry of entries) {
    const full = join(directory, entry.name)
    if (denies(full)) denied.push(full)
    else if (entry.isDirectory()) children.push(entry.name)
    else if (entry.isSocket()) sockets.push(full)
  }
  return { children, sockets, denied }
}
