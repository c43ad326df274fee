import { load } from '../../session/journal/restore.js'
import { restoredEvents } from '../../session/journal/restored-events.js'
import type { RunEvent } from '../../session/run-events.js'
import type { Session } from '../../session/session.js'
import { kernelOf } from '../../session/session-class.js'
import { objectSchema } from '../../tool/object-schema.js'
import { ProblemError } from '../problem.js'
import { answer, jsonText, listOf, type Route, ref, type SessionContext, sessionRoute } from '../route.js'
import type { ServerCore } from '../server-core.js'
import { cutTexts } from './cut-texts.js'

/** A page ends after this many characters of JSON, so that a browser can parse it in a few milliseconds. */
const maxPageChars = 1_000_000

export const maxTextParameter = {
  type: 'integer',
  minimum: 100,
  description:
    'Longer texts in events are shortened to so many characters. `cutChars` counts what is missing.',
} as const

/**
 * Serves the events of a run with their times, page by page. Unlike the event stream, it ends, and does not resume the
 * run.
 */
export const runLogRoute: Route = sessionRoute('GET', '/runs/{runId}/log', 'listRunEvents', {
  summary: 'The events of a run so far, with their times, in pages.',
  tag: 'runs',
  query: {
    from: { type: 'integer', minimum: 0, description: 'The last number that the reader has.' },
    limit: { type: 'integer', minimum: 1, maximum: 5_000, default: 1_000 },
    maxText: maxTextParameter,
  },
  responses: answer(
    'One page. `isLast` is false when more events follow; a page of long events has fewer than `limit`.',
    objectSchema({
      events: listOf(
        objectSchema({
          sequence: { type: 'integer' },
          timestampMs: { type: 'number' },
          event: ref('Event'),
          'cutChars?': { type: 'integer' },
        }),
      ),
      isLast: { type: 'boolean' },
    }),
  ),
  problems: ['run_not_found'],
  async handle(context) {
    const { query } = context
    const from = Number(query.get('from') ?? 0)
    const limit = Number(query.get('limit') ?? 1_000)
    const maxText = query.get('maxText')
    const later = (await eventsOf(context)).filter(({ sequence }) => sequence > from).slice(0, limit + 1)
    const page: string[] = []
    let chars = 0
    for (const { sequence, timestampMs, event } of later.slice(0, limit)) {
      const shown = maxText === null ? { event } : cutTexts(event, Number(maxText))
      const text = JSON.stringify({ sequence, timestampMs, ...shown })
      chars += text.length
      if (page.length > 0 && chars > maxPageChars) break
      page.push(text)
    }
    return jsonText(200, `{"events":[${page.join(',')}],"isLast":${page.length === later.length}}`)
  },
})

/**
 * Returns the events of a run: those in the log when the session was opened and, for later runs, also those in memory.
 */
async function eventsOf({ core, session, params }: SessionContext): Promise<readonly RunEvent[]> {
  const runId = params['runId'] ?? ''
  if ((await session.runSnapshot(runId)) === null) throw new ProblemError('run_not_found')
  const known = read.get(session)
  const { restored } = kernelOf(session)
  const row = restored?.runs.get(runId)
  // A run of the log has ended, or its process has, so no events are added to it here.
  if (restored !== undefined && row !== undefined) {
    const events = known?.runId === runId ? known.events : restoredEvents(restored, row)
    read.set(session, { runId, before: undefined, events })
    return events
  }
  const events = await session.runEvents(runId)
  const first = events[0]?.sequence ?? 1
  if (first <= 1) return events
  const older =
    known?.runId === runId && known.before === first
      ? known.events
      : await olderEvents(core, session, runId, first)
  read.set(session, { runId, before: first, events: older })
  return [...older, ...events]
}

/** Returns the events that are no longer in memory. */
async function olderEvents(
  core: ServerCore,
  { sessionId }: Session,
  runId: string,
  before: number,
): Promise<readonly RunEvent[]> {
  const state = await load(core.pool.store, sessionId)
  const row = state?.runs.get(runId)
  if (state === undefined || row === undefined) return []
  return restoredEvents(state, row).filter(({ sequence }) => sequence < before)
}

/**
 * For each session, the events of the run that was read last, because a reader requests one page after the other. When
 * another process has written to a session, it is opened again as a new object.
 */
const read = new WeakMap<
  Session,
  {
    readonly runId: string
    /** The sequence number of the first event that was in memory; undefined when these are all events. */
    readonly before: number | undefined
    readonly events: readonly RunEvent[]
  }
>()
