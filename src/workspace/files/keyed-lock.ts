const tails = new Map<string, Promise<void>>()

/** Releases a lock. A second call does nothing. */
export type Release = () => void

/**
 * Waits until all earlier holders of any of these keys have released them, and locks the keys. The table is shared by
 * the whole process, so that two sessions on one directory wait for each other too. All keys are queued in one step, so
 * no order of keys can cause a deadlock.
 *
 * @example
 * const release = await acquireLock(['/srv/project/a.txt'])
 * try {
 *   await change()
 * } finally {
 *   release()
 * }
 */
export async function acquireLock(keys: readonly string[]): Promise<Release> {
  const own = [...new Set(keys)]
  const before = own.map((key) => tails.get(key))
  const release = queueUp(own)
  await Promise.all(before)
  return release
}

/** Locks the keys if none of them is locked, without waiting. Returns undefined when one is. */
export function tryAcquireLock(keys: readonly string[]): Release | undefined {
  return keys.some((key) => tails.has(key)) ? undefined : queueUp([...new Set(keys)])
}

/** The number of locked keys. For tests, which check that every lock was released. */
export function lockedKeys(): number {
  return tails.size
}

function queueUp(keys: readonly string[]): Release {
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  for (const key of keys) tails.set(key, finished)
  return () => {
    for (const key of keys) if (tails.get(key) === finished) tails.delete(key)
    finish()
  }
}
