import { type BigIntStats, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { entriesIfReadable, ifReadable } from '../if-readable.js'

/** Finds the other names of files in some directory trees. */
export type HardLinks = (files: readonly string[]) => Promise<string[]>

const sliceMs = 8

/**
 * A mount covers a name, not a file: a file that is to be hidden must be covered under all its names. Looks at every
 * file, so it looks only when there is a file with several names, and again only when one of these files changed.
 * (Making or renaming a link changes the file's own change time.)
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

function identity({ dev, ino }: BigIntStats): string {
  return `${dev}:${ino}`
}

function statOf(path: string): BigIntStats | undefined {
  return ifReadable(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }))
}
