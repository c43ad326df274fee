import { load } from '../../session/journal/restore.js'
import { restoredEvents } from '../../session/journal/restored-events.js'
import type { RunEvent } from '../../session/run-events.js'
import { ProblemError } from '../problem.js'
import { json, listOf, objectOf, type Route, ref, type SessionContext } from '../route.js'

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
  },
  responses: {
    200: {
      description: 'One page. `isLast` is false when more events follow.',
      schema: objectOf(
        {
          events: listOf(
            objectOf(
              { sequence: { type: 'integer' }, timestampMs: { type: 'number' }, event: ref('Event') },
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
    const later = (await eventsOf(context)).filter(({ sequence }) => sequence > from)
    const events = later.slice(0, limit)
    return json(200, { events, isLast: events.length === later.length })
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
  const state = await load(core.pool.store, session.sessionId)
  const row = state?.runs.get(runId)
  if (state === undefined || row === undefined) return events
  return [...restoredEvents(state, row).filter(({ sequence }) => sequence < first), ...events]
}
