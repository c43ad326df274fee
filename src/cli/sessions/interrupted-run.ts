import type { RunRow } from '../../store/records.js'

/**
 * Returns the interrupted run: its status is `interrupted`, or its process ended while it was running. Undefined when
 * the last run has ended.
 */
export function interruptedRun(runs: Iterable<RunRow>): RunRow | undefined {
  const all = [...runs]
  const last = all.at(-1)
  const unfinished = all.findLast(({ status }) => status === 'running' || status === 'queued')
  return unfinished ?? (last?.status === 'interrupted' ? last : undefined)
}
