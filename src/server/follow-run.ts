import type { AgentEvent } from '../loop/events.js'
import type { AgentResult } from '../session/agent-result.js'
import { load } from '../session/journal/restore.js'
import { restoredEvents, sequencesPerProcess } from '../session/journal/restored-events.js'
import type { RunEvent } from '../session/run-events.js'
import type { RunSnapshot } from '../session/runs.js'
import type { Session } from '../session/session.js'
import type { SessionStore } from '../store/session-store.js'
import type { SessionPool } from './session-pool.js'
import { tailRun } from './tail-run.js'

export type FollowOptions = {
  /** The last sequence number that the reader received; 0 for none. */
  readonly from: number
  readonly signal: AbortSignal
  readonly pool: Pick<SessionPool, 'store' | 'isElsewhere' | 'current'>
  /** Resumes an interrupted run; undefined if that is not wanted or not possible now. */
  readonly resume: (session: Session, run: RunSnapshot) => Promise<Resumed | undefined>
  now(): number
}

/** The outcome of an interrupted run: another run continues it, or it had already given its answer. */
export type Resumed = { readonly runId: string } | { readonly result: AgentResult }

/**
 * Yields the events of a run, from a sequence number to its end, also across restarts. A run that resumes another
 * continues its stream; each process has its own range of numbers, so no number is used twice. Events that are no
 * longer in memory, and those of a run that another process executes, are read from the log.
 */
export async function* followRun(
  opened: Session,
  runId: string,
  { from, signal, pool, resume, now }: FollowOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  const { store } = pool
  let session = opened
  let last = from
  let current = runId
  for (let base = 0; ; ) {
    let isFirst = true
    for await (const one of session.watch(current, { from: Math.max(0, last - base), signal })) {
      // Another process has acquired the session meanwhile. The reader reconnects and follows the run there.
      if (base > 0 && isFirst && isElsewhere(one.event)) return
      const missed = isFirst && one.event.type === 'events_missed'
      isFirst = false
      const events = missed
        ? await fromLog(store, session.sessionId, current, Math.max(0, last - base), one.sequence)
        : [one]
      for (const each of events.length === 0 ? [one] : events) {
        last = base + each.sequence
        yield { ...each, sequence: last }
      }
    }
    const run = await session.runSnapshot(current)
    if (signal.aborted || run?.status !== 'interrupted') return
    const known = await continuation(session, run)
    if (known === undefined && (await pool.isElsewhere(session))) {
      const place = { from: Math.max(0, last - base), signal, now }
      for await (const one of tailRun(store, session.sessionId, current, place)) {
        last = base + one.sequence
        yield { ...one, sequence: last }
      }
      if (signal.aborted) return
      session = await pool.current(session.sessionId)
      continue
    }
    const next = known ?? (await resume(session, run))
    if (next === undefined || signal.aborted) return
    const place = { sequence: base + sequencesPerProcess, timestampMs: run.updatedAtMs }
    if ('result' in next) {
      yield { ...place, event: { type: 'agent_end', runId: run.id, result: next.result } }
      return
    }
    const turn = openTurn(await session.runEvents(current))
    if (turn !== undefined && last < place.sequence) {
      last = place.sequence
      yield {
        ...place,
        event: { type: 'answer_restarted', turn, reason: 'The process that ran it has ended.' },
      }
    }
    current = next.runId
    base += sequencesPerProcess
  }
}

/** Returns the events of a run between two sequence numbers from its log. */
async function fromLog(
  store: SessionStore,
  sessionId: string,
  runId: string,
  from: number,
  to: number,
): Promise<RunEvent[]> {
  const state = await load(store, sessionId)
  const run = state?.runs.get(runId)
  if (state === undefined || run === undefined) return []
  return restoredEvents(state, run).filter(({ sequence }) => sequence > from && sequence <= to)
}

/** Returns the run that already continues an interrupted one, if there is one. */
async function continuation(session: Session, { id }: RunSnapshot): Promise<Resumed | undefined> {
  const known = (await session.runs()).findLast(({ resumedFrom }) => resumedFrom === id)
  return known && { runId: known.id }
}

function isElsewhere(event: AgentEvent): boolean {
  return event.type === 'error' && (event.code === 'session_locked' || event.code === 'store_stale')
}

/** Returns the round whose answer was incomplete when the run was interrupted. */
function openTurn(events: readonly RunEvent[]): number | undefined {
  const last = events.findLast(({ event }) => event.type === 'turn_start' || event.type === 'turn_end')?.event
  return last?.type === 'turn_start' ? last.turn : undefined
}

/** Returns the events of a run up to a sequence number, including those of the runs that continued it. */
export async function earlierInChain(session: Session, runId: string, upTo: number): Promise<RunEvent[]> {
  const found: RunEvent[] = []
  let current: string | undefined = runId
  for (let base = 0; current !== undefined && base < upTo; base += sequencesPerProcess) {
    for (const one of await session.runEvents(current))
      if (base + one.sequence <= upTo) found.push({ ...one, sequence: base + one.sequence })
    const before: string = current
    current = (await session.runs()).findLast(({ resumedFrom }) => resumedFrom === before)?.id
  }
  return found
}
