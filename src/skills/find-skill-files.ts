import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf } from '../tool/errors.js'
import { type Glance, lookInside } from '../workspace/files/look-inside.js'
import { isInside } from '../workspace/inside.js'

/** A directory with skills in it. */
export type SkillDirectory = {
  readonly path: string
  /** Links may lead anywhere inside one of these, and nowhere else. */
  readonly trees: readonly string[]
}

/** A file that a skill is to be made of. */
export type SkillFile = {
  readonly path: string
  /** The real path. */
  readonly realPath: string
  readonly text: string
  /** Its folder, when it is the main file of one. */
  readonly folder?: string
}

export type FoundFiles = { readonly files: readonly SkillFile[]; readonly problems: readonly string[] }

const deepest = 4
const mostEntries = 20_000
/** How many are read before others get a turn. */
const slice = 64
const longestFile = 256 * 1024

/**
 * The skills in a directory: folders with a `SKILL.md`, and Markdown files with fields at their head, in the order of their names. A
 * folder without a `SKILL.md` is looked through for more. `seen` are the real paths that were found before: what is linked into several
 * directories is one skill.
 */
export async function findSkillFiles(directory: SkillDirectory, seen: Set<string>): Promise<FoundFiles> {
  const search = new Search(directory, seen)
  await search.look(directory.path, 0)
  return search
}

class Search implements FoundFiles {
  readonly files: SkillFile[] = []
  readonly problems: string[] = []
  readonly #seen: Set<string>
  readonly #trees: readonly string[]
  readonly #glances = new Map<string, Glance>()
  #entries = 0

  constructor({ trees }: SkillDirectory, seen: Set<string>) {
    this.#seen = seen
    this.#trees = trees.flatMap((tree) => realPath(tree) ?? [])
  }

  async look(path: string, depth: number): Promise<void> {
    const real = this.#contained(path)
    if (real === undefined || this.#seen.has(real)) return
    this.#seen.add(real)
    const names = this.#names(path, real)
    const main = names.find((name) => name.toLowerCase() === 'skill.md')
    if (main !== undefined) {
      this.#read(join(path, main), real)
      return
    }
    for (const name of names) {
      this.#entries += 1
      if (this.#entries > mostEntries) {
        this.problems.push(`${path}: more than ${mostEntries} files; the rest was not looked at`)
        return
      }
      if (this.#entries % slice === 0) await nextTurn()
      if (name.startsWith('.') || name === 'node_modules') continue
      const inner = join(path, name)
      if (isDirectory(inner)) {
        if (depth < deepest) await this.look(inner, depth + 1)
      } else if (/\.md$/i.test(name)) this.#read(inner)
    }
  }

  #names(path: string, real: string): string[] {
    try {
      return readdirSync(real).sort()
    } catch (error) {
      this.problems.push(`${path} was not read: ${messageOf(error)}`)
      return []
    }
  }

  #read(path: string, folder?: string): void {
    const real = this.#contained(path)
    if (real === undefined || this.#seen.has(real)) return
    this.#seen.add(real)
    const tree = this.#treeOf(real)
    const text = tree && this.#glance(tree).text(relative(tree, real), longestFile)
    if (text === undefined)
      this.problems.push(`${path} was not read: it must be a plain file of at most ${longestFile} bytes that may be read`)
    // Beside skills there are files for people, which are none.
    else if (folder !== undefined || /^\ufeff?---[ \t]*\r?\n/.test(text))
      this.files.push({ path, realPath: real, text, ...(folder !== undefined && { folder }) })
  }

  /** Where a path really leads; undefined, and told, when that is out of the place it belongs to. */
  #contained(path: string): string | undefined {
    const real = realPath(path)
    if (real === undefined) {
      this.problems.push(`${path} was not read: it is a link that leads nowhere`)
      return undefined
    }
    if (this.#treeOf(real) !== undefined) return real
    this.problems.push(`${path} was not read: it is a link that leads out of its place`)
    return undefined
  }

  #treeOf(real: string): string | undefined {
    return this.#trees.find((tree) => isInside(tree, real))
  }

  #glance(tree: string): Glance {
    const glance = this.#glances.get(tree) ?? lookInside(tree)
    this.#glances.set(tree, glance)
    return glance
  }
}

/** The name that a file gives its skill when it says none itself. */
export function stemOf({ path, folder }: Pick<SkillFile, 'path' | 'folder'>): string {
  return folder === undefined ? basename(path).replace(/\.md$/i, '') : basename(dirname(path))
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

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    // The caller says that it leads nowhere.
    return undefined
  }
}
