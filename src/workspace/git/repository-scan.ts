import { type Dirent, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { CapstanError } from '../../tool/errors.js'
import { treeWalk } from '../tree-walk.js'

/** A directory that git recognizes as a repository. */
export type FoundRepository = {
  /** `linked`: this directory contains a `.git`. `bare`: the directory itself looks like a git directory. */
  readonly kind: 'linked' | 'bare'
  readonly directory: string
  /** The identity of the `.git`, or of the bare directory; it does not change when it is moved. */
  readonly identity: string
}

export type ScanResult = {
  readonly repositories: readonly FoundRepository[]
  /** Directories whose content this user cannot list. */
  readonly closed: readonly string[]
}

const maxDirectories = 300_000

/** The clock of the file system advances every few milliseconds. */
const settledMs = 50

type Found = {
  readonly children: readonly string[]
  readonly kinds: readonly FoundRepository['kind'][]
  readonly closed: boolean
}

/** Finds every repository below a directory, at any depth, including `node_modules`. */
export class RepositoryScan {
  readonly #walk: () => Promise<ReadonlyMap<string, Found>>
  #running: Promise<ScanResult> | undefined

  constructor(root: string, limit: number = maxDirectories) {
    this.#walk = treeWalk(root, {
      read: found,
      limit,
      tooLarge: () =>
        new CapstanError(
          'workspace_too_large',
          `The workspace ${root} has more than ${limit} directories, too many to find every git repository in it before a command runs in the sandbox. Open a smaller directory as the workspace.`,
        ),
      settledMs,
      unreachable: 'throw',
    })
  }

  /** Throws for a tree that is too large. Concurrent calls are not merged: each result is from after its call. */
  run(): Promise<ScanResult> {
    const before = this.#running ?? Promise.resolve()
    const next = before.then(
      () => this.#scan(),
      () => this.#scan(),
    )
    this.#running = next
    return next
  }

  async #scan(): Promise<ScanResult> {
    const directories = [...(await this.#walk())]
    return {
      repositories: directories.flatMap(([directory, { kinds }]) =>
        kinds.flatMap((kind) => {
          const identity = identityOf(kind === 'bare' ? directory : join(directory, '.git'))
          return identity === undefined ? [] : [{ kind, directory, identity }]
        }),
      ),
      closed: directories.flatMap(([directory, { closed }]) => (closed ? [directory] : [])),
    }
  }
}

function found(_directory: string, entries: readonly Dirent[] | undefined): Found {
  // Removed in the meantime, or not readable: git could still enter it by name.
  if (entries === undefined) return { children: [], kinds: [], closed: true }
  const children: string[] = []
  const names = new Set<string>()
  let hasGit = false
  for (const entry of entries) {
    const name = entry.name.toLowerCase()
    if (name === '.git') hasGit = true
    else if (entry.isDirectory()) children.push(entry.name)
    if (layoutNames.has(name)) names.add(name)
  }
  const kinds: FoundRepository['kind'][] = []
  if (hasGit) kinds.push('linked')
  if (looksBare(names)) kinds.push('bare')
  return { children, kinds, closed: false }
}

const layoutNames = new Set(['head', 'objects', 'refs', 'commondir'])

/** Uses git's own criteria for a git directory: `HEAD`, and `objects` and `refs` there or where `commondir` points. */
function looksBare(names: ReadonlySet<string>): boolean {
  return names.has('head') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

function identityOf(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}
