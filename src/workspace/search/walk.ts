import type { Dirent } from 'node:fs'
import { entriesIfReadable } from '../if-readable.js'
import { inDirectory, withExactDirectory } from './exact-path.js'
import { createIgnoreTree } from './gitignore.js'
import type { SearchTarget } from './search-target.js'

const entriesPerTurn = 512

/**
 * Yields the files that ripgrep would search, relative to the root, in batches, and yields to other work between them.
 * Links are not followed, and only regular files are included.
 */
export async function* walk(
  target: SearchTarget,
  onUnreadable: () => void,
): AsyncGenerator<readonly string[]> {
  if (target.fileName !== undefined) {
    yield [`${target.prefix}${target.fileName}`]
    return
  }
  const ignored = createIgnoreTree(target.repository ?? target.root, {
    repository: target.repository !== undefined,
  })
  const open = [{ directory: target.directory, prefix: target.prefix }]
  let batch: string[] = []
  let seen = 0
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const entry of entriesOf(target, at.directory, onUnreadable)) {
      seen += 1
      const { name } = entry
      if (name === '.git' || name.includes('\uFFFD')) continue
      if (!entry.isFile() && !entry.isDirectory()) continue
      if (ignored.ignores(at.directory, name, entry.isDirectory())) continue
      if (entry.isFile()) batch.push(`${at.prefix}${name}`)
      else open.push({ directory: inDirectory(at.directory, name), prefix: `${at.prefix}${name}/` })
    }
    if (seen < entriesPerTurn) continue
    yield batch
    batch = []
    seen = 0
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  yield batch
}

/** Lists the directory at exactly this path: a link that replaced it since it was listed is not followed. */
function entriesOf(target: SearchTarget, directory: string, onUnreadable: () => void): Dirent[] {
  const entries = withExactDirectory(target.method, directory, entriesIfReadable)
  if (entries === undefined) onUnreadable()
  return entries ?? []
}
