import { type BigIntStats, type Dirent, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entriesIfReadable, ifReadable, realPathIfReadable } from '../if-readable.js'
import { type Listed, treeWalk } from '../tree-walk.js'
import { TreeTooLargeError } from './errors.js'
import { maxDirectories, settledMs } from './tree-index.js'

/** Finds the other names of files in a list of directory trees. */
export type HardLinks = (files: readonly string[]) => Promise<string[]>

const sliceMs = 8

/**
 * A mount covers a name, not a file: a file that must be hidden has to be covered under all its names. The search reads
 * every file, so it runs only if there is a file with several names, and again only if one of these files changed.
 * (Creating or renaming a link changes the file's `ctime`.)
 */
export function hardLinks(roots: readonly string[]): HardLinks {
  let known: { readonly key: string; readonly names: string[] } | undefined
  return async (files) => {
    const wanted = new Map<string, BigIntStats>()
    for (const file of files) {
      const stat = statOf(file)
      if (stat?.isFile() === true && stat.nlink > 1n) wanted.set(identity(stat), stat)
    }
    if (wanted.size === 0) return []
    const key = Array.from(wanted, ([id, { ctimeNs, nlink }]) => `${id}:${ctimeNs}:${nlink}`)
      .sort()
      .join(' ')
    if (known?.key !== key) known = { key, names: await namesOf(wanted, roots) }
    return known.names
  }
}

async function namesOf(wanted: ReadonlyMap<string, unknown>, roots: readonly string[]): Promise<string[]> {
  const names: string[] = []
  const pending = [...roots]
  let pauseAt = performance.now() + sliceMs
  for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
    for (const entry of entriesIfReadable(directory) ?? []) {
      const path = join(directory, entry.name)
      if (entry.isDirectory()) pending.push(path)
      else if (entry.isFile()) {
        const stat = statOf(path)
        if (stat !== undefined && wanted.has(identity(stat))) names.push(path)
      }
      if (performance.now() < pauseAt) continue
      await nextTurn()
      pauseAt = performance.now() + sliceMs
    }
  }
  return names
}

/**
 * Finds the files with several names in directories that are hidden as a whole. Commands cannot link files that are
 * hidden from them. A link that another program creates to such a file is found after the next change of the file's
 * directory.
 */
export function linkedFiles(): (directories: readonly string[]) => Promise<string[]> {
  const walks = new Map<string, () => Promise<ReadonlyMap<string, Linked>>>()
  return async (directories) => {
    const found: string[] = []
    for (const given of directories) {
      const directory = realPathIfReadable(given) ?? given
      const walk =
        walks.get(directory) ??
        treeWalk(directory, {
          read: linkedIn,
          limit: maxDirectories,
          tooLarge: (limit) => new TreeTooLargeError(directory, limit),
          settledMs,
          unreachable: 'leave out',
        })
      walks.set(directory, walk)
      for (const { linked } of (await walk()).values()) found.push(...linked)
    }
    return found
  }
}

type Linked = Listed & { readonly linked: readonly string[] }

function linkedIn(directory: string, entries: readonly Dirent[] = []): Linked {
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => join(directory, name))
  return {
    children: entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    linked: files.filter((file) => (statOf(file)?.nlink ?? 1n) > 1n),
  }
}

function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

function statOf(path: string): BigIntStats | undefined {
  return ifReadable(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
}
