import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { messageOf, tryOr } from '../tool/errors.js'
import { lookInside, type QuickLook } from './files/quick-look.js'
import { isInside } from './inside.js'

/** A directory to look through. */
export type SearchedDirectory = {
  readonly path: string
  /** Links may lead anywhere inside one of these, and nowhere else. */
  readonly trees: readonly string[]
}

export type FindFilesOptions = {
  /** The names of the files that are wanted. */
  readonly names: RegExp
  /** A folder that has this file, in whatever case, is one thing, and is looked at no further. */
  readonly main?: string | undefined
  readonly maxBytes: number
  readonly maxDepth: number
  /** The real paths that were found before: what is linked into several directories is found once. */
  readonly seen: Set<string>
}

/** A file with its text, or why one was not read. */
export type FoundFile = {
  readonly path: string
  /** The real path. */
  readonly realPath: string
  readonly text: string
  /** The real path of its folder, when it is the main file of one. */
  readonly folder?: string | undefined
}
/** What is wrong with a path; `problem` completes a sentence that begins with the path. */
export type FindProblem = { readonly path: string; readonly problem: string }

const maxEntries = 20_000

/**
 * The files in a directory and below it, in the order of their names, each read as it is come to. What is hidden, and
 * `node_modules`, is skipped. No link leads out of the place that the directory belongs to, and no race with a
 * process that changes it meanwhile does.
 */
export function findFiles(
  directory: SearchedDirectory,
  options: FindFilesOptions,
): Generator<FoundFile | FindProblem, void, undefined> {
  return new Search(directory, options).look(directory.path, 0)
}

/** Whether there is a directory, or a link to one. */
export function isDirectory(path: string): boolean {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return false
    return stat.isSymbolicLink() ? lstatSync(realpathSync.native(path)).isDirectory() : stat.isDirectory()
  } catch {
    // A link to nothing, or a place that may not be looked at: reading it says which.
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

  /** Where a path really leads; undefined when that was come to before. */
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
