import { lstatSync } from 'node:fs'
import { byName, createFirstOf } from './first-of.js'

const sliceSize = 256

/**
 * The `limit` paths that changed last, newest first, equal times by name; files gone meanwhile come last. Gives way to other work, and
 * when it is stopped knows only the times it has seen.
 */
export async function newestFirst(
  root: string,
  paths: readonly string[],
  limit: number,
  stopped: () => boolean,
): Promise<{ readonly newest: string[]; readonly complete: boolean }> {
  const first = createFirstOf<{ readonly path: string; readonly time: number }>(
    limit,
    (one, other) => other.time - one.time || byName(one.path, other.path),
  )
  let index = 0
  while (index < paths.length && !stopped()) {
    for (const end = Math.min(index + sliceSize, paths.length); index < end; index += 1) {
      const path = paths[index] ?? ''
      first.add({ path, time: lstatSync(`${root}/${path}`, { throwIfNoEntry: false })?.mtimeMs ?? 0 })
    }
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { newest: first.items().map(({ path }) => path), complete: index >= paths.length }
}
