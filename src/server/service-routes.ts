import { objectSchema } from '../tool/object-schema.js'
import { watchAll } from './all-events.js'
import { clusterMetrics } from './metrics.js'
import { answer, callerRoute, json, publicRoute, type Route, type RouteContext, ref, text } from './route.js'

const alive = objectSchema({ status: text() })

/** Health, readiness, metrics and the stream of all sessions. */
export const serviceRoutes: readonly Route[] = [
  publicRoute('GET', '/healthz', 'getHealth', {
    summary: 'Whether the process answers.',
    tag: 'service',
    responses: answer('It does.', alive),
    handle: async () => json(200, { status: 'ok' }),
  }),
  publicRoute('GET', '/readyz', 'getReadiness', {
    summary: 'Whether the server accepts runs.',
    tag: 'service',
    responses: {
      200: { description: 'It does.', schema: alive },
      503: { description: 'It is stopping.', schema: alive },
    },
    handle: async ({ core }) =>
      core.isDraining ? json(503, { status: 'stopping' }) : json(200, { status: 'ready' }),
  }),
  callerRoute('GET', '/metrics', 'getMetrics', {
    summary: 'Counters in the text format of Prometheus.',
    tag: 'service',
    responses: { 200: { description: 'The counters.', type: 'text/plain', schema: text() } },
    handle: getMetrics,
  }),
  callerRoute('GET', '/v1/events', 'watchAll', {
    summary: 'The events of all sessions of the caller on one stream.',
    tag: 'runs',
    headers: { 'Last-Event-ID': text({ description: 'The id of the last event that the reader has.' }) },
    query: { from: text({ description: 'The same.' }) },
    responses: {
      200: {
        description: '`data` is `{ sessionId, runId, sequence, event }`. `id` is opaque.',
        type: 'text/event-stream',
        schema: objectSchema({
          sessionId: text(),
          runId: text(),
          sequence: { type: 'integer' },
          event: ref('Event'),
        }),
      },
    },
    problems: ['too_many_streams'],
    handle: watchAll,
  }),
]

async function getMetrics({ core, principal }: RouteContext): Promise<Response> {
  const own = core.metrics.text({ sessions: core.pool.open().length, activeRuns: core.local.active })
  // Callers of one tenant must not see the state of the whole cluster.
  const measures = principal.tenantId === undefined ? await core.queued?.measures() : undefined
  return new Response(measures === undefined ? own : `${own}${clusterMetrics(measures)}`, {
    headers: { 'content-type': 'text/plain; version=0.0.4', 'cache-control': 'no-store' },
  })
}
