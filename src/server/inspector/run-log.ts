import { load } from '../../session/journal/restore.js'
import { restoredEvents } from '../../session/journal/restored-events.js'
import type { RunEvent } from '../../session/run-events.js'
import type { Session } from '../../session/session.js'
import { ProblemError } from '../problem.js'
import { jsonText, listOf, objectOf, type Route, ref, type SessionContext } from '../route.js'
import { cutTexts } from './cut-texts.js'

/** A page ends after so many characters of JSON, so that a browser reads it in a few milliseconds. */
const maxPageChars = 1_000_000

export const maxTextParameter = {
  type: 'integer',
  minimum: 100,
  description:
    'Longer texts in events are shortened to so many characters. `cutChars` counts what is missing.',
} as const

/** The events of a run with their times, page by page. Unlike the stream of events, it ends, and resumes nothing. */
export const runLogRoute: Route = {
  method: 'GET',
  path: '/v1/sessions/{sessionId}/runs/{runId}/log',
  action: 'listRunEvents',
  summary: 'The events of a run so far, with their times, in pages.',
  tag: 'runs',
  access: 'session',
  query: {
    from: { type: 'integer', minimum: 0, description: 'The last number that the reader has.' },
    limit: { type: 'integer', minimum: 1, maximum: 5_000, default: 1_000 },
    maxText: maxTextParameter,
  },
  responses: {
    200: {
      description:
        'One page. `isLast` is false when more events follow; a page of long events has fewer than `limit`.',
      schema: objectOf(
        {
          events: listOf(
            objectOf(
              {
                sequence: { type: 'integer' },
                timestampMs: { type: 'number' },
                event: ref('Event'),
                cutChars: { type: 'integer' },
              },
              ['sequence', 'timestampMs', 'event'],
            ),
          ),
          isLast: { type: 'boolean' },
        },
        ['events', 'isLast'],
      ),
    },
  },
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
}

/** What is in memory, after what only the log still has. */
async function eventsOf({ core, session, params }: SessionContext): Promise<RunEvent[]> {
  const runId = params['runId'] ?? ''
  const run = await session.runSnapshot(runId)
  if (run === null) throw new ProblemError('run_not_found')
  const events = await session.runEvents(runId)
  const first = events[0]?.sequence ?? 1
  if (first <= 1) return events
  const known = dropped.get(session)
  if (known?.runId === runId && known.before === first) return [...known.events, ...events]
  const state = await load(core.pool.store, session.sessionId)
  const row = state?.runs.get(runId)
  if (state === undefined || row === undefined) return events
  const older = restoredEvents(state, row).filter(({ sequence }) => sequence < first)
  dropped.set(session, { runId, before: first, events: older })
  return [...older, ...events]
}

/**
 * The events that memory no longer has, of the run of each session that was read last: a reader asks for one page
 * after the other. A session that another process has written to is opened again, as another object.
 */
const dropped = new WeakMap<
  Session,
  { readonly runId: string; readonly before: number; readonly events: readonly RunEvent[] }
>()
