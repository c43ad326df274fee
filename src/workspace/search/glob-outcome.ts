import type { GlobOutcome, GlobRequest } from '../../tool/runtime.js'
import { byName, createFirstOf } from './first-of.js'
import { incompleteText } from './incomplete.js'
import { type NewestTarget, newestFirst } from './newest-first.js'

export type GlobCollector = {
  add(path: string): void
  outcome(incomplete: string | undefined): Promise<GlobOutcome>
}

/** Collects paths in the requested order, up to the limit. By name, it stores about as many as it returns. */
export function createGlobCollector(
  target: NewestTarget,
  request: GlobRequest,
  deadlineMs: number,
): GlobCollector {
  const limit = Math.max(0, request.limit)
  const answer = (paths: readonly string[], total: number, incomplete: string | undefined): GlobOutcome => ({
    paths,
    total,
    truncated: total > limit || incomplete !== undefined,
    ...(incomplete === undefined ? {} : { incomplete }),
  })
  if (request.order !== 'newest') {
    const first = createFirstOf(limit, byName)
    return {
      add: first.add,
      outcome: async (incomplete) => answer(first.items(), first.total, incomplete),
    }
  }
  const found: string[] = []
  return {
    add: (path) => void found.push(path),
    async outcome(incomplete) {
      let late = false
      const timer = setTimeout(() => {
        late = true
      }, deadlineMs)
      const stopped = () => late || (request.signal?.aborted ?? false)
      const { newest, complete } = await newestFirst(target, found, limit, stopped).finally(() =>
        clearTimeout(timer),
      )
      const why = complete ? undefined : incompleteText(late ? 'deadline' : 'aborted', deadlineMs)
      return answer(newest, found.length, incomplete ?? why)
    },
  }
}
