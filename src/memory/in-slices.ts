import { setImmediate as nextTurn } from 'node:timers/promises'

const sliceMs = 8

/** Works through a list without blocking the rest of the process. */
export async function inSlices<T>(list: Iterable<T>, work: (one: T) => void): Promise<void> {
  let startedAt = performance.now()
  for (const one of list) {
    work(one)
    if (performance.now() - startedAt < sliceMs) continue
    await nextTurn()
    startedAt = performance.now()
  }
}
