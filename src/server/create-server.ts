import type { Agent } from '../agent/agent.js'
import { isRecord } from '../tool/json.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { checkSource, corsHeaders, createAuthenticator, preflight } from './admission.js'
import { agUiRoutes } from './ag-ui.js'
import { approvalRoutes } from './approval-routes.js'
import { chatRoutes } from './chat.js'
import { historyRoutes } from './history-routes.js'
import { whileSignedIn } from './inspector/browser-sign-in.js'
import { inspectorRoutes } from './inspector/routes.js'
import { openApiDocument } from './openapi.js'
import type { Principal, ServerOptions } from './options.js'
import { ProblemError, problemResponse } from './problem.js'
import { queueRoutes } from './queue-routes.js'
import { readBody } from './read-body.js'
import { answer, type Body, callerRoute, decodeText, json, type Route } from './route.js'
import { runRoutes } from './run-routes.js'
import { scheduleRoutes } from './schedule-routes.js'
import { ServerCore } from './server-core.js'
import { serviceRoutes } from './service-routes.js'
import { sessionRoutes } from './session-routes.js'

/** A fetch handler, with the life cycle of the server. */
export interface CapstanServer {
  (request: Request): Promise<Response>
  /** The handler itself, for runtimes that expect it under this name. */
  fetch(request: Request): Promise<Response>
  /** The OpenAPI 3.1 document. */
  readonly openapi: Body
  /**
   * Accepts no more runs. Active runs can end for `drainMs`; the rest is suspended, and another process can resume it.
   * The agent stays open.
   */
  close(options?: { readonly drainMs?: number }): Promise<void>
}

/**
 * Creates the HTTP API of an agent as a standard fetch handler. It works in every framework that accepts one, and in
 * `node:http` with `toNodeListener`.
 *
 * @example
 * const server = createServer(agent, { token: process.env.TOKEN, workspaces: ['/srv/project'] })
 * const headers = { authorization: `Bearer ${process.env.TOKEN}` }
 * const response = await server(new Request('http://localhost/v1/sessions', { headers }))
 */
export function createServer(agent: Agent, options: ServerOptions): CapstanServer {
  const core = new ServerCore(agent, options)
  const authenticate = createAuthenticator(options)
  const openapi = openApiDocument(
    allRoutes(() => openapi),
    version,
  )
  const routes = allRoutes(() => openapi).map(compiled)

  const answer = async (request: Request, origin: string | undefined, seen: Seen): Promise<Response> => {
    const early = preflight(request, origin)
    if (early !== undefined) return early
    const { pathname, searchParams: query } = new URL(request.url)
    if (options.webhooks !== undefined && pathname.startsWith('/v1/hooks/')) {
      seen.action = 'webhook'
      return options.webhooks(request)
    }
    const found = match(routes, request.method, pathname)
    if ('route' in found && found.route.access === 'public') {
      seen.action = found.route.action
      const { params } = found
      return found.route.handle({ core, request, principal: noPrincipal, params, query, body: {} })
    }
    // A token determines the principal, even in a browser that is signed in.
    const visit = request.headers.has('authorization') ? undefined : core.browsers?.visitOf(request)
    const principal = visit?.principal ?? (await authenticate(request))
    core.usage.request(principal)
    if (!('route' in found)) throw refusal(found)
    const { route, params } = found
    seen.action = route.action
    const body =
      route.method === 'GET' ? {} : checkedBody(found, await readBody(request, core.limits.maxBodyBytes))
    checkQuery(route, query)
    const context = { core, request, principal, isVisitor: visit !== undefined, params, query, body }
    if (route.access !== 'session') {
      await core.authorize(principal, route.action)
      return whileSignedIn(await route.handle(context), visit)
    }
    const session = await core.pool.find(principal, params['sessionId'] ?? '')
    await core.authorize(principal, route.action, session)
    try {
      return whileSignedIn(await route.handle({ ...context, session }), visit)
    } finally {
      await core.release(session)
    }
  }

  const handle = async (request: Request): Promise<Response> => {
    const seen: Seen = { action: 'unknown' }
    let origin: string | undefined
    let response: Response
    try {
      origin = checkSource(request, options).origin
      response = await answer(request, origin, seen)
    } catch (error) {
      response = problemResponse(error)
      if (response.status === 500) core.report(error)
    }
    core.metrics.request(seen.action, response.status)
    if (origin !== undefined)
      for (const [name, value] of Object.entries(corsHeaders(origin))) response.headers.set(name, value)
    response.headers.set('x-content-type-options', 'nosniff')
    // Browsers can cache a response that does not state whether it can be cached.
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
    return response
  }
  const close = ({ drainMs = 0 }: { readonly drainMs?: number } = {}): Promise<void> => core.close(drainMs)
  return Object.assign(handle, { fetch: handle, openapi, close })
}

/** Every route of the server. The handler, the checks and the document are created from this table. */
function allRoutes(document: () => Body): readonly Route[] {
  return [
    ...serviceRoutes,
    callerRoute('GET', '/v1/openapi.json', 'getOpenApi', {
      summary: 'This document.',
      tag: 'service',
      responses: answer('The document.', { type: 'object', additionalProperties: true }),
      handle: async () => json(200, document()),
    }),
    ...sessionRoutes,
    ...runRoutes,
    ...approvalRoutes,
    ...historyRoutes,
    ...scheduleRoutes,
    ...queueRoutes,
    ...chatRoutes,
    ...agUiRoutes,
    ...inspectorRoutes,
  ]
}

const version = '1.0.0'
const noPrincipal: Principal = { id: '' }

type Seen = { action: string }
type Compiled = Route & {
  readonly parts: readonly string[]
  readonly check?: ReturnType<typeof compileJsonSchema> | undefined
}
type Found =
  | { readonly route: Compiled; readonly params: Readonly<Record<string, string>> }
  | { readonly allow: readonly string[] }

function compiled(route: Route): Compiled {
  const check = route.body === undefined ? undefined : compileJsonSchema(route.body)
  return { ...route, parts: route.path.split('/'), check }
}

function match(routes: readonly Compiled[], method: string, path: string): Found {
  const given = path.split('/')
  const allow: string[] = []
  for (const route of routes) {
    const params = paramsOf(route.parts, given)
    if (params === undefined) continue
    if (route.method === method || (route.method === 'GET' && method === 'HEAD')) return { route, params }
    allow.push(route.method)
  }
  return { allow }
}

function paramsOf(parts: readonly string[], given: readonly string[]): Record<string, string> | undefined {
  if (parts.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, part] of parts.entries()) {
    const value = given[at] ?? ''
    if (!part.startsWith('{')) {
      if (part !== value) return undefined
    } else {
      const decoded = decodeText(value)
      if (decoded === undefined || decoded === '') return undefined
      params[part.slice(1, -1)] = decoded
    }
  }
  return params
}

function refusal({ allow }: { readonly allow: readonly string[] }): ProblemError {
  if (allow.length === 0) return new ProblemError('not_found')
  return new ProblemError('method_not_allowed', undefined, { headers: { allow: allow.join(', ') } })
}

function checkedBody({ route }: Extract<Found, { route: Compiled }>, body: unknown): Body {
  const checked = route.check?.check(body)
  if (checked?.ok === false) {
    const [first] = checked.problems
    const where = first === undefined || first.path.length === 0 ? '' : ` at ${first.path.join('.')}`
    throw new ProblemError(
      'invalid_request',
      `The body is not valid${where}: ${first?.message ?? 'it does not fit'}`,
    )
  }
  const value = checked?.value ?? body
  if (!isRecord(value)) throw new ProblemError('invalid_request', 'The body must be an object.')
  return value
}

function checkQuery({ query = {} }: Route, given: URLSearchParams): void {
  for (const [name, value] of given) {
    const schema = query[name]
    if (schema === undefined)
      throw new ProblemError('invalid_request', `There is no parameter ${JSON.stringify(name)}.`)
    if (schema['type'] === 'integer' && !(/^\d+$/.test(value) && isInRange(Number(value), schema)))
      throw new ProblemError(
        'invalid_request',
        `The parameter ${name} is out of range: ${JSON.stringify(value)}.`,
      )
    if (schema['type'] === 'boolean' && value !== 'true' && value !== 'false')
      throw new ProblemError('invalid_request', `The parameter ${name} must be true or false.`)
  }
}

function isInRange(value: number, { minimum, maximum }: Body): boolean {
  if (!Number.isSafeInteger(value)) return false
  return value >= Number(minimum ?? value) && value <= Number(maximum ?? value)
}
