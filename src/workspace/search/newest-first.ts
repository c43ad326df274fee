import { lstatSync } from 'node:fs'
import { tryOr } from '../../tool/errors.js'
import { inDirectory, withExactDirectory } from './exact-path.js'
import { byName, createFirstOf } from './first-of.js'
import type { SearchTarget } from './search-target.js'

/** With `at` when the target is held open and paths are checked afterwards. */
export type NewestTarget = SearchTarget & {
  readonly at?: string
  /** The times of the last change of these files of a directory, where they are not on this machine's disk. */
  readonly timesIn?: (directory: string, names: readonly string[]) => Promise<number[]>
}

const sliceSize = 256

/**
 * The `limit` paths that changed last, newest first, equal times by name; files gone meanwhile come last. Gives way to
 * other work, and when it is stopped knows only the times it has seen.
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

/** Names of one directory each, which is written as in a path: empty for the root, else with a slash at its end. */
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
 * Never the times of files after a link: through the open directory, or, when the target is held open, by path, since
 * the holder finds out afterwards whether a path led elsewhere (`startSteady`) and that takes half the time.
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
