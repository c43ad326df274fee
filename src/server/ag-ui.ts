import type { RunEvent } from '../session/run-events.js'
import type { Session } from '../session/session.js'
import { isRecord } from '../tool/json.js'
import { type AgUiEvent, createAgUiWriter } from './ag-ui-writer.js'
import { answerApproval, unlessAnswered } from './approval-routes.js'
import { lastFromUser, sessionOf, textOf } from './chat.js'
import { correlationIdOf } from './correlation-id.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import { callerRoute, decodeText, listOf, type Route, type RouteContext, text } from './route.js'
import type { ServerCore } from './server-core.js'
import { sessionStream } from './session-stream.js'
import type { ServerSentEvent } from './sse.js'

/** The Agent-User Interaction Protocol. The id of the thread is the id of the session. */
export const agUiRoutes: readonly Route[] = [
  callerRoute('POST', '/v1/ag-ui', 'agUi', {
    summary:
      'Run an agent, or continue after interrupts, as clients of AG-UI 1.0 do. The session is created on first use.',
    tag: 'dialects',
    body: {
      type: 'object',
      properties: {
        threadId: text({ minLength: 1, maxLength: 200 }),
        runId: text({ minLength: 1, maxLength: 200 }),
        messages: listOf({ type: 'object', additionalProperties: true }),
        resume: listOf({ type: 'object', additionalProperties: true }),
      },
      required: ['threadId', 'runId', 'messages'],
      additionalProperties: true,
    },
    responses: {
      200: {
        description: 'Events of AG-UI. The stream ends at an interrupt; the next request carries the answer.',
        type: 'text/event-stream',
        schema: text(),
      },
    },
    problems: [
      'session_not_found',
      'approval_not_found',
      'question_not_found',
      'run_not_found',
      'session_locked',
      'too_many_runs',
      'too_many_streams',
      'server_stopping',
    ],
    handle: agUi,
  }),
]

async function agUi({ core, principal, body, request }: RouteContext): Promise<Response> {
  const [threadId, runId] = [String(body['threadId']), String(body['runId'])]
  const session = await sessionOf(core, principal, threadId)
  await core.authorize(principal, 'agUi', session)
  const resume = Array.isArray(body['resume']) ? body['resume'] : []
  const place =
    resume.length > 0
      ? await answerInterrupts(core, principal, session, resume)
      : { runId: await startFrom(core, principal, session, body['messages'], runId, request), sequence: 0 }
  return sessionStream(core, principal, session, (signal) => {
    const source = core.follow(principal, session, place.runId, { from: place.sequence, signal })
    return written(core, principal, session, source, place, { threadId, runId })
  })
}

async function startFrom(
  core: ServerCore,
  principal: Principal,
  session: Session,
  messages: unknown,
  runId: string,
  request: Request,
): Promise<string> {
  const prompt = textOf(lastFromUser(messages)['content'])
  if (prompt === '') throw new ProblemError('invalid_request', 'The last message of the user has no text.')
  const traceparent = request.headers.get('traceparent') ?? undefined
  const input = { prompt, traceparent, correlationId: correlationIdOf(request) }
  return (await core.startRun(principal, session, input, `ag-ui ${runId}`)).id
}

/**
 * The position from which a run is continued. The id of an interrupt contains it, so any process with the store can
 * continue the run.
 */
type Place = { readonly runId: string; readonly sequence: number }

/** Answers interrupts. A repeated answer has no effect: it only continues the stream from the same position again. */
async function answerInterrupts(
  core: ServerCore,
  principal: Principal,
  session: Session,
  resume: readonly unknown[],
): Promise<Place> {
  let place: Place | undefined
  for (const entry of resume) {
    if (!isRecord(entry)) continue
    const known = readInterruptId(entry['interruptId'])
    if (known === undefined || (await core.run(session, known.runId)) === undefined)
      throw new ProblemError('approval_not_found', 'There is no interrupt of this id.')
    await core.authorize(principal, known.kind === 'question' ? 'answerQuestion' : 'answerApproval', session)
    place = known
    const payload = isRecord(entry['payload']) ? entry['payload'] : {}
    const isResolved = entry['status'] === 'resolved'
    if (known.kind === 'question') {
      const answers = Array.isArray(payload['answers']) ? payload['answers'] : []
      const lists = answers.map((one) => (Array.isArray(one) ? one.map(String) : [String(one)]))
      await unlessAnswered(core.pending.answerQuestion(principal, session, known.id, { answers: lists }))
      continue
    }
    const approved = isResolved && payload['approved'] === true
    const reason = typeof payload['reason'] === 'string' ? payload['reason'] : undefined
    await unlessAnswered(
      answerApproval(core, principal, session, known.id, approved ? 'once' : 'reject', reason),
    )
  }
  if (place === undefined) throw new ProblemError('invalid_request', 'resume has no answers.')
  return place
}

function readInterruptId(
  given: unknown,
): (Place & { readonly kind: 'approval' | 'question'; readonly id: string }) | undefined {
  const [, kind, sequence, runId, id] =
    /^(approval|question):(\d{1,15}):([^:]+):(.+)$/.exec(String(given)) ?? []
  const decoded = runId === undefined ? undefined : decodeText(runId)
  if (decoded === undefined || id === undefined) return undefined
  return {
    kind: kind === 'question' ? 'question' : 'approval',
    sequence: Number(sequence),
    runId: decoded,
    id,
  }
}

async function* written(
  core: ServerCore,
  principal: Principal,
  session: Session,
  source: AsyncGenerator<RunEvent, void, undefined>,
  place: Place,
  request: { readonly threadId: string; readonly runId: string },
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const writer = createAgUiWriter(request, place.runId)
  let last = place.sequence
  yield* sent(writer.start())
  for (;;) {
    const waiting = writer.waiting()
    const next = waiting === 'all' ? 'quiet' : await nextOrQuiet(source, waiting === 'some')
    if (next === 'quiet') {
      yield* sent(
        writer.pause({
          idOf: (kind, id) => `${kind}:${last}:${encodeURIComponent(place.runId)}:${id}`,
          ...(await core.pending.waiting(principal, session)),
        }),
      )
      await source.return()
      return
    }
    if (next.done === true) {
      yield* sent(writer.close())
      return
    }
    last = next.value.sequence
    yield* sent(writer.write(next.value.event))
  }
}

/**
 * How long to wait for more events when some calls wait for an approval. The calls of a round ask at about the same
 * time; the response does not wait for a call that takes longer.
 */
const quietMs = 150

async function nextOrQuiet(
  source: AsyncGenerator<RunEvent, void, undefined>,
  someWait: boolean,
): Promise<IteratorResult<RunEvent, void> | 'quiet'> {
  if (!someWait) return source.next()
  let timer: ReturnType<typeof setTimeout> | undefined
  const quiet = new Promise<'quiet'>((resolve) => {
    timer = setTimeout(() => resolve('quiet'), quietMs)
  })
  const next = await Promise.race([source.next(), quiet])
  clearTimeout(timer)
  return next
}

function* sent(events: readonly AgUiEvent[]): Generator<ServerSentEvent, void, undefined> {
  for (const event of events) yield { data: JSON.stringify(event) }
}
