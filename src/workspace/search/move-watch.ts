import { setTimeout as sleep } from 'node:timers/promises'
import { statIfReadable } from '../if-readable.js'
import type { OpenTarget } from './search-target.js'

export type MoveWatch = {
  /** Notes a file that a result speaks of, by its path from the root. */
  note(path: string): void
  /** Whether every path noted has led to the same file, through no link, since the start. */
  holds(): Promise<boolean>
}

// The kernel stamps a change with the time of its last tick, up to 10 ms ago; twice that is kept clear of.
export const tickMs = 20
const sliceSize = 512

/**
 * Detects whether files were moved while ripgrep was reading. Ripgrep goes by paths: a directory or file below the
 * searched one that is swapped for a link after ripgrep has listed it is followed to wherever the link leads. Putting a
 * link anywhere changes the directory it is put in, and so that directory's change time, which no process can set.
 * Hence: when every directory from the top down to a result is a directory, last changed before the start, then what
 * ripgrep read is what is there.
 *
 * A file server whose clock is slower than ours by more than the tick makes changes look old; there a swap may go
 * unnoticed.
 */
export async function watchForMoves(target: OpenTarget): Promise<MoveWatch> {
  // Without handles the way from the root to the searched directory can be swapped too.
  const [top, skip] = target.method === 'handle' ? [target.at, target.prefix.length] : [target.root, 0]
  const directories = new Set<string>([''])
  let latest = ''
  const note = (path: string) => {
    let slash = path.lastIndexOf('/')
    // Files of one directory mostly come together.
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
      // Deepest first: that what was asked about below a directory was really below it follows from asking the
      // directory afterwards.
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

/** Who has just written and now searches would find everything just changed, so that moment is waited for. */
async function waitForTick(directory: string): Promise<void> {
  // Timers may fire a millisecond early, and clocks are read in whole ones.
  const clear = tickMs + 3
  const age = Date.now() - (statIfReadable(directory)?.ctimeMs ?? 0)
  if (age > -clear && age < clear) await sleep(Math.ceil(clear - age))
}
