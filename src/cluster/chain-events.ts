import type { RestoredSession } from '../session/journal/restore.js'
import { restoredEvents, sequencesPerProcess } from '../session/journal/restored-events.js'
import type { RunEvent } from '../session/run-events.js'

/** A run that may have resumed another one. */
type ChainedRun = { readonly id: string; readonly resumedFrom?: string | undefined }

/** Returns a run and the runs that resumed it, in order: a client sees them as one run. */
export function chainOf<Run extends ChainedRun>(
  { runs }: { readonly runs: ReadonlyMap<string, Run> },
  runId: string,
): Run[] {
  const chain: Run[] = []
  let current = runs.get(runId)
  while (current !== undefined && !chain.includes(current)) {
    chain.push(current)
    const { id } = current
    current = [...runs.values()].findLast(({ resumedFrom }) => resumedFrom === id)
  }
  return chain
}

/** Returns the sequence number before the first event of a run in its chain: each process has its own range. */
export function baseOf(at: number): number {
  return at * sequencesPerProcess
}

/** Returns all events of a chain from the log, with the sequence numbers of its stream. */
export function chainEvents(state: RestoredSession, runId: string): RunEvent[] {
  return chainOf(state, runId).flatMap((run, at, chain) => {
    const events = restoredEvents(state, run)
    const isLast = at === chain.length - 1
    const own = events.map((one) => ({ ...one, sequence: baseOf(at) + one.sequence }))
    const restart = isLast ? undefined : restartEvent(events, at + 1, run.updatedAtMs)
    return restart === undefined ? own : [...own, restart]
  })
}

/**
 * Returns the event between two runs of a chain if an answer was interrupted: its text so far is not part of the
 * result.
 */
export function restartEvent(
  events: readonly RunEvent[],
  next: number,
  timestampMs: number,
): RunEvent | undefined {
  const last = events.findLast(({ event }) => event.type === 'turn_start' || event.type === 'turn_end')?.event
  if (last?.type !== 'turn_start') return undefined
  const reason = 'The process that ran it has ended.'
  return {
    sequence: baseOf(next),
    timestampMs,
    event: { type: 'answer_restarted', turn: last.turn, reason },
  }
}
