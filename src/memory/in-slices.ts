import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 8

/** Processes a list in slices, so that it does not block the event loop. */
export async function inSlices<T>(list: Iterable<T>, work: (one: T) => void): Promise<void> {
  let startedAt = performance.now()
  for (const one of list) {
    work(one)
    if (performance.now() - startedAt < sliceMs) continue
    await nextTurn()
    startedAt = performance.now()
  }
}
