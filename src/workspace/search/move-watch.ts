import { setTimeout as sleep } from 'node:timers/promises'
import { statIfReadable } from '../if-readable.js'
import type { OpenTarget } from './search-target.js'

export type MoveWatch = {
  /** Records a file that appears in a result, by its path from the root. */
  note(path: string): void
  /** Whether every recorded path has led to the same file, through no link, since the start. */
  holds(): Promise<boolean>
}

// The kernel stamps a change with the time of its last tick, up to 10 ms ago; twice that is used as a margin.
export const tickMs = 20
const sliceSize = 512

/**
 * Detects whether files were moved while ripgrep was reading. Ripgrep uses paths: if a directory or file below the
 * searched one is replaced by a link after ripgrep has listed it, ripgrep follows the link. Creating a link changes the
 * directory that contains it, and so that directory's `ctime`, which no process can set. Therefore, if every directory
 * from the top down to a result is a directory and last changed before the start, ripgrep has read the files that are
 * there.
 *
 * A file server whose clock is slower than the local one by more than the tick makes changes look old; there a
 * replacement may not be detected.
 */
export async function watchForMoves(target: OpenTarget): Promise<MoveWatch> {
  // Without handles, the path from the root to the searched directory can be replaced too.
  const [top, skip] = target.method === 'handle' ? [target.at, target.prefix.length] : [target.root, 0]
  const directories = new Set<string>([''])
  let latest = ''
  const note = (path: string) => {
    let slash = path.lastIndexOf('/')
    // Files of one directory usually arrive together.
    if (slash === latest.length - 1 && path.startsWith(latest)) return
    latest = path.slice(0, slash + 1)
    for (; slash >= skip; slash = path.lastIndexOf('/', slash - 1)) {
      const directory = path.slice(skip, slash)
      if (directories.has(directory)) return
      directories.add(directory)
    }
  }
  note(target.prefix)
  await waitForTick(target.at)
  const start = Date.now() - tickMs
  return {
    note,
    async holds() {
      // Deepest first: checking a directory after its entries shows that they were really inside it.
      const paths = [...directories].sort((one, other) => other.length - one.length)
      for (const [index, path] of paths.entries()) {
        if (index % sliceSize === sliceSize - 1) await new Promise<void>((done) => setImmediate(done))
        if (!isOlder(`${top}/${path}`, path === '', start)) return false
      }
      return true
    },
  }
}

function isOlder(path: string, isTop: boolean, start: number): boolean {
  const stat = statIfReadable(isTop ? `${path}.` : path)
  return stat?.isDirectory() === true && stat.ctimeMs < start
}

/** After a recent write, everything would look just changed, so this waits until the change is older than a tick. */
async function waitForTick(directory: string): Promise<void> {
  // Timers can fire a millisecond early, and clocks are read in whole milliseconds.
  const clear = tickMs + 3
  const age = Date.now() - (statIfReadable(directory)?.ctimeMs ?? 0)
  if (age > -clear && age < clear) await sleep(Math.ceil(clear - age))
}
