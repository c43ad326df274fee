import { isPastPeriod } from './counter-period.js'
import type { OpenedQueue } from './queue-log.js'
import { isOpenRun, minRetentionMs, type RunRetention } from './run-queue.js'

/**
 * Removes ended runs and counters of past periods from a queue in one process. Returns the number of removed runs.
 */
export async function removeEnded(
  { state, log }: OpenedQueue,
  { maxAgeMs, maxRuns }: RunRetention,
  now: number,
): Promise<number> {
  const ended = [...state.runs.values()].filter((run) => !isOpenRun(run))
  const isRecent = ({ updatedAtMs }: { readonly updatedAtMs: number }): boolean =>
    updatedAtMs >= now - minRetentionMs
  const recent = ended.filter((run) => isRecent(run) && run.state !== 'dead').length
  let left = Math.max(0, maxRuns - recent)
  const removed = ended
    .filter((run) => !isRecent(run))
    .toSorted((a, b) => b.updatedAtMs - a.updatedAtMs)
    .filter(({ state: how, updatedAtMs }) => updatedAtMs < now - maxAgeMs || (how !== 'dead' && --left < 0))
  for (const { runId } of removed) state.runs.delete(runId)
  for (const name of state.counters.keys()) if (isPastPeriod(name, now)) state.counters.delete(name)
  await log.remove(removed)
  return removed.length
}
