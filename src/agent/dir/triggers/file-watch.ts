import type { Dirent } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { compileGlob } from '../../../workspace/search/glob-pattern.js'

/**
 * Checks for changed files below a directory, by modification time and size. Links are not followed, so that nothing
 * outside of it is read; `.git` and `node_modules` are ignored.
 */
export class FileWatch {
  readonly #root: string
  readonly #fits: (path: string) => boolean
  #base: ReadonlyMap<string, string> | undefined
  #before: ReadonlyMap<string, string> | undefined
  #earlier: FileWatch | undefined

  /**
   * With an `earlier` watch, the files that it covered are compared with the state that it recorded, so that no change
   * between the two is missed.
   */
  constructor(root: string, patterns: readonly string[], earlier?: FileWatch | undefined) {
    this.#root = root
    this.#earlier = earlier
    const globs = patterns.map((pattern) => compileGlob(pattern))
    this.#fits = (path) => globs.some((glob) => glob.matches(path))
  }

  /** Records the current files as known. With `sinceMs`, files that changed after that time count as changed. */
  async start(sinceMs?: number): Promise<void> {
    this.#base =
      sinceMs === undefined
        ? await this.#list()
        : new Map([...(await this.#list())].filter(([, facts]) => Number(facts.split(':')[0]) <= sinceMs))
    this.#before = undefined
    this.#earlier = undefined
  }

  /**
   * Returns the changed paths once two checks in a row find the same state, and records them as known. Undefined when
   * there are none.
   */
  async look(): Promise<string[] | undefined> {
    if (this.#base === undefined) {
      this.#base = this.#known(await this.#list(), this.#fits)
      this.#earlier = undefined
      return undefined
    }
    const now = await this.#list()
    const changed = differences(this.#base, now)
    const isSettled = this.#before !== undefined && differences(this.#before, now).length === 0
    this.#before = now
    if (changed.length === 0 || !isSettled) return undefined
    this.#base = now
    return changed
  }

  /** The current files, where those that this watch covers have the state in which it last recorded them. */
  #known(now: ReadonlyMap<string, string>, fits: (path: string) => boolean): ReadonlyMap<string, string> {
    if (this.#base === undefined) return this.#earlier === undefined ? now : this.#earlier.#known(now, fits)
    const others = [...now].filter(([path]) => !this.#fits(path))
    return new Map([...others, ...[...this.#base].filter(([path]) => fits(path))])
  }

  async #list(): Promise<Map<string, string>> {
    const found = new Map<string, string>()
    const pending = ['']
    for (let directory = pending.pop(); directory !== undefined; directory = pending.pop()) {
      for (const entry of await entriesOf(join(this.#root, directory))) {
        const path = directory === '' ? entry.name : `${directory}/${entry.name}`
        if (entry.isDirectory() && !leftOut.has(entry.name)) pending.push(path)
        if (!entry.isFile() || !this.#fits(path)) continue
        const stat = await lstat(join(this.#root, path)).catch(() => undefined)
        if (stat?.isFile()) found.set(path, `${stat.mtimeMs}:${stat.size}`)
        if (found.size > maxFiles) throw new Error(`More than ${maxFiles} files match: watch fewer.`)
      }
    }
    return found
  }
}

const leftOut: ReadonlySet<string> = new Set(['.git', 'node_modules'])
const maxFiles = 20_000

/** Lists a directory. One that does not exist or cannot be listed has no entries. */
function entriesOf(path: string): Promise<Dirent[]> {
  return readdir(path, { withFileTypes: true }).catch(() => [])
}

function differences(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const changed = [...now].flatMap(([path, facts]) => (before.get(path) === facts ? [] : [path]))
  const gone = [...before.keys()].filter((path) => !now.has(path))
  return [...changed, ...gone].sort()
}
