import { lstatSync, type Stats, statfsSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { ifReadable, namesIfReadable } from '../if-readable.js'
import { type ProcessEntry, placesOf } from '../shell/process-table.js'

/** Measures how many bytes a command adds to the disk. */
export type DiskGrowth = {
  /** Whether more than `bytes` were added to the directories. `entries`: the processes of the command. */
  exceeds(bytes: number, entries: () => readonly ProcessEntry[]): Promise<boolean>
  /** Ends a walk through the directories. */
  close(): void
}

/**
 * Watches directories that a command can write to. New files count with their full size. For files that existed before
 * and changed, the free space that their file systems have lost counts, up to the size of these files: it can include
 * space that other programs used, but not what the files contained before. To add this up, the directories are walked:
 * at once when much space was used, otherwise only now and then. Waits a moment if another command has just ended, so
 * that the files of that command do not count.
 */
export async function watchDiskGrowth(directories: readonly string[]): Promise<DiskGrowth> {
  const pauseMs = lastClosedAt + lateMs - performance.now()
  if (pauseMs > 0) await setTimeout(Math.ceil(pauseMs))
  const since = Date.now() - lateMs
  const systems = fileSystemsOf(directories)
  let anywayAt = performance.now() + anywayMs
  let notBefore = 0
  const closed = new AbortController()
  return {
    async exceeds(bytes, entries) {
      const lost = systems.reduce((sum, { path, free }) => sum + Math.max(0, free - freeBytes(path)), 0)
      const began = performance.now()
      if (began < (lost >= bytes / 2 ? notBefore : anywayAt)) return false
      const sizes = new Sizes(since)
      addRemoved(sizes, entries())
      for (const directory of directories)
        await addTree(sizes, directory, () => closed.signal.aborted || sizes.created >= bytes)
      const tookMs = performance.now() - began
      notBefore = performance.now() + 5 * tookMs
      anywayAt = performance.now() + Math.max(anywayMs, 50 * tookMs)
      return sizes.created + Math.min(sizes.changed, lost) >= bytes
    },
    close() {
      closed.abort()
      lastClosedAt = performance.now()
    },
  }
}

/** How late the clock of file times can be. */
const lateMs = 20

/** When a command with a limit of its disk space last ended. */
let lastClosedAt = Number.NEGATIVE_INFINITY

/** The time after which directories are walked even if the free space shows no growth. */
const anywayMs = 10_000

/** The disk space of files that were created or changed since a time. */
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

/** Adds the files of a tree, until `isEnough` returns true. */
async function addTree(sizes: Sizes, directory: string, isEnough: () => boolean): Promise<void> {
  const waiting = [directory]
  for (let next = waiting.pop(); next !== undefined && !isEnough(); next = waiting.pop()) {
    // Removed or made unreadable in the meantime.
    const entries = await readdir(next, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      const stat = entry.isFile() ? await lstat(path).catch(() => undefined) : undefined
      if (stat !== undefined) sizes.add(stat)
    }
  }
}

/** Deleted files take space as long as a process has them open. */
function addRemoved(sizes: Sizes, entries: readonly ProcessEntry[]): void {
  for (const place of entries.flatMap(placesOf))
    for (const descriptor of namesIfReadable(`${place}/fd`)) {
      const stat = ifReadable(() => statSync(`${place}/fd/${descriptor}`))
      if (stat?.isFile() === true && stat.nlink === 0) sizes.add(stat)
    }
}
