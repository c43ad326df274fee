import type { RunRow } from '../../store/records.js'

/** The run that was interrupted: it is marked so, or a process ended while it was running. Undefined when the last run has ended. */
export function cutOffRun(runs: Iterable<RunRow>): RunRow | undefined {
  const all = [...runs]
  const last = all.at(-1)
  const atWork = all.findLast(({ status }) => status === 'running' || status === 'queued')
  return atWork ?? (last?.status === 'interrupted' ? last : undefined)
}
