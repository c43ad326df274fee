import { createHash, timingSafeEqual } from 'node:crypto'
import type { Principal, ServerOptions, ServerToken } from './options.js'
import { ProblemError } from './problem.js'

/**
 * Checks the source of a request before its body is read: the host name it was sent to, and the origin of the page that
 * sent it.
 */
export function checkSource(
  request: Request,
  options: ServerOptions,
): { readonly origin?: string | undefined } {
  const host = request.headers.get('host') ?? new URL(request.url).host
  if (!isAllowedHost(host, options.allowedHosts ?? []))
    throw new ProblemError(
      'host_not_allowed',
      `The server does not answer for the host ${JSON.stringify(host)}.`,
    )
  const origin = request.headers.get('origin')
  if (origin === null) return {}
  if (options.allowedOrigins?.includes(origin)) return { origin }
  // The page belongs to the server itself, whose host was checked above.
  if (originHost(origin) === host.toLowerCase()) return {}
  throw new ProblemError('origin_not_allowed', `The origin ${JSON.stringify(origin)} is not allowed.`)
}

/** Returns the response to the preflight request of a browser; undefined for any other request. */
export function preflight(request: Request, origin: string | undefined): Response | undefined {
  if (request.method !== 'OPTIONS' || origin === undefined) return undefined
  return new Response(null, {
    status: 204,
    headers: {
      ...corsHeaders(origin),
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
      'access-control-max-age': '600',
    },
  })
}

export function corsHeaders(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, vary: 'origin' }
}

/** Creates the function that finds the principal of a request, by the host's hook or by tokens. */
export function createAuthenticator({
  token,
  authenticate,
}: ServerOptions): (request: Request) => Promise<Principal> {
  const tokens = readTokens(token)
  if (authenticate === undefined && tokens.length === 0)
    throw new TypeError(
      'createServer needs a token or an authenticate function: a server without either would be open to every web page.',
    )
  return async (request) => {
    const principal = authenticate === undefined ? principalOf(request, tokens) : await authenticate(request)
    if (principal === undefined)
      throw new ProblemError('unauthorized', undefined, { headers: { 'www-authenticate': 'Bearer' } })
    return principal
  }
}

type KnownToken = { readonly digest: Buffer; readonly principal: Principal }

function readTokens(given: ServerOptions['token']): readonly KnownToken[] {
  const all: readonly ServerToken[] = typeof given === 'string' ? [{ token: given }] : (given ?? [])
  return all.map(({ token, id, tenantId, allTenants, labels }) => {
    if (token.length < 16) throw new TypeError('A token of the server must have at least 16 characters.')
    const digest = digestOf(token)
    return {
      digest,
      principal: { id: id ?? `token-${digest.toString('hex').slice(0, 8)}`, tenantId, allTenants, labels },
    }
  })
}

/** Finds the principal of a token. Compares the digests of all tokens, each in constant time. */
function principalOf(request: Request, tokens: readonly KnownToken[]): Principal | undefined {
  const [, given] = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
  if (given === undefined) return undefined
  const digest = digestOf(given)
  let found: Principal | undefined
  for (const known of tokens) if (timingSafeEqual(known.digest, digest)) found = known.principal
  return found
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

const loopback = ['localhost', '127.0.0.1', '[::1]']

function isAllowedHost(host: string, allowed: readonly string[]): boolean {
  const given = host.toLowerCase()
  const name = given.replace(/:\d+$/, '')
  return loopback.includes(name) || allowed.some((one) => [given, name].includes(one.toLowerCase()))
}

function originHost(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}
