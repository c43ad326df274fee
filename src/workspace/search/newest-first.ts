import { lstatSync } from 'node:fs'
import { tryOr } from '../../tool/errors.js'
import { inDirectory, withExactDirectory } from './exact-path.js'
import { byName, createFirstOf } from './first-of.js'
import type { SearchTarget } from './search-target.js'

/** `at` is set when the target is open and paths are checked afterwards. */
export type NewestTarget = SearchTarget & {
  readonly at?: string
  /** Returns the times of the last change of these files of a directory, if they are not on this machine's disk. */
  readonly timesIn?: (directory: string, names: readonly string[]) => Promise<number[]>
}

const sliceSize = 256

/**
 * Returns the `limit` paths that changed last, newest first, equal times by name; files that were removed in the
 * meantime come last. Yields to other work. When it is stopped, it uses only the times it has read.
 */
export async function newestFirst(
  target: NewestTarget,
  paths: readonly string[],
  limit: number,
  stopped: () => boolean,
): Promise<{ readonly newest: string[]; readonly complete: boolean }> {
  const first = createFirstOf<{ readonly path: string; readonly time: number }>(
    limit,
    (one, other) => other.time - one.time || byName(one.path, other.path),
  )
  let seen = 0
  let inTurn = 0
  for (const { directory, names } of slicesByDirectory(paths)) {
    if (stopped()) break
    const times = await (target.timesIn?.(directory, names) ?? timesOnDisk(target, directory, names))
    for (const [index, name] of names.entries())
      first.add({ path: `${directory}${name}`, time: times?.[index] ?? 0 })
    seen += names.length
    inTurn += names.length
    if (inTurn < sliceSize) continue
    inTurn = 0
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return { newest: first.items().map(({ path }) => path), complete: seen >= paths.length }
}

type Slice = { readonly directory: string; readonly names: readonly string[] }

/** Yields the names of one directory at a time. `directory` is empty for the root, otherwise it ends with a slash. */
function* slicesByDirectory(paths: readonly string[]): Generator<Slice> {
  const directories = new Map<string, string[]>()
  for (const path of paths) {
    const directory = path.slice(0, path.lastIndexOf('/') + 1)
    const names = directories.get(directory)
    if (names === undefined) directories.set(directory, [path.slice(directory.length)])
    else names.push(path.slice(directory.length))
  }
  for (const [directory, names] of directories) {
    for (let from = 0; from < names.length; from += sliceSize)
      yield { directory, names: names.slice(from, from + sliceSize) }
  }
}

/**
 * Never reads the times of files through a link: reads through the open directory, or, when the target is open, by
 * path, because the caller checks afterwards whether a path led elsewhere (`startSteady`), and that takes half the
 * time.
 */
function timesOnDisk(
  target: NewestTarget,
  directory: string,
  names: readonly string[],
): number[] | undefined {
  const { at, root, prefix } = target
  if (at !== undefined) {
    const base = prefix === '' ? inDirectory(root, directory) : `${at}/${directory.slice(prefix.length)}`
    return names.map((name) => timeOf(`${base}${name}`))
  }
  const path = directory === '' ? root : inDirectory(root, directory.slice(0, -1))
  return withExactDirectory(target.method, path, (open) => names.map((name) => timeOf(`${open}/${name}`)))
}

function timeOf(path: string): number {
  return tryOr(() => lstatSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0, 0)
}
