const tails = new Map<string, Promise<void>>()

/**
 * Runs work once all earlier work on any of the same keys is over. One table for the whole process, so that two sessions on one
 * directory wait for each other too. All keys are taken in one step, hence no order of taking them can lock up.
 */
export async function withKeyedLock<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
  const own = [...new Set(keys)]
  const before = own.map((key) => tails.get(key))
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  for (const key of own) tails.set(key, finished)
  try {
    await Promise.all(before)
    return await work()
  } finally {
    for (const key of own) if (tails.get(key) === finished) tails.delete(key)
    finish()
  }
}

/** Whether nobody holds the key. Still so when `inTurn` is called in the same step. */
export function isFree(key: string): boolean {
  return !tails.has(key)
}

/** How many keys are held. For tests: nothing may stay behind. */
export function keysInUse(): number {
  return tails.size
}
