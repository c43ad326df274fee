import type { Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** How many entries are looked at before the search gives up. */
const maxEntries = 50_000

/**
 * The first file below a directory that fits, or a text that says why the search ended early. Undefined when there is
 * none, and for what is no directory. Links are tested by where they lead, and not followed into directories.
 */
export async function findBelow(
  directory: string,
  fits: (path: string) => boolean,
): Promise<string | undefined> {
  const start = await stat(directory).catch(() => undefined)
  if (start === undefined || !start.isDirectory()) return undefined
  const waiting = [directory]
  let seen = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const entry of await entriesOf(at)) {
      const path = join(at, entry.name)
      if (++seen > maxEntries) return `more than ${maxEntries} files`
      if (fits(path)) return path
      if (entry.isDirectory()) waiting.push(path)
      else if (entry.isSymbolicLink()) {
        const real = await realpath(path).catch(() => path)
        if (real !== path && fits(real)) return path
      }
    }
  }
  return undefined
}

/** A directory that cannot be read here cannot be read by a command either. */
function entriesOf(directory: string): Promise<Dirent[]> {
  return readdir(directory, { withFileTypes: true }).catch(() => [])
}
