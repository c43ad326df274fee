import { randomUUID } from 'node:crypto'
import { link, lstat, open, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { readIfThere } from './read-if-there.js'

/** How long a lock can be held, and how long others wait for it. Changing a rule file takes milliseconds. */
export type LockTimes = { readonly staleAfterMs: number; readonly giveUpAfterMs: number }

const usualTimes: LockTimes = { staleAfterMs: 10_000, giveUpAfterMs: 20_000 }

/**
 * Runs work on a file exclusively: one after the other in this process, and with a lock file next to it against other
 * processes. A lock that is too old, or whose holder has ended, is taken over; the work must call `assertMine` right
 * before it changes the file, because another process may have taken over the lock of a process that was suspended. The
 * directory of the file must exist.
 */
export async function exclusively<Result>(
  file: string,
  work: (assertMine: () => Promise<void>) => Promise<Result>,
  times: LockTimes = usualTimes,
): Promise<Result> {
  const before = queues.get(file) ?? Promise.resolve()
  const turn = before.then(() => withLock(`${file}.lock`, work, times))
  const settled = turn.then(nothing, nothing)
  queues.set(file, settled)
  try {
    return await turn
  } finally {
    if (queues.get(file) === settled) queues.delete(file)
  }
}

const queues = new Map<string, Promise<void>>()

function nothing(): void {
  // A failure of the previous work is reported to its own caller; the next in the queue only waits for its end.
}

async function withLock<Result>(
  lock: string,
  work: (assertMine: () => Promise<void>) => Promise<Result>,
  times: LockTimes,
): Promise<Result> {
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), token: randomUUID() })
  const isMine = async (): Promise<boolean> => (await readIfThere(lock, maxLockBytes)) === mine
  await acquire(lock, mine, times)
  try {
    return await work(async () => {
      if (!(await isMine())) throw new Error('another process took the lock in the meantime')
    })
  } finally {
    if (await isMine()) await rm(lock, { force: true })
  }
}

const maxLockBytes = 4096

async function acquire(
  lock: string,
  mine: string,
  { staleAfterMs, giveUpAfterMs }: LockTimes,
): Promise<void> {
  const end = performance.now() + giveUpAfterMs
  while (!(await tryCreate(lock, mine))) {
    if (await isStale(lock, staleAfterMs)) await takeAway(lock, staleAfterMs)
    else if (performance.now() > end)
      throw new Error(`it is in use by another process; if there is none, delete ${lock}`)
    else await wait(2 + Math.random() * 10)
  }
}

async function tryCreate(lock: string, content: string): Promise<boolean> {
  try {
    const handle = await open(lock, 'wx', 0o600)
    try {
      await handle.writeFile(content)
    } finally {
      await handle.close()
    }
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function isStale(lock: string, staleAfterMs: number): Promise<boolean> {
  try {
    if (Date.now() - (await lstat(lock)).mtimeMs > staleAfterMs) return true
    return isGone((await readIfThere(lock, maxLockBytes)) ?? '')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}

/**
 * Whether the holder of a lock has ended, as far as this machine can determine: a lock of another machine, or one that
 * is not written yet, has to become too old.
 */
function isGone(content: string): boolean {
  const found = /^\{"pid":(\d{1,10}),"host":("(?:[^"\\]|\\.)*"),/.exec(content)
  if (found === null || found[2] !== JSON.stringify(hostname())) return false
  try {
    process.kill(Number(found[1]), 0)
    return false
  } catch (error) {
    return codeOf(error) === 'ESRCH'
  }
}

/** Two processes may find the same stale lock: the slower one restores the new lock of the faster one. */
async function takeAway(lock: string, staleAfterMs: number): Promise<void> {
  const aside = `${lock}.${randomUUID()}`
  try {
    await rename(lock, aside)
    if (!(await isStale(aside, staleAfterMs))) await link(aside, lock)
  } catch (error) {
    // Another process was faster, at the first step or at the second; then its holder notices that in `assertMine`.
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(aside, { force: true })
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code
}
