import { within } from '../workspace/shell/within.js'

/**
 * Does this a few at a time. Hundreds of sessions that begin in one moment would otherwise take every step together, and each such step
 * would hold up all else that the process does. One that takes long is not waited for: what hangs, hangs alone.
 */
export async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  while (atWork >= mostAtWork) await new Promise<void>((resolve) => waiting.push(resolve))
  atWork++
  const result = work()
  void within(result.then(noop, noop), longestTurnMs).then(next)
  return result
}

const mostAtWork = 8
const longestTurnMs = 50
const waiting: (() => void)[] = []
let atWork = 0

function next(): void {
  atWork--
  // In a turn of its own, so that others get theirs in between.
  if (waiting.length > 0) setImmediate(() => waiting.shift()?.())
}

function noop(): void {
  // Whoever asked for the work learns how it went.
}
