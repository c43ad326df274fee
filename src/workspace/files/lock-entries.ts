import { lstat } from 'node:fs/promises'
import type { Access } from './access.js'
import type { ContainedPath } from './contained-path.js'
import { PathUnstableError } from './errors.js'
import { acquireLock, tryAcquireLock } from './keyed-lock.js'
import { type OpenEntry, openEntry, type Want } from './open-entry.js'
import { foldCase } from './path-style.js'
import { fromSystem, tolerate } from './system-error.js'

export type Target = readonly [ContainedPath, Want]

/** Open entries that no other part of this process changes until they are released. */
export type LockedEntries<Targets extends readonly Target[]> = {
  readonly entries: { readonly [K in keyof Targets]: OpenEntry }
  release(): Promise<void>
}

/**
 * Opens paths and locks them against other changes in this process. The caller calls `release` when it has finished.
 *
 * The lock is on the real path, which is the same for all spellings of a path and is known only after opening. A free
 * lock is acquired at once. For a held lock, everything is closed while waiting, and then the path is opened again,
 * because it may lead elsewhere by then.
 */
export async function lockEntries<Targets extends readonly Target[]>(
  access: Access,
  targets: readonly [...Targets],
): Promise<LockedEntries<Targets>> {
  let wanted: readonly string[] = []
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const found = await tryToLock(access, targets, wanted)
    if ('entries' in found) return found as LockedEntries<Targets>
    wanted = found.busy
  }
  throw new PathUnstableError(targets[0]?.[0].asWritten ?? '')
}

const maxAttempts = 10

type Busy = { readonly busy: readonly string[] }

/** Makes one attempt, after waiting for the keys that the previous attempt found locked. */
async function tryToLock(
  access: Access,
  targets: readonly Target[],
  wanted: readonly string[],
): Promise<LockedEntries<readonly Target[]> | Busy> {
  let unlock = await acquireLock(wanted)
  let entries: OpenEntry[] = []
  const release = async (): Promise<void> => {
    for (const entry of entries) await entry.directory.close()
    unlock()
  }
  try {
    for (const [path, want] of targets) entries.push(await openEntry(access, path, want))
    const keys = entries.map(({ realPath }) => foldCase(realPath))
    if (wanted.length > 0 && keys.every((key, index) => key === wanted[index])) return { entries, release }
    const unlockKeys = tryAcquireLock(keys)
    if (unlockKeys !== undefined) {
      unlock()
      unlock = unlockKeys
      // The entries were read before the lock was acquired; another holder may have changed them in between.
      entries = await Promise.all(entries.map(lookAgain))
      if (!entries.some(({ stat }, index) => stat?.isSymbolicLink() && targets[index]?.[1].follow))
        return { entries, release }
    }
    await release()
    return { busy: keys }
  } catch (thrown) {
    await release()
    throw thrown
  }
}

async function lookAgain(entry: OpenEntry): Promise<OpenEntry> {
  try {
    const stat = await lstat(entry.directory.at(entry.name)).catch(tolerate(['ENOENT'], undefined))
    return { ...entry, stat }
  } catch (thrown) {
    throw fromSystem(thrown, entry.asWritten)
  }
}
