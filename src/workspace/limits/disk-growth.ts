import { lstatSync, type Stats, statfsSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifReadable, namesIfReadable } from '../if-readable.js'

/** Measures how much a command adds to the disk. */
export type DiskGrowth = {
  /** Whether more than this was added to the directories. `pids`: the processes of the command. */
  exceeds(bytes: number, pids: () => readonly number[]): Promise<boolean>
  /** Ends a walk through the directories. */
  close(): void
}

/**
 * Watches directories that a command can write to. Files that are new since the start count whole. Of files that were
 * there before and changed, as much counts as their file systems have lost meanwhile: the space that was taken by
 * others, too, but never what the files had already. To add it up, the directories are walked: at once when much space
 * is gone, and else only now and then.
 */
export function watchDiskGrowth(directories: readonly string[]): DiskGrowth {
  // Dates of files come from a clock that can be a few milliseconds late.
  const since = Date.now() - 20
  const systems = fileSystemsOf(directories)
  let anywayAt = performance.now() + anywayMs
  let notBefore = 0
  const closed = new AbortController()
  return {
    async exceeds(bytes, pids) {
      const lost = systems.reduce((sum, { path, free }) => sum + Math.max(0, free - freeBytes(path)), 0)
      const began = performance.now()
      if (began < (lost >= bytes / 2 ? notBefore : anywayAt)) return false
      const sizes = new Sizes(since)
      addRemoved(sizes, pids())
      for (const directory of directories)
        await addTree(sizes, directory, () => closed.signal.aborted || sizes.created >= bytes)
      const tookMs = performance.now() - began
      notBefore = performance.now() + 5 * tookMs
      anywayAt = performance.now() + Math.max(anywayMs, 50 * tookMs)
      return sizes.created + Math.min(sizes.changed, lost) >= bytes
    },
    close: () => closed.abort(),
  }
}

/** How long directories are not walked although nothing speaks for it. */
const anywayMs = 10_000

/** What files take on the disk that were created, or changed, since a time. */
class Sizes {
  created = 0
  changed = 0
  readonly #since: number
  readonly #seen = new Set<string>()

  constructor(since: number) {
    this.#since = since
  }

  add({ dev, ino, blocks, ctimeMs, birthtimeMs }: Stats): void {
    if (ctimeMs < this.#since) return
    const key = `${dev}:${ino}`
    if (this.#seen.has(key)) return
    this.#seen.add(key)
    if (birthtimeMs >= this.#since) this.created += blocks * 512
    else this.changed += blocks * 512
  }
}

type FileSystem = { readonly path: string; readonly free: number }

function fileSystemsOf(directories: readonly string[]): FileSystem[] {
  const byDevice = new Map<number, FileSystem>()
  for (const path of directories) {
    const device = ifReadable(() => lstatSync(path).dev)
    if (device !== undefined && !byDevice.has(device)) byDevice.set(device, { path, free: freeBytes(path) })
  }
  return [...byDevice.values()]
}

function freeBytes(path: string): number {
  const stat = ifReadable(() => statfsSync(path))
  return stat === undefined ? 0 : stat.bfree * stat.bsize
}

/** Adds the files of a tree, until it is enough. */
async function addTree(sizes: Sizes, directory: string, isEnough: () => boolean): Promise<void> {
  const waiting = [directory]
  for (let next = waiting.pop(); next !== undefined && !isEnough(); next = waiting.pop()) {
    // Removed or closed meanwhile.
    const entries = await readdir(next, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      const stat = entry.isFile() ? await lstat(path).catch(() => undefined) : undefined
      if (stat !== undefined) sizes.add(stat)
    }
  }
}

/** Files without a name take space as long as a process has them open. */
function addRemoved(sizes: Sizes, pids: readonly number[]): void {
  for (const pid of pids)
    for (const descriptor of namesIfReadable(`/proc/${pid}/fd`)) {
      const stat = ifReadable(() => statSync(`/proc/${pid}/fd/${descriptor}`))
      if (stat?.isFile() === true && stat.nlink === 0) sizes.add(stat)
    }
}
