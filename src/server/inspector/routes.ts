import { objectSchema } from '../../tool/object-schema.js'
import { ProblemError } from '../problem.js'
import { readBody } from '../read-body.js'
import {
  answer,
  callerRoute,
  json,
  listOf,
  publicRoute,
  type Route,
  type RouteContext,
  sessionRoute,
  text,
} from '../route.js'
import { isSameOrigin } from './browser-sign-in.js'
import { callOutputRoute } from './call-output.js'
import { imageRoutes } from './images.js'
import { pageFile } from './page-files.js'
import { runLogRoute } from './run-log.js'

const tag = 'inspector'
const time = { type: 'integer' }
const maxSignInBytes = 4_096
const maxLinkMinutes = 7 * 24 * 60

/** The inspector: its page, and the sign-in of browsers. */
export const inspectorRoutes: readonly Route[] = [
  runLogRoute,
  callOutputRoute,
  ...imageRoutes,
  publicRoute('GET', '/inspect', 'redirectToInspector', {
    summary: 'Redirects to the page.',
    tag,
    isPage: true,
    responses: { 308: { description: 'The address of the page.' } },
    async handle(context) {
      signInOf(context)
      return new Response(null, { status: 308, headers: { location: '/inspect/' } })
    },
  }),
  publicRoute('GET', '/inspect/', 'getInspectorPage', {
    summary: 'The page.',
    tag,
    isPage: true,
    responses: { 200: { description: 'The page.', type: 'text/html', schema: text() } },
    async handle(context) {
      signInOf(context)
      return pageFile('index.html')
    },
  }),
  publicRoute('GET', '/inspect/{file}', 'getInspectorFile', {
    summary: 'A file of the page.',
    tag,
    isPage: true,
    responses: { 200: { description: 'The file.', type: 'text/javascript', schema: text() } },
    async handle(context) {
      signInOf(context)
      return pageFile(context.params['file'] ?? '')
    },
  }),
  callerRoute('GET', '/v1/inspector', 'getInspector', {
    summary: 'Who the caller is, and what the inspector can show.',
    tag,
    responses: answer(
      'The caller and the workspaces.',
      objectSchema({
        principal: text(),
        'readsOnly?': text({ description: 'The only session that the caller can read.' }),
        workspaces: listOf(text()),
      }),
    ),
    async handle({ core, principal }) {
      const { id, readsOnly } = principal
      return json(200, {
        principal: id,
        readsOnly,
        workspaces: readsOnly === undefined ? core.pool.workspaces : [],
      })
    },
  }),
  callerRoute('POST', '/v1/inspector/codes', 'createInspectorCode', {
    summary:
      'A one-time code that signs a browser in as the caller, who has a token. It is valid once, for 60 seconds.',
    tag,
    responses: answer(
      'The code, and the path of the page that exchanges it.',
      objectSchema({ code: text(), path: text(), expiresAtMs: time }),
      201,
    ),
    async handle(context) {
      // A browser cannot create codes, because its access would then outlive its cookie.
      if (context.isVisitor === true)
        throw new ProblemError('forbidden', 'A browser that is signed in cannot create codes: use the token.')
      const { code, expiresAtMs } = signInOf(context).createCode(context.principal)
      return json(201, { code, path: pagePath(code), expiresAtMs })
    },
  }),
  publicRoute('POST', '/v1/inspector/sign-in', 'signIn', {
    summary: 'Exchange a code for a cookie and the value of the `X-Capstan-CSRF` header.',
    tag,
    body: objectSchema({ code: text({ minLength: 1 }) }),
    responses: answer(
      'The cookie is in `Set-Cookie`.',
      objectSchema({ csrf: text(), principal: text(), 'readsOnly?': text() }),
    ),
    problems: ['sign_in_code_invalid'],
    handle: signIn,
  }),
  callerRoute('POST', '/v1/inspector/sign-out', 'signOut', {
    summary: 'End the cookie of the caller.',
    tag,
    responses: { 204: { description: 'It is ended.' } },
    async handle(context) {
      const setCookie = signInOf(context).signOut(context.request)
      return new Response(null, { status: 204, headers: { 'set-cookie': setCookie } })
    },
  }),
  sessionRoute('GET', '/links', 'listLinks', {
    summary: 'The links for reading this session that are valid now.',
    tag,
    responses: answer(
      'The links, without their codes.',
      objectSchema({ links: listOf(objectSchema({ linkId: text(), expiresAtMs: time })) }),
    ),
    handle: async (context) => json(200, { links: signInOf(context).links(context.session.sessionId) }),
  }),
  sessionRoute('POST', '/links', 'createLink', {
    summary: 'A link for reading this session, for a limited time. It can be shared and revoked.',
    tag,
    body: objectSchema({ minutes: { type: 'integer', minimum: 1, maximum: maxLinkMinutes } }),
    responses: answer(
      'The link. Its code is not shown again.',
      objectSchema({ linkId: text(), path: text(), expiresAtMs: time }),
      201,
    ),
    async handle(context) {
      const { session, body } = context
      const lifetimeMs = Number(body['minutes']) * 60_000
      const { linkId, code, expiresAtMs } = signInOf(context).createLink(session, lifetimeMs)
      return json(201, { linkId, path: pagePath(code), expiresAtMs })
    },
  }),
  sessionRoute('DELETE', '/links/{linkId}', 'revokeLink', {
    summary: 'Revoke a link, and sign out the browsers that opened it.',
    tag,
    responses: { 204: { description: 'It is revoked.' } },
    problems: ['link_not_found'],
    async handle(context) {
      const { session, params } = context
      if (!signInOf(context).revoke(session.sessionId, params['linkId'] ?? ''))
        throw new ProblemError('link_not_found')
      return new Response(null, { status: 204 })
    },
  }),
]

/**
 * Returns the path of the page with a code. The part after `#` is not sent, so the code is not in requests, logs or
 * referrers.
 */
function pagePath(code: string): string {
  return `/inspect/#code=${code}`
}

async function signIn(context: RouteContext): Promise<Response> {
  const { request } = context
  const browsers = signInOf(context)
  // A page of another origin must not sign this browser in as another user.
  if (!isSameOrigin(request)) throw new ProblemError('origin_not_allowed')
  const body = await readBody(request, maxSignInBytes)
  const code = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
  if (typeof code !== 'string') throw new ProblemError('invalid_request', 'The body needs a `code`.')
  const signedIn = browsers.exchange(code, request)
  if (signedIn === undefined) throw new ProblemError('sign_in_code_invalid')
  const { csrf, setCookie, principal } = signedIn
  const { id, readsOnly } = principal
  return json(200, { csrf, principal: id, readsOnly }, { 'set-cookie': setCookie })
}

function signInOf({ core }: RouteContext): NonNullable<RouteContext['core']['browsers']> {
  if (core.browsers === undefined) throw new ProblemError('not_found')
  return core.browsers
}
