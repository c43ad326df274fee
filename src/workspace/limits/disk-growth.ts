import { lstatSync, statfsSync, statSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifReadable, namesIfReadable } from '../if-readable.js'

/** Measures how much a command adds to the disk. */
export type DiskGrowth = {
  /** Whether more than this was added to the directories. `pids`: the processes of the command. */
  exceeds(bytes: number, pids: () => readonly number[]): Promise<boolean>
}

/**
 * Watches directories that a command can write to. The free space of their file systems is asked first, which costs
 * next to nothing and counts what others write too. Only when so much is gone, the files that changed since the start
 * are added up; both have to be over the limit.
 */
export function watchDiskGrowth(directories: readonly string[]): DiskGrowth {
  // Dates of files come from a clock that can be a few milliseconds late.
  const since = Date.now() - 20
  const systems = fileSystemsOf(directories)
  let walkAgainAt = 0
  return {
    async exceeds(bytes, pids) {
      const lost = systems.reduce((sum, { path, free }) => sum + Math.max(0, free - freeBytes(path)), 0)
      if (lost < bytes || performance.now() < walkAgainAt) return false
      const began = performance.now()
      let changed = removedBytes(pids())
      for (const directory of directories) {
        if (changed >= bytes) break
        changed += await changedBytes(directory, since, bytes - changed)
      }
      const tookMs = performance.now() - began
      // A large tree is not walked all the time.
      walkAgainAt = performance.now() + 5 * tookMs
      return changed >= bytes
    },
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

/** What the files of a tree that changed since then take on the disk; stops counting at `enough`. */
async function changedBytes(directory: string, since: number, enough: number): Promise<number> {
  const seen = new Set<string>()
  const waiting = [directory]
  let sum = 0
  for (let next = waiting.pop(); next !== undefined && sum < enough; next = waiting.pop()) {
    // Removed or closed meanwhile.
    const entries = await readdir(next, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const path = join(next, entry.name)
      if (entry.isDirectory()) waiting.push(path)
      if (!entry.isFile()) continue
      const stat = await lstat(path).catch(() => undefined)
      if (stat === undefined || stat.ctimeMs < since) continue
      const key = `${stat.dev}:${stat.ino}`
      if (stat.nlink > 1 && seen.has(key)) continue
      seen.add(key)
      sum += stat.blocks * 512
    }
  }
  return sum
}

/** Files without a name take space as long as a process has them open. */
function removedBytes(pids: readonly number[]): number {
  const files = new Map<string, number>()
  for (const pid of pids)
    for (const descriptor of namesIfReadable(`/proc/${pid}/fd`)) {
      const stat = ifReadable(() => statSync(`/proc/${pid}/fd/${descriptor}`))
      if (stat?.isFile() === true && stat.nlink === 0) files.set(`${stat.dev}:${stat.ino}`, stat.blocks * 512)
    }
  return Array.from(files.values()).reduce((sum, bytes) => sum + bytes, 0)
}
