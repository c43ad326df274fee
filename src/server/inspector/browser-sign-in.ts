import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { isRecord } from '../../tool/json.js'
import type { Principal } from '../options.js'

/** How long a one-time code is valid. */
const codeLifetimeMs = 60_000
const cookieLifetimeMs = 12 * 3_600_000
/**
 * The maximum for one caller and for one session. A new entry replaces the oldest of the same caller or session, never
 * that of another.
 */
const maxCodesOfCaller = 20
const maxLinksOfSession = 50
const maxEnded = 10_000

/** The header that every request with the cookie needs. Only the page has its value. */
const csrfHeader = 'x-capstan-csrf'

/** What a browser receives for a code: the cookie for its requests, and the value of the CSRF header. */
export type SignedIn = { readonly setCookie: string; readonly csrf: string; readonly principal: Principal }

/** A browser that is signed in. */
export type Visit = {
  readonly principal: Principal
  /** False once the cookie has expired, was signed out, or its link was revoked. */
  isValid(): boolean
}

/** A link that several people can open until it expires or is revoked. */
export type SharedLink = { readonly linkId: string; readonly code: string; readonly expiresAtMs: number }

/**
 * The sign-in of web pages. A code is exchanged for a cookie. A request with the cookie also needs the CSRF header:
 * browsers send cookies to every port of a host, so another program on this machine can get the cookie, but not the
 * value of the header.
 *
 * The cookie is signed data, so a page stays signed in when the server restarts with the same key. Codes and links are
 * only in memory.
 */
export class BrowserSignIn {
  readonly #key: Buffer
  readonly #now: () => number
  readonly #codes = new Map<string, Code>()
  readonly #links = new Map<string, Link>()
  /** Digests of cookies that were signed out, until they expire. */
  readonly #ended = new Map<string, { readonly expiresAtMs: number }>()

  /** `secrets` are the tokens of the server. Without any, cookies are valid until the process ends. */
  constructor(secrets: readonly string[], now: () => number) {
    const secret = secrets.length === 0 ? randomBytes(32) : Buffer.from(JSON.stringify(secrets))
    this.#key = createHmac('sha256', secret).update('capstan inspector cookie').digest()
    this.#now = now
  }

  /** Creates a code that can be exchanged once, within {@link codeLifetimeMs}. */
  createCode(principal: Principal): { readonly code: string; readonly expiresAtMs: number } {
    const now = this.#now()
    dropExpired(this.#codes, now)
    dropOver(this.#codes, maxCodesOfCaller - 1, (one) => isSameCaller(one.principal, principal))
    const code = newSecret()
    const expiresAtMs = now + codeLifetimeMs
    this.#codes.set(digestOf(code), { principal, expiresAtMs })
    return { code, expiresAtMs }
  }

  /** Creates a link for reading one session. Its cookies become invalid with it, and when this process ends. */
  createLink(
    { sessionId, tenantId }: { readonly sessionId: string; readonly tenantId: string | null },
    lifetimeMs: number,
  ): SharedLink {
    const now = this.#now()
    dropExpired(this.#links, now)
    dropOver(this.#links, maxLinksOfSession - 1, (one) => one.sessionId === sessionId)
    const linkId = randomBytes(9).toString('base64url')
    const code = newSecret()
    const reader: Principal = {
      id: `link-${linkId}`,
      ...(tenantId !== null && { tenantId }),
      readsOnly: sessionId,
    }
    const expiresAtMs = now + lifetimeMs
    this.#links.set(linkId, { principal: reader, expiresAtMs, digest: digestOf(code), sessionId })
    return { linkId, code, expiresAtMs }
  }

  /** Returns the links of a session that are currently valid. */
  links(sessionId: string): { readonly linkId: string; readonly expiresAtMs: number }[] {
    dropExpired(this.#links, this.#now())
    return [...this.#links].flatMap(([linkId, { expiresAtMs, sessionId: own }]) =>
      own === sessionId ? [{ linkId, expiresAtMs }] : [],
    )
  }

  /**
   * Revokes a link: its code and every cookie that was issued for it. Returns false if the session has no such link.
   */
  revoke(sessionId: string, linkId: string): boolean {
    return this.#links.get(linkId)?.sessionId === sessionId && this.#links.delete(linkId)
  }

  /** Exchanges a code; undefined when it is unknown, used or expired. */
  exchange(code: string, request: Request): SignedIn | undefined {
    const now = this.#now()
    const digest = digestOf(code)
    const known = this.#codes.get(digest)
    this.#codes.delete(digest)
    const link = [...this.#links].find(([, one]) => one.digest === digest)
    const found = known ?? link?.[1]
    if (found === undefined || found.expiresAtMs <= now) return undefined
    const csrf = newSecret()
    const expiresAtMs = link === undefined ? now + cookieLifetimeMs : found.expiresAtMs
    const { principal } = found
    const text = JSON.stringify({ principal, csrf: digestOf(csrf), expiresAtMs, linkId: link?.[0] })
    const value = `${Buffer.from(text).toString('base64url')}.${this.#sign(text)}`
    const maxAge = Math.floor((expiresAtMs - now) / 1_000)
    return { setCookie: cookieOf(request, value, maxAge), csrf, principal }
  }

  /**
   * Returns the visit of a request with a cookie. Undefined without a valid cookie, without its CSRF header, or when
   * the request does not come from a page of the server itself.
   */
  visitOf(request: Request): Visit | undefined {
    const known = this.#knownVisitOf(request)
    return known && { principal: known.principal, isValid: () => this.#isValid(known) }
  }

  /** Ends the cookie of a request. Returns the header that removes it from the browser. */
  signOut(request: Request): string {
    const visit = this.#knownVisitOf(request)
    dropExpired(this.#ended, this.#now())
    dropOver(this.#ended, maxEnded - 1)
    if (visit !== undefined) this.#ended.set(digestOf(visit.value), visit)
    return cookieOf(request, '', 0)
  }

  #knownVisitOf(request: Request): KnownVisit | undefined {
    const csrf = request.headers.get(csrfHeader)
    if (csrf === null || !isSameOrigin(request)) return undefined
    // Another page of this host can set a cookie with the same name, so the cookie that matches the header is used.
    return cookiesOf(request, cookieName(hostOf(request)))
      .map((value) => this.#read(value))
      .find((visit) => visit !== undefined && isSame(visit.csrf, digestOf(csrf)))
  }

  #read(value: string): KnownVisit | undefined {
    const [encoded = '', mac = ''] = value.split('.')
    const text = Buffer.from(encoded, 'base64url').toString()
    if (!isSame(mac, this.#sign(text))) return undefined
    const data: unknown = JSON.parse(text)
    if (!isRecord(data)) return undefined
    const { principal, csrf, expiresAtMs, linkId } = data
    if (!isPrincipal(principal) || typeof csrf !== 'string' || typeof expiresAtMs !== 'number')
      return undefined
    const visit: KnownVisit = { principal, csrf, expiresAtMs, value, linkId }
    return this.#isValid(visit) ? visit : undefined
  }

  /** Whether a visit has not expired, was not signed out, and its link was not revoked. */
  #isValid({ expiresAtMs, value, linkId }: KnownVisit): boolean {
    if (expiresAtMs <= this.#now() || this.#ended.has(digestOf(value))) return false
    return typeof linkId !== 'string' || this.#links.has(linkId)
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}

type Code = { readonly principal: Principal; readonly expiresAtMs: number }
type Link = Code & { readonly digest: string; readonly sessionId: string }
type KnownVisit = Code & { readonly csrf: string; readonly value: string; readonly linkId: unknown }

/**
 * Ends the event stream of a browser with its sign-in: every chunk, including heartbeats, is sent only while the visit
 * is valid. Other responses are returned unchanged.
 */
export function whileSignedIn(response: Response, visit: Visit | undefined): Response {
  const { body, headers } = response
  if (visit === undefined || body === null || headers.get('content-type') !== 'text/event-stream')
    return response
  const reader = body.getReader()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        if (!done && visit.isValid()) {
          controller.enqueue(value)
          return
        }
        controller.close()
        await reader.cancel()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, response)
}

/**
 * Returns the name of the cookie. Browsers share cookies between ports, so the port is in the name, and two servers do
 * not overwrite each other's cookies.
 */
function cookieName(host: string): string {
  return `capstan_inspector_${/:(\d+)$/.exec(host)?.[1] ?? 'web'}`
}

/**
 * Returns the header that sets the cookie. It is `Secure` when the page was loaded over TLS. Behind a proxy that
 * terminates TLS, only the browser knows that, and states it in the origin of the request; a header of the proxy can be
 * forged.
 */
function cookieOf(request: Request, value: string, maxAge: number): string {
  const from = request.headers.get('origin') ?? request.url
  const secure = URL.canParse(from) && new URL(from).protocol === 'https:' ? '; Secure' : ''
  return `${cookieName(hostOf(request))}=${value}; Path=/v1; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`
}

function hostOf(request: Request): string {
  return (request.headers.get('host') ?? new URL(request.url).host).toLowerCase()
}

/**
 * Whether a request was sent by a page of the server itself. `checkSource` also accepts origins that the host allowed;
 * those use tokens, and must not use the cookie.
 */
export function isSameOrigin(request: Request): boolean {
  const origin = request.headers.get('origin')
  if (origin !== null && (!URL.canParse(origin) || new URL(origin).host !== hostOf(request))) return false
  const site = request.headers.get('sec-fetch-site')
  return site === null || site === 'same-origin'
}

function cookiesOf(request: Request, name: string): string[] {
  return (request.headers.get('cookie') ?? '').split(';').flatMap((one) => {
    const [key = '', value = ''] = one.trim().split('=', 2)
    return key === name && value.length <= maxCookieLength ? [value] : []
  })
}

const maxCookieLength = 4_096

function isPrincipal(value: unknown): value is Principal {
  return isRecord(value) && typeof value['id'] === 'string'
}

function isSame(given: string, known: string): boolean {
  const [a, b] = [given, known].map((text) => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}

function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function dropExpired(map: Map<string, { readonly expiresAtMs: number }>, now: number): void {
  for (const [key, { expiresAtMs }] of map) if (expiresAtMs <= now) map.delete(key)
}

/** Removes the oldest entries that `isOwn` selects, until there are at most `max` of them. */
function dropOver<Value>(
  map: Map<string, Value>,
  max: number,
  isOwn: (value: Value) => boolean = () => true,
): void {
  const own = [...map].filter(([, value]) => isOwn(value))
  for (const [key] of own.slice(0, Math.max(0, own.length - max))) map.delete(key)
}

function isSameCaller(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.tenantId === other.tenantId
}
