import { type Context, createContext, Script } from 'node:vm'

let bench: { readonly place: Context; readonly work: Script } | undefined

/**
 * Runs work that a stranger's schema decides about, and ends it when it takes too long: a regular expression in it may go on for ever.
 * A script with a time limit is the one way to end work on this thread. Gives undefined when its time was up.
 */
export function inTime<Result>(
  timeoutMs: number,
  work: () => Result,
): { readonly result: Result } | undefined {
  bench ??= { place: createContext({}), work: new Script('work()') }
  const { place } = bench
  const box: { done?: { readonly result: Result } } = {}
  place['work'] = () => {
    box.done = { result: work() }
  }
  try {
    bench.work.runInContext(place, { timeout: timeoutMs })
    return box.done
  } catch (error) {
    if (isTimeout(error)) return undefined
    throw error
  } finally {
    place['work'] = undefined
  }
}

/** It was made in another realm, where errors are not ours. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  )
}
