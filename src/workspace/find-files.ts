import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { messageOf, tryOr } from '../tool/errors.js'
import { lookInside, type QuickLook } from './files/quick-look.js'
import { isInside } from './inside.js'

/** A directory to search. */
export type SearchedDirectory = {
  readonly path: string
  /** Links can lead anywhere inside one of these directories, and nowhere else. */
  readonly trees: readonly string[]
}

export type FindFilesOptions = {
  /** The names of the files to find. */
  readonly names: RegExp
  /** A folder that contains this file, in any case, is one item and is not searched further. */
  readonly main?: string | undefined
  readonly maxBytes: number
  readonly maxDepth: number
  /** The real paths that were already found: a file that is linked into several directories is returned once. */
  readonly seen: Set<string>
}

/** A file with its text. */
export type FoundFile = {
  readonly path: string
  /** The real path. */
  readonly realPath: string
  readonly text: string
  /** The real path of its folder, when it is the main file of a folder. */
  readonly folder?: string | undefined
}
/** A problem with a path; `problem` completes a sentence that begins with the path. */
export type FindProblem = { readonly path: string; readonly problem: string }

const maxEntries = 20_000

/**
 * Finds the files in a directory and below it, in the order of their names, and reads each one when it is found. Hidden
 * entries and `node_modules` are skipped. No file outside the allowed trees is read, neither through a link nor through
 * a race with a process that changes the directory.
 */
export function findFiles(
  directory: SearchedDirectory,
  options: FindFilesOptions,
): Generator<FoundFile | FindProblem, void, undefined> {
  return new Search(directory, options).look(directory.path, 0)
}

/** Whether a path is a directory, or a link to one. */
export function isDirectory(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return false
    return stat.isSymbolicLink() ? lstatSync(realpathSync.native(path)).isDirectory() : stat.isDirectory()
  } catch {
    // A dangling link, or a path that cannot be read: reading it reports which.
    return false
  }
}

type Found = Generator<FoundFile | FindProblem, void, undefined>

class Search {
  readonly #options: FindFilesOptions
  readonly #trees: readonly string[]
  readonly #glances = new Map<string, QuickLook>()
  #entries = 0

  constructor({ trees }: SearchedDirectory, options: FindFilesOptions) {
    this.#options = options
    this.#trees = trees.flatMap((tree) => realPath(tree) ?? [])
  }

  *look(path: string, depth: number): Found {
    const place = this.#place(path)
    if (place === undefined) return
    if ('problem' in place) return yield place
    const { main, names, maxDepth } = this.#options
    let inside: string[]
    try {
      inside = readdirSync(place.real).sort()
    } catch (error) {
      return yield { path, problem: `was not read: ${messageOf(error)}` }
    }
    const whole = inside.find((name) => name.toLowerCase() === main?.toLowerCase())
    if (whole !== undefined) return yield* this.#read(join(path, whole), place.real)
    for (const name of inside) {
      this.#entries += 1
      if (this.#entries === maxEntries)
        yield { path, problem: `has more than ${maxEntries} files; the rest was not read` }
      if (this.#entries >= maxEntries) return
      if (name.startsWith('.') || name === 'node_modules') continue
      const inner = join(path, name)
      if (isDirectory(inner)) {
        if (depth < maxDepth) yield* this.look(inner, depth + 1)
      } else if (names.test(name)) yield* this.#read(inner)
    }
  }

  *#read(path: string, folder?: string): Found {
    const place = this.#place(path)
    if (place === undefined) return
    if ('problem' in place) return yield place
    const { real, tree } = place
    const { maxBytes } = this.#options
    const text = this.#glance(tree).text(relative(tree, real), maxBytes)
    if (text !== undefined) yield { path, realPath: real, text, folder }
    else
      yield {
        path,
        problem: `was not read: it must be a plain file of at most ${maxBytes} bytes that may be read`,
      }
  }

  /** Returns the real path of an entry; undefined when it was already found. */
  #place(path: string): { readonly real: string; readonly tree: string } | FindProblem | undefined {
    const { seen } = this.#options
    const real = realPath(path)
    if (real === undefined) return { path, problem: 'was not read: it is a link that leads nowhere' }
    const tree = this.#trees.find((one) => isInside(one, real))
    if (tree === undefined) return { path, problem: 'was not read: it is a link that leads out of its place' }
    if (seen.has(real)) return undefined
    seen.add(real)
    return { real, tree }
  }

  #glance(tree: string): QuickLook {
    const glance = this.#glances.get(tree) ?? lookInside(tree)
    this.#glances.set(tree, glance)
    return glance
  }
}

function realPath(path: string): string | undefined {
  // The caller reports a path that leads nowhere.
  return tryOr(() => realpathSync.native(path), undefined)
}
