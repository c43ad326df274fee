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
  /** The last sequence number that the reader has; 0 for none. */
  readonly from: number
  readonly signal?: AbortSignal | undefined
}

/** How often a reader polls, in case a notification of the queue was missed. */
const pollMs = 1_000

/**
 * Yields the events of a run from a sequence number to its end, on whichever node it is executed, also across
 * takeovers and suspensions. Events of an active run come from the queue, with text as it is generated; others come
 * from the log.
 */
export async function* followRun(
  runId: string,
  { store, queue, scope, from, signal }: FollowOptions,
): AsyncGenerator<RunEvent, void, undefined> {
  let last = from
  /**
   * The state for which the log was last read: it is read again when the node or the state of the run has changed.
   */
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
        // The end of a run that is not in the log: live events may precede it.
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
  // A worker published it as an event.
  return { sequence, timestampMs, event: event as unknown as AgentEvent }
}

/**
 * Returns the events of a run from its log. If the log has no end event, because the run never started or is dead,
 * one is added.
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
