import { readdirSync } from 'node:fs'
import { createIgnoreTree } from './gitignore.js'
import type { SearchTarget } from './search-target.js'

const entriesPerTurn = 512

/**
 * The files ripgrep would look at, relative to the root, in batches, giving way to other work between them. Links are not followed, and
 * only regular files count.
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
    for (const entry of entriesOf(at.directory, onUnreadable)) {
      seen += 1
      const { name } = entry
      if (name === '.git' || name.includes('\uFFFD')) continue
      if (!entry.isFile() && !entry.isDirectory()) continue
      if (ignored.ignores(at.directory, name, entry.isDirectory())) continue
      if (entry.isFile()) batch.push(`${at.prefix}${name}`)
      else open.push({ directory: `${at.directory}/${name}`, prefix: `${at.prefix}${name}/` })
    }
    if (seen < entriesPerTurn) continue
    yield batch
    batch = []
    seen = 0
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  yield batch
}

function entriesOf(directory: string, onUnreadable: () => void): import('node:fs').Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch {
    onUnreadable()
    return []
  }
}
