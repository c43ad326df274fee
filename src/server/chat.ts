import { createHash } from 'node:crypto'
import type { AgentEvent } from '../loop/events.js'
import { earlierEvents, type RunEvent } from '../session/run-events.js'
import type { Session } from '../session/session.js'
import { readUiApprovals, type UiApprovals } from '../session/ui-approvals.js'
import type { UiMessageChunk } from '../session/ui-message-chunk.js'
import { toUiMessageChunks } from '../session/ui-message-stream.js'
import { isRecord } from '../tool/json.js'
import { answerApproval, unlessAnswered } from './approval-routes.js'
import { readUploads, type Upload } from './attachments.js'
import { correlationIdOf } from './correlation-id.js'
import type { Principal } from './options.js'
import { ProblemError } from './problem.js'
import { callerRoute, listOf, type Route, type RouteContext, text } from './route.js'
import type { ServerCore } from './server-core.js'
import { sessionStream } from './session-stream.js'
import type { ServerSentEvent } from './sse.js'

const stream = {
  description:
    'A UI message stream of the AI SDK. It ends at an approval; the next request carries the answer.',
  type: 'text/event-stream',
  schema: text(),
}
const tag = 'dialects'

/** The protocol of `useChat` of the AI SDK. The id of the chat is the id of the session. */
export const chatRoutes: readonly Route[] = [
  callerRoute('POST', '/v1/chat', 'chat', {
    summary:
      'Send a message, or the answers to approvals, as `useChat` does. The session is created on first use.',
    tag,
    body: {
      type: 'object',
      properties: {
        id: text({ minLength: 1, maxLength: 200 }),
        messages: listOf({ type: 'object', additionalProperties: true }),
        trigger: text(),
        messageId: { type: ['string', 'null'] },
      },
      required: ['id', 'messages'],
      additionalProperties: true,
    },
    responses: { 200: stream },
    problems: [
      'session_not_found',
      'approval_not_found',
      'run_not_found',
      'session_locked',
      'too_many_runs',
      'too_many_streams',
      'server_stopping',
    ],
    handle: chat,
  }),
  callerRoute('GET', '/v1/chat/{id}/stream', 'resumeChat', {
    summary: 'The message that is being written, from its beginning.',
    tag,
    responses: { 200: stream, 204: { description: 'Nothing is running.' } },
    problems: ['too_many_streams'],
    async handle({ core, principal, params }) {
      const session = await core.pool.find(principal, params['id'] ?? '').catch(unknownSession)
      if (session === undefined) return new Response(null, { status: 204 })
      await core.authorize(principal, 'resumeChat', session)
      const last = (await core.runs(session)).at(-1)
      const active = (await core.activeRun(session)) ?? (last?.status === 'interrupted' ? last : undefined)
      if (active === undefined) return new Response(null, { status: 204 })
      return uiResponse(core, principal, session, active.id, { from: 0, messageId: active.id })
    },
  }),
]

async function chat({ core, principal, body, request }: RouteContext): Promise<Response> {
  const { id, messages, trigger } = body
  const session = await sessionOf(core, principal, String(id))
  await core.authorize(principal, 'chat', session)
  const waiting = readUiApprovals(messages)
  if (waiting !== undefined) return continueChat(core, principal, session, waiting)
  if (trigger === 'regenerate-message') {
    await core.authorize(principal, 'rewindSession', session)
    await rewindLast(session)
  }
  const { prompt, uploads, key } = lastUserMessage(messages)
  // A request that is sent again must not start a second run, but a message that is regenerated is a new request.
  const run = await core.startRun(
    principal,
    session,
    {
      prompt,
      attachments: readUploads(uploads, core.limits.maxAttachments),
      traceparent: request.headers.get('traceparent') ?? undefined,
      correlationId: correlationIdOf(request),
    },
    trigger === 'regenerate-message' ? undefined : key,
  )
  return uiResponse(core, principal, session, run.id, { from: 0, messageId: run.id })
}

async function continueChat(
  core: ServerCore,
  principal: Principal,
  session: Session,
  { runId, sequence, messageId = runId, answers }: UiApprovals,
): Promise<Response> {
  await core.authorize(principal, 'answerApproval', session)
  if ((await core.run(session, runId)) === undefined) throw new ProblemError('run_not_found')
  for (const { approvalId, approved, reason } of answers)
    await unlessAnswered(
      answerApproval(core, principal, session, approvalId, approved ? 'once' : 'reject', reason),
    )
  return uiResponse(core, principal, session, runId, { from: sequence, messageId })
}

type UiPlace = { readonly from: number; readonly messageId: string }

function uiResponse(
  core: ServerCore,
  principal: Principal,
  session: Session,
  runId: string,
  place: UiPlace,
): Response {
  const headers = { 'x-vercel-ai-ui-message-stream': 'v1' }
  const open = (signal: AbortSignal) => uiEvents(core, principal, session, runId, { ...place, signal })
  return sessionStream(core, principal, session, open, headers)
}

async function* uiEvents(
  core: ServerCore,
  principal: Principal,
  session: Session,
  runId: string,
  { from, messageId, signal }: UiPlace & { readonly signal: AbortSignal },
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const earlier = from === 0 ? [] : await core.earlier(session, runId, from)
  const seen: Seen = {}
  const source = core.follow(principal, session, runId, { from, signal })
  const events = Object.assign(noticed(source, seen), { [earlierEvents]: () => earlier })
  yield* sent(toUiMessageChunks(events, { endAtApproval: true, messageId }), runId, seen)
}

type Seen = { end?: Extract<AgentEvent, { type: 'agent_end' }> | undefined }

async function* noticed(
  source: AsyncIterable<RunEvent>,
  seen: Seen,
): AsyncGenerator<RunEvent, void, undefined> {
  for await (const one of source) {
    if (one.event.type === 'agent_end') seen.end = one.event
    yield one
  }
}

async function* sent(
  chunks: AsyncIterable<UiMessageChunk>,
  runId: string,
  seen: Seen,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  for await (const chunk of chunks) {
    if (chunk.type === 'data-paused') {
      // The sequence number belongs to the stream of this run, even if another run has resumed it meanwhile.
      yield { data: JSON.stringify({ ...chunk, data: { ...(isRecord(chunk.data) && chunk.data), runId } }) }
      continue
    }
    const { end } = seen
    if (chunk.type === 'finish' && end !== undefined) {
      const { usage, costUsd } = end.result
      yield { data: JSON.stringify({ type: 'data-usage', id: 'usage', data: { usage, costUsd } }) }
    }
    yield { data: JSON.stringify(chunk) }
  }
  yield { data: '[DONE]' }
}

/** The session of a chat, created on first use. */
export async function sessionOf(core: ServerCore, principal: Principal, id: string): Promise<Session> {
  const known = await core.pool.find(principal, id).catch(unknownSession)
  if (known !== undefined) return known
  await core.authorize(principal, 'createSession')
  try {
    return await core.pool.create(principal, { sessionId: id })
  } catch (error) {
    // The session belongs to another tenant, or was created at the same moment for this one.
    if (error instanceof ProblemError && error.code === 'session_exists') return core.pool.find(principal, id)
    throw error
  }
}

function unknownSession(error: unknown): undefined {
  const isUnknown =
    (error instanceof ProblemError || (error instanceof Error && 'code' in error)) &&
    error.code === 'session_not_found'
  if (!isUnknown) throw error
  return undefined
}

async function rewindLast(session: Session): Promise<void> {
  const last = session.messages().findLast(({ role }) => role === 'user')
  if (last !== undefined) await session.rewind(last.id)
}

function lastUserMessage(messages: unknown): {
  readonly prompt: string
  readonly uploads: readonly Upload[]
  readonly key: string | undefined
} {
  const { id, parts: given } = lastFromUser(messages)
  const parts: unknown[] = Array.isArray(given) ? given : []
  const prompt = textOf(parts)
  const uploads = parts.flatMap(uploadIn)
  if (prompt === '' && uploads.length === 0)
    throw new ProblemError('invalid_request', 'The last message of the user has no text.')
  const key =
    typeof id === 'string' ? `chat ${id} ${createHash('sha256').update(prompt).digest('hex')}` : undefined
  return { prompt, uploads, key }
}

/** Returns the last message of the user in a request; an empty object without one. */
export function lastFromUser(messages: unknown): Readonly<Record<string, unknown>> {
  const all: unknown[] = Array.isArray(messages) ? messages : []
  return all.filter(isRecord).findLast((message) => message['role'] === 'user') ?? {}
}

/** Returns the text of the content of a message: a string, or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .flatMap((part: unknown) => (isRecord(part) && part['type'] === 'text' ? [String(part['text'])] : []))
    .join('\n')
}

/**
 * Returns a file of a message. Only content that came with the request is accepted: the server would have to fetch a
 * URL.
 */
function uploadIn(part: unknown): Upload[] {
  if (!isRecord(part) || part['type'] !== 'file') return []
  const [, mediaType, data] =
    /^data:([\w.+-]+\/[\w.+-]+);base64,([A-Za-z0-9+/]*={0,2})$/.exec(String(part['url'])) ?? []
  if (mediaType === undefined || data === undefined)
    throw new ProblemError('invalid_request', 'A file must be a data URL with base64.')
  const name = part['filename']
  return [{ data, mediaType, ...(typeof name === 'string' && { name }) }]
}
