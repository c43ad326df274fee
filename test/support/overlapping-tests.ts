import { it } from 'vitest'

/**
 * Returns a function that declares tests as `it` does. They run at the same time: all of them start in the first one,
 * and each has its own result. For tests that wait for most of their time and share nothing. Everything that they open
 * is closed after the last of them has ended.
 */
export function overlappingTests(): (name: string, run: () => Promise<void>, timeout?: number) => void {
  const runs: (() => Promise<void>)[] = []
  let results: Promise<PromiseSettledResult<void>[]> | undefined
  return (name, run, timeout) => {
    const at = runs.push(run) - 1
    it(
      name,
      async () => {
        results ??= Promise.allSettled(runs.map((start) => start()))
        const result = (await results)[at]
        if (result?.status !== 'fulfilled') throw result?.reason
      },
      timeout,
    )
  }
}
