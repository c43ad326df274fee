import type { AgentEvent } from '../loop/events.js'
import { isTerminal } from '../loop/events.js'
import {
  isOpenRun,
  type LiveEvent,
  type QueuedRun,
  type RunQueue,
  type TenantScope,
} from '../run-queue/run-queue.js'
import { load } from '../session/journal/restore.js'
import type { RunEvent } from '../session/run-events.js'
import type { SessionStore } from '../store/session-store.js'
import { baseOf, chainEvents, chainOf } from './chain-events.js'
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
      const isOver = !isOpenRun(run)
      const isGap = first !== undefined && first !== last + 1
      if (isOver || isGap || (first === undefined && key !== readFor)) {
        readFor = key
        for (const event of await storedEvents(store, run)) {
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
        // The end of a run that no log has: live events may come before it.
        const end = (await storedEvents(store, run)).at(-1)
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

function asRunEvent({ sequence, timestampMs, event }: LiveEvent): RunEvent {
  // It was an event when a worker published it.
  return { sequence, timestampMs, event: event as unknown as AgentEvent }
}

/**
 * The events of a run as its log has them. A run that ended without an end in the log, because it never started there
 * or is dead, has one after all of them.
 */
export async function storedEvents(store: SessionStore, run: QueuedRun): Promise<RunEvent[]> {
  const { runId, sessionId, state, error, updatedAtMs } = run
  const log = await load(store, sessionId)
  const events = log === undefined ? [] : chainEvents(log, runId)
  if (isOpenRun(run) || (events.some(({ event }) => isTerminal(event)) && state !== 'dead')) return events
  const processes = log === undefined ? 0 : chainOf(log, runId).length
  const place = { sequence: processes === 0 ? 1 : baseOf(processes), timestampMs: updatedAtMs }
  if (state === 'cancelled')
    return [
      ...events,
      { ...place, event: { type: 'agent_cancelled', reason: 'The run was cancelled before it started.' } },
    ]
  if (error === undefined) return events
  return [...events, { ...place, event: { type: 'error', error: error.message, code: error.code } }]
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
