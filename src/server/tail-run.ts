import { setTimeout as wait } from 'node:timers/promises'
import { load, type RestoredSession } from '../session/journal/restore.js'
import { restoredEvents } from '../session/journal/restored-events.js'
import type { RunEvent } from '../session/run-events.js'
import { isHeld } from '../store/is-held.js'
import type { RunRow } from '../store/records.js'
import type { SessionStore } from '../store/session-store.js'

export type TailOptions = {
  /** The last sequence number that the reader received; 0 for none. */
  readonly from: number
  readonly signal: AbortSignal
  now(): number
}

/**
 * Yields the events of a run that another process executes, as they arrive in the store. Ends with the run, and when
 * that process releases the session or has ended.
 */
export async function* tailRun(
  store: SessionStore,
  sessionId: string,
  runId: string,
  { from, signal, now }: TailOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  let last = from
  for (;;) {
    const startedAt = now()
    const state = await load(store, sessionId)
    const run = state?.runs.get(runId)
    if (state === undefined || run === undefined) return
    for (const one of completeEvents(state, run)) {
      if (one.sequence <= last) continue
      last = one.sequence
      yield one
    }
    if (isEnded(run) || signal.aborted || !(await isHeld(store, sessionId, now))) return
    // The longer a log takes to read, the less often it is read.
    const pauseMs = Math.min(maxPauseMs, Math.max(minPauseMs, (now() - startedAt) * 10))
    await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
  }
}

const minPauseMs = 200
const maxPauseMs = 5_000

/**
 * Returns the events up to the last complete answer. The log contains the text of an answer only with its end, with a
 * sequence number that is lower than those of the calls in the answer.
 */
function completeEvents(state: RestoredSession, run: RunRow): RunEvent[] {
  const events = restoredEvents(state, run)
  if (isEnded(run)) return events
  const at = events.findLastIndex(({ event }) => event.type === 'turn_start')
  const later = events.slice(at + 1)
  const rows = (state.events.get(run.id) ?? []).filter(
    ({ sequence, texts }) => texts !== undefined && sequence > (events[at]?.sequence ?? 0),
  )
  const hasText = rows.every(({ texts }) =>
    [texts?.text, texts?.reasoning].every(
      (number) => number === undefined || later.some(({ sequence }) => sequence === number),
    ),
  )
  const isComplete = at < 0 || (later.some(({ event }) => event.type === 'turn_end') && hasText)
  return isComplete ? events : events.slice(0, at + 1)
}

function isEnded({ status }: RunRow): boolean {
  return status !== 'running' && status !== 'queued'
}
