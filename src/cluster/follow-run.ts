import type { AgentEvent } from '../loop/events.js'
import { isTerminal } from '../loop/events.js'
import type { LiveEvent, QueuedRun, RunQueue, TenantScope } from '../run-queue/run-queue.js'
import { load } from '../session/journal/restore.js'
import type { RunEvent } from '../session/run-events.js'
import type { SessionStore } from '../store/session-store.js'
import { chainEvents } from './chain-events.js'
import { runNotFound } from './errors.js'

export type FollowOptions = {
  readonly store: SessionStore
  readonly queue: RunQueue
  readonly scope: TenantScope
  /** The last number that the reader has; 0 for none. */
  readonly from: number
  readonly signal?: AbortSignal | undefined
}

/** How often a reader looks by itself, in case a queue missed a call. */
const pollMs = 1_000

/**
 * The events of a run from a number on, wherever it is executed, to its end: through takeovers and suspensions too.
 * Events of an active run come from the queue, with text as it is written; others come from the log.
 */
export async function* followRun(
  runId: string,
  { store, queue, scope, from, signal }: FollowOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  let last = from
  /** What the log was last read for: it is read again when the run has changed its node or its state. */
  let readFor = ''
  for (;;) {
    const change = changeOf(queue, runId, signal)
    try {
      const run = await queue.get(runId, scope)
      if (run === undefined) throw runNotFound(runId)
      const live = (await queue.live(runId, last, scope)).toSorted((a, b) => a.sequence - b.sequence)
      const first = live[0]?.sequence
      const key = `${run.state} ${run.attempt}`
      const isOver = hasEnded(run)
      const isGap = first !== undefined && first !== last + 1
      if (isOver || isGap || (first === undefined && key !== readFor)) {
        readFor = key
        const state = await load(store, run.sessionId)
        const stored = state === undefined ? [] : chainEvents(state, runId)
        for (const event of stored) {
          if (event.sequence <= last || (first !== undefined && event.sequence >= first)) continue
          last = event.sequence
          yield event
          if (signal?.aborted) return
        }
      }
      for (const event of live) {
        if (event.sequence <= last) continue
        last = event.sequence
        yield asRunEvent(event)
        if (signal?.aborted) return
      }
      if (isOver) {
        const end = await missingEnd(store, run, last)
        if (end !== undefined && end.sequence > last) yield end
        return
      }
      await change.happened
      if (signal?.aborted) return
    } finally {
      change.stop()
    }
  }
}

function hasEnded({ state }: Pick<QueuedRun, 'state'>): boolean {
  return state === 'completed' || state === 'failed' || state === 'cancelled' || state === 'dead'
}

function asRunEvent({ sequence, timestampMs, event }: LiveEvent): RunEvent {
  // It was an event when a worker published it.
  return { sequence, timestampMs, event: event as unknown as AgentEvent }
}

/** The last event of a run that ended without one in the log: it never started there, or is dead. */
async function missingEnd(
  store: SessionStore,
  { runId, sessionId, state, error, updatedAtMs }: QueuedRun,
  last: number,
): Promise<RunEvent | undefined> {
  const stored = await load(store, sessionId)
  const events = stored === undefined ? [] : chainEvents(stored, runId)
  const isEnded = events.some(({ event }) => isTerminal(event))
  if (isEnded && state !== 'dead') return undefined
  const place = { sequence: Math.max(last, events.at(-1)?.sequence ?? 0) + 1, timestampMs: updatedAtMs }
  if (state === 'cancelled')
    return {
      ...place,
      event: { type: 'agent_cancelled', reason: 'The run was cancelled before it started.' },
    }
  if (error === undefined) return undefined
  return { ...place, event: { type: 'error', error: error.message, code: error.code } }
}

function changeOf(
  queue: RunQueue,
  runId: string,
  signal: AbortSignal | undefined,
): { readonly happened: Promise<void>; stop(): void } {
  let happen = (): void => undefined
  const happened = new Promise<void>((resolve) => {
    happen = resolve
  })
  const unwatch = queue.watch(runId, happen)
  const timer = setTimeout(happen, pollMs)
  signal?.addEventListener('abort', happen, { once: true })
  if (signal?.aborted) happen()
  return {
    happened,
    stop: () => {
      unwatch()
      clearTimeout(timer)
      signal?.removeEventListener('abort', happen)
    },
  }
}
