import type { RunEvent } from '../session/run-events.js'
import type { RunSnapshot } from '../session/runs.js'
import { isRecord, type JsonObject, type JsonSchema } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { readUploads, type Upload } from './attachments.js'
import { correlationIdOf } from './correlation-id.js'
import { cutTexts } from './inspector/cut-texts.js'
import { maxTextParameter } from './inspector/run-log.js'
import { ProblemError } from './problem.js'
import {
  answer,
  type Body,
  json,
  listResponse,
  type Route,
  ref,
  type SessionContext,
  sessionRoute,
  text,
} from './route.js'
import { optionalText } from './session-routes.js'
import { sessionStream } from './session-stream.js'
import type { ServerSentEvent } from './sse.js'

const tag = 'runs'
const idempotencyKey = { 'Idempotency-Key': text({ minLength: 1, maxLength: 200 }) }

const attachments: JsonSchema = {
  type: 'array',
  items: objectSchema({
    data: text({ description: 'Base64.' }),
    mediaType: text({ pattern: '^[A-Za-z0-9.+-]+/[A-Za-z0-9.+-]+$', maxLength: 100 }),
    'name?': text({ maxLength: 255 }),
  }),
}
const metadata: JsonSchema = { type: 'object', additionalProperties: true }
const started = {
  202: { description: 'The run is stored, and starts or is queued.', schema: ref('StartedRun') },
}

/** Runs: start, watch, cancel, steer, resume. */
export const runRoutes: readonly Route[] = [
  sessionRoute('POST', '/runs', 'startRun', {
    summary: 'Start a run. While another is active, it is queued.',
    tag,
    headers: idempotencyKey,
    body: objectSchema({
      prompt: text({ minLength: 1 }),
      'attachments?': attachments,
      'metadata?': metadata,
    }),
    responses: started,
    problems: ['idempotency_key_reused', 'session_locked', 'too_many_runs', 'server_stopping'],
    handle: (context) => start(context, String(context.body['prompt'])),
  }),
  sessionRoute('POST', '/messages', 'sendMessage', {
    summary: 'Send a message of the user, with attachments: a run answers it.',
    tag,
    headers: idempotencyKey,
    body: objectSchema({ text: text({ minLength: 1 }), 'attachments?': attachments, 'metadata?': metadata }),
    responses: started,
    problems: ['idempotency_key_reused', 'session_locked', 'too_many_runs', 'server_stopping'],
    handle: (context) => start(context, String(context.body['text'])),
  }),
  sessionRoute('GET', '/runs', 'listRuns', {
    summary: 'List the runs of a session, oldest first.',
    tag,
    responses: listResponse('The runs.', 'runs', 'Run'),
    handle: async ({ core, session }) => json(200, { runs: (await core.runs(session)).map(shownRun) }),
  }),
  sessionRoute('GET', '/runs/{runId}', 'getRun', {
    summary: 'Read a run.',
    tag,
    responses: answer('The run.', ref('Run')),
    problems: ['run_not_found'],
    handle: async (context) => json(200, shownRun(await runOf(context))),
  }),
  sessionRoute('GET', '/runs/{runId}/events', 'watchRun', {
    summary: 'The events of a run as server-sent events, from a sequence number on.',
    tag,
    query: {
      from: { type: 'integer', minimum: 0, description: 'The last number that the reader has.' },
      timed: {
        type: 'boolean',
        default: false,
        description: '`data` is `{ timestampMs, event, cutChars? }`.',
      },
      resume: {
        type: 'boolean',
        default: true,
        description: 'False: an interrupted run is not resumed.',
      },
      maxText: maxTextParameter,
    },
    headers: {
      'Last-Event-ID': text({
        description: 'The last number that the reader has; takes precedence over `from`.',
      }),
    },
    responses: {
      200: {
        description: '`id` is the sequence number, `data` an event. The stream ends with the run.',
        type: 'text/event-stream',
        schema: ref('Event'),
      },
      204: { description: 'The run has ended and the reader has all of it.' },
    },
    problems: ['run_not_found', 'too_many_streams'],
    handle: watchRun,
  }),
  sessionRoute('POST', '/runs/{runId}/cancel', 'cancelRun', {
    summary: 'Cancel a run that is active or queued.',
    tag,
    responses: answer('The run; its last event is `agent_cancelled`.', ref('Run')),
    problems: ['run_not_found', 'run_not_active'],
    async handle(context) {
      const { core, principal, session } = context
      const { id } = await runOf(context)
      if (!(await core.cancel(principal, session, id))) throw new ProblemError('run_not_active')
      return json(200, shownRun(await runOf(context)))
    },
  }),
  sessionRoute('POST', '/runs/{runId}/steer', 'steerRun', {
    summary: 'Add a message to the active run; the model reads it before its next answer.',
    tag,
    body: objectSchema({ text: text({ minLength: 1 }) }),
    responses: answer('The message was accepted.', ref('StartedRun'), 202),
    problems: ['run_not_found', 'run_not_active'],
    async handle(context) {
      const { core, principal, session, body } = context
      const { id } = await runOf(context)
      if (!(await core.steer(principal, session, id, String(body['text']))))
        throw new ProblemError('run_not_active')
      return json(202, { runId: id, sessionId: session.sessionId })
    },
  }),
  sessionRoute('POST', '/runs/{runId}/resume', 'resumeRun', {
    summary: 'Resume a run whose process ended. Another run continues it.',
    tag,
    responses: answer('The run that continues it.', ref('StartedRun'), 202),
    problems: ['run_not_found', 'run_not_resumable', 'session_locked', 'server_stopping'],
    async handle(context) {
      const { core, principal, session } = context
      const run = await runOf(context)
      const queued = await core.queued?.find(session, run.id)
      if (queued !== undefined) {
        if (!(await core.queued?.resume(principal, queued))) throw new ProblemError('run_not_resumable')
        return json(202, startedRun(await runOf(context)))
      }
      const known = (await session.runs()).findLast(({ resumedFrom }) => resumedFrom === run.id)
      if (known !== undefined) return json(202, startedRun(known))
      const resumed = await core.local.resume(session, run.id)
      const runId = 'runId' in resumed ? resumed.runId : run.id
      await session.save()
      return json(202, { runId, sessionId: session.sessionId })
    },
  }),
]

async function start(
  { core, principal, session, body, request }: SessionContext,
  prompt: string,
): Promise<Response> {
  const key = request.headers.get('idempotency-key') ?? undefined
  const uploads = uploadsIn(body)
  const input = {
    prompt,
    attachments: uploads && readUploads(uploads, core.limits.maxAttachments),
    // Safe cast: it is part of a JSON body.
    metadata: isRecord(body['metadata']) ? (body['metadata'] as JsonObject) : undefined,
    traceparent: request.headers.get('traceparent') ?? undefined,
    correlationId: correlationIdOf(request),
  }
  const run = await core.startRun(principal, session, input, key)
  const location = `/v1/sessions/${encodeURIComponent(session.sessionId)}/runs/${encodeURIComponent(run.id)}`
  return json(202, startedRun(run), { location })
}

function uploadsIn(body: Body): readonly Upload[] | undefined {
  const given = body['attachments']
  if (!Array.isArray(given)) return undefined
  return given.filter(isRecord).map(({ data, mediaType, name }) => ({
    data: String(data),
    mediaType: String(mediaType),
    name: optionalText(name),
  }))
}

async function watchRun(context: SessionContext): Promise<Response> {
  const { core, principal, session, request, query } = context
  const run = await runOf(context)
  const from = readFrom(request.headers.get('last-event-id') ?? query.get('from'))
  if (isOver(run) && !(await core.hasMore(session, run.id, from))) return new Response(null, { status: 204 })
  const resumes = query.get('resume') !== 'false'
  const maxText = query.get('maxText')
  const form = {
    isTimed: query.get('timed') === 'true',
    maxText: maxText === null ? undefined : Number(maxText),
  }
  return sessionStream(core, principal, session, (signal) =>
    sent(core.follow(principal, session, run.id, { from, signal, resumes }), form),
  )
}

async function* sent(
  source: AsyncIterable<RunEvent>,
  { isTimed, maxText }: { readonly isTimed: boolean; readonly maxText: number | undefined },
): AsyncGenerator<ServerSentEvent, void, undefined> {
  for await (const { sequence, timestampMs, event } of source) {
    // Sent without an id, so that a reader that reconnects after it gets the missed events from the log.
    const id = event.type === 'events_missed' ? undefined : sequence
    const shown = maxText === undefined ? { event } : cutTexts(event, maxText)
    yield { id, data: JSON.stringify(isTimed ? { timestampMs, ...shown } : shown.event) }
  }
}

function readFrom(given: string | null): number {
  if (given === null || given === '') return 0
  if (!/^\d+$/.test(given) || !Number.isSafeInteger(Number(given)))
    throw new ProblemError('invalid_request', `${JSON.stringify(given)} is not a sequence number.`)
  return Number(given)
}

/** Whether the run has ended permanently; an interrupted run can be resumed. */
function isOver({ status }: RunSnapshot): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

async function runOf({ core, session, params }: SessionContext): Promise<RunSnapshot> {
  const run = await core.run(session, params['runId'] ?? '')
  if (run === undefined) throw new ProblemError('run_not_found')
  return run
}

function startedRun({ id, sessionId, status }: RunSnapshot): Body {
  return { runId: id, sessionId, status }
}

function shownRun({ id, ...rest }: RunSnapshot): Record<string, unknown> {
  return { runId: id, ...rest }
}
