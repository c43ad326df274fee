import type { Session } from '../session/session.js'
import { readSessionCursor, sessionCursor } from '../store/session-cursor.js'
import type { SessionInfo } from '../store/session-store.js'
import { isRecord } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { clientOptions, wideModes } from './client-options.js'
import { ProblemError } from './problem.js'
import {
  answer,
  callerRoute,
  json,
  listOf,
  type Route,
  type RouteContext,
  ref,
  type SessionContext,
  sessionRoute,
  text,
} from './route.js'
import { seesTenant } from './sees-tenant.js'
import type { ServerCore } from './server-core.js'

const title = text({ minLength: 1, maxLength: 200 })
const tag = 'sessions'

/** Sessions: open, list, change, close, copy, move. */
export const sessionRoutes: readonly Route[] = [
  callerRoute('POST', '/v1/sessions', 'createSession', {
    summary: 'Open a session on an allowed workspace.',
    tag,
    body: objectSchema({
      'workspace?': text({
        description: 'An allowed path or its base name; the first allowed one unless given.',
      }),
      'title?': title,
      'options?': { type: 'object', additionalProperties: true },
    }),
    responses: answer('The session.', ref('Session'), 201),
    problems: ['workspace_not_allowed', 'option_not_allowed'],
    handle: createSession,
  }),
  callerRoute('GET', '/v1/sessions', 'listSessions', {
    summary: 'List the sessions of the caller, newest first.',
    tag,
    query: {
      limit: { type: 'integer', minimum: 1, maximum: 200, default: 50 },
      cursor: text(),
      workspace: text(),
      title: text({ description: 'A part of the title.' }),
      summary: { type: 'boolean', default: false, description: 'Adds status, model, tokens and cost.' },
    },
    responses: answer(
      'One page. `nextCursor` is absent on the last one.',
      objectSchema({ sessions: listOf(ref('SessionInfo')), 'nextCursor?': text() }),
    ),
    handle: listSessions,
  }),
  callerRoute('POST', '/v1/sessions/import', 'importSession', {
    summary: 'Add an exported session. It brings no permissions and no labels.',
    tag,
    body: objectSchema({
      lines: { type: 'array', items: text(), maxItems: 1_000_000 },
      'workspace?': text(),
    }),
    responses: answer('The session.', ref('Session'), 201),
    problems: ['workspace_not_allowed', 'session_exists'],
    async handle({ core, principal, body }) {
      const lines = Array.isArray(body['lines'])
        ? body['lines'].map((line) => `${String(line).trimEnd()}\n`)
        : []
      const workspace = core.pool.workspaceFor(optionalText(body['workspace']))
      const { id: sessionId } = await core.agent.importSession(lines, {
        workspace,
        sessionStore: core.pool.store,
      })
      const session = await core.agent.openSession(sessionId, {
        ...core.pool.optionsFor(principal, () => sessionId),
        workspace,
      })
      // Writes the session row with the labels of the caller.
      await session.setTitle(session.title ?? 'Imported session')
      core.pool.adopt(session)
      return json(201, await describe(core, session))
    },
  }),
  sessionRoute('GET', '', 'getSession', {
    summary: 'Read a session.',
    tag,
    responses: answer('The session.', ref('Session')),
    handle: async ({ core, session }) => json(200, await describe(core, session)),
  }),
  sessionRoute('PATCH', '', 'updateSession', {
    summary: 'Change the title, the mode or the model.',
    tag,
    body: objectSchema({
      'title?': title,
      'mode?': { enum: ['plan', 'read-only', 'accept-edits', 'full', null] },
      'model?': text({ minLength: 1 }),
    }),
    responses: answer('The session.', ref('Session')),
    handle: updateSession,
  }),
  sessionRoute('POST', '/close', 'closeSession', {
    summary: 'Close a session in this process. It is opened again on use.',
    tag,
    responses: { 204: { description: 'It is closed.' } },
    async handle({ core, session }) {
      core.pool.assertNotHosted(session)
      await core.pool.close(session.sessionId)
      return new Response(null, { status: 204 })
    },
  }),
  sessionRoute('DELETE', '', 'deleteSession', {
    summary: 'Cancel what runs in a session, and remove it from the store.',
    tag,
    responses: { 204: { description: 'It is removed.' } },
    async handle({ core, principal, session }) {
      core.pool.assertNotHosted(session)
      await core.endQueued(principal, session)
      await core.pool.close(session.sessionId)
      await core.pool.store.delete(session.sessionId)
      return new Response(null, { status: 204 })
    },
  }),
  sessionRoute('POST', '/fork', 'forkSession', {
    summary: 'Copy a session, up to a message or to its end.',
    tag,
    body: objectSchema({ 'fromMessageId?': text(), 'beforeMessageId?': text(), 'title?': title }),
    responses: answer('The new session.', ref('Session'), 201),
    problems: ['session_busy', 'history_conflict'],
    async handle({ core, principal, session, body }) {
      const [from, before, named] = [body['fromMessageId'], body['beforeMessageId'], body['title']].map(
        optionalText,
      )
      let fork: Session | undefined
      fork = await core.agent.forkSession(session, {
        ...core.pool.optionsFor(principal, () => fork?.sessionId ?? ''),
        ...omitUndefined({ fromMessageId: from, beforeMessageId: before, title: named }),
      })
      await fork.save()
      core.pool.adopt(fork)
      return json(201, await describe(core, fork))
    },
  }),
  sessionRoute('GET', '/export', 'exportSession', {
    summary: 'The log of a session as lines of JSON.',
    tag,
    responses: {
      200: { description: 'One JSON value per line.', type: 'application/x-ndjson', schema: text() },
    },
    async handle({ core, session }) {
      await session.save()
      const lines = core.agent.exportSession(session.sessionId, { sessionStore: core.pool.store })
      const encoder = new TextEncoder()
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          const { value, done } = await lines.next()
          if (done === true) controller.close()
          else controller.enqueue(encoder.encode(`${value.trimEnd()}\n`))
        },
        async cancel() {
          await lines.return()
        },
      })
      return new Response(body, {
        headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
      })
    },
  }),
]

async function createSession({ core, principal, body }: RouteContext): Promise<Response> {
  const options = isRecord(body['options']) ? clientOptions(body['options'], core.options) : {}
  if (wideModes.has(options.mode)) await core.authorize(principal, 'widenMode')
  const session = await core.pool.create(principal, {
    workspace: optionalText(body['workspace']),
    title: optionalText(body['title']),
    options,
  })
  return json(201, await describe(core, session), {
    location: `/v1/sessions/${encodeURIComponent(session.sessionId)}`,
  })
}

async function updateSession({ core, principal, session, body }: SessionContext): Promise<Response> {
  const { title: named, mode, model } = body
  if (wideModes.has(mode)) await core.authorize(principal, 'widenMode', session)
  if (typeof named === 'string') await session.setTitle(named)
  if (typeof model === 'string') await session.setModel(model)
  if (mode === null) await session.setMode(undefined)
  else if (mode === 'plan' || mode === 'read-only' || mode === 'accept-edits' || mode === 'full')
    await session.setMode(mode)
  return json(200, await describe(core, session))
}

async function listSessions({ core, principal, query }: RouteContext): Promise<Response> {
  const limit = Number(query.get('limit') ?? 50)
  const [workspace, part] = [query.get('workspace'), query.get('title')?.toLowerCase()]
  const root = workspace === null ? undefined : core.pool.workspaceFor(workspace)
  const all = (await core.pool.store.list()).filter(
    (info) =>
      seesTenant(principal, info.labels?.['tenantId']) &&
      info.workspaceRoot !== undefined &&
      (root === undefined
        ? core.pool.workspaces.includes(info.workspaceRoot)
        : info.workspaceRoot === root) &&
      (part === undefined || info.title?.toLowerCase().includes(part) === true),
  )
  const page: SessionInfo[] = []
  let hasMore = false
  for (const info of all.slice(afterCursor(all, query.get('cursor')))) {
    if (!(await core.allows(principal, 'getSession', info))) continue
    hasMore = page.length === limit
    if (hasMore) break
    page.push(info)
  }
  const last = page.at(-1)
  const isSummarised = query.get('summary') === 'true'
  return json(200, {
    sessions: await Promise.all(
      page.map(async (info) => {
        const { id, workspaceRoot, title: named, ...rest } = info
        const summary = isSummarised ? await core.summaries.of(info) : undefined
        return { sessionId: id, workspace: workspaceRoot, title: named ?? null, ...rest, summary }
      }),
    ),
    ...(hasMore && last !== undefined && { nextCursor: sessionCursor(last) }),
  })
}

/** Returns where a page begins: after the session of the cursor, even if that session no longer exists. */
function afterCursor(all: readonly SessionInfo[], given: string | null): number {
  if (given === null) return 0
  const cursor = readSessionCursor(given)
  if (cursor === undefined) throw new ProblemError('invalid_request', 'The cursor is not valid.')
  const start = all.findIndex((one) => cursor.isAfter(one))
  return start < 0 ? all.length : start
}

async function describe(core: ServerCore, session: Session): Promise<Record<string, unknown>> {
  return {
    sessionId: session.sessionId,
    workspace: session.workspace,
    title: session.title,
    status: (await core.activeRun(session)) === undefined ? 'idle' : 'running',
    mode: (await session.mode()) ?? null,
    model: session.modelName(),
    tenantId: session.tenantId,
    principal: session.principal,
    warning: session.initWarning,
  }
}

export function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
