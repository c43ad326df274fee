import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { CapstanError, markErrorClass } from '../../tool/errors.js'

/** A place that git takes for a repository. */
export type FoundRepository = {
  /** `linked`: there is a `.git` in this directory. `bare`: the directory itself looks like a git directory. */
  readonly kind: 'linked' | 'bare'
  readonly directory: string
  /** Of the `.git`, or of the bare directory: the same after a move. */
  readonly identity: string
}

export type ScanResult = {
  readonly repositories: readonly FoundRepository[]
  /** Directories whose content this user cannot list. */
  readonly closed: readonly string[]
}

/** There are more directories than can be searched for repositories before a command runs. */
class WorkspaceTooLargeError extends CapstanError {
  constructor(root: string, limit: number) {
    super(
      'workspace_too_large',
      `The workspace ${root} has more than ${limit} directories, too many to find every git repository in it before a command runs in the sandbox. Open a smaller directory as the workspace.`,
    )
  }
}
markErrorClass(WorkspaceTooLargeError, 'WorkspaceTooLargeError')

const maxDirectories = 300_000

/** How long the event loop is held at a time. */
const sliceMs = 5

/**
 * A directory that changed this shortly before it was read may change again without a new time stamp: the clock of the
 * file system ticks every few milliseconds.
 */
const racyMs = 50

type Known = {
  readonly changed: number
  readonly racy: boolean
  readonly children: readonly string[]
  readonly kinds: readonly FoundRepository['kind'][]
  readonly closed: boolean
}

/**
 * Finds every repository below a directory, at any depth, `node_modules` included. Each directory is listed once and
 * then only when its change time, which no program can set, is another: later scans cost one `lstat` per directory.
 */
export class RepositoryScan {
  readonly #root: string
  readonly #limit: number
  #known = new Map<string, Known>()
  #running: Promise<ScanResult> | undefined

  constructor(root: string, limit: number = maxDirectories) {
    this.#root = root
    this.#limit = limit
  }

  /**
   * Throws {@link WorkspaceTooLargeError}. Calls at the same time are not joined: each sees what was there when it was
   * made.
   */
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
    const next = new Map<string, Known>()
    const repositories: FoundRepository[] = []
    const closed: string[] = []
    const open = [this.#root]
    let sliceEnd = performance.now() + sliceMs
    for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
      const found = look(directory, this.#known.get(directory))
      if (found === undefined) continue
      next.set(directory, found)
      if (next.size > this.#limit) throw new WorkspaceTooLargeError(this.#root, this.#limit)
      if (found.closed) closed.push(directory)
      for (const kind of found.kinds) {
        const identity = identityOf(kind === 'bare' ? directory : join(directory, '.git'))
        if (identity !== undefined) repositories.push({ kind, directory, identity })
      }
      for (const name of found.children) open.push(join(directory, name))
      if (performance.now() > sliceEnd) {
        await nextTurn()
        sliceEnd = performance.now() + sliceMs
      }
    }
    this.#known = next
    return { repositories, closed }
  }
}

function look(directory: string, known: Known | undefined): Known | undefined {
  const stat = lstatSync(directory, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true) return undefined
  const changed = stat.ctimeMs
  if (known !== undefined && known.changed === changed && !known.racy) return known
  const racy = Date.now() - changed < racyMs
  try {
    return { changed, racy, closed: false, ...sorted(directory) }
  } catch {
    // Gone meanwhile, or not readable: git could still enter it by name.
    return { changed, racy: true, closed: true, children: [], kinds: [] }
  }
}

function sorted(directory: string): Pick<Known, 'children' | 'kinds'> {
  const children: string[] = []
  const names = new Set<string>()
  let hasGit = false
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const name = entry.name.toLowerCase()
    if (name === '.git') hasGit = true
    else if (entry.isDirectory()) children.push(entry.name)
    if (layoutNames.has(name)) names.add(name)
  }
  const kinds: FoundRepository['kind'][] = []
  if (hasGit) kinds.push('linked')
  if (looksBare(names)) kinds.push('bare')
  return { children, kinds }
}

const layoutNames = new Set(['head', 'objects', 'refs', 'commondir'])

/** As git recognises a git directory: `HEAD`, and `objects` and `refs` there or where `commondir` points. */
function looksBare(names: ReadonlySet<string>): boolean {
  return names.has('head') && (names.has('commondir') || (names.has('objects') && names.has('refs')))
}

function identityOf(path: string): string | undefined {
  const stat: Stats | undefined = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`
}
