import type { IncomingMessage } from 'node:http'
import type { NetRequest, NetResponse, RuntimeNet } from '../../tool/runtime.js'
import type { AddressPolicy } from './address-guard.js'
import { type AllowPrivate, privateAccess } from './allow-private.js'
import { NetError } from './errors.js'
import { explainFailure } from './explain-failure.js'
import { judgeUrl, type PermitHost, show } from './judge-url.js'
import { readBody } from './read-body.js'
import { followRedirect, type HopRequest } from './redirect.js'
import { checkHeaders, checkMethod } from './request-headers.js'
import { type Resolver, resolveChecked, systemResolver } from './resolve.js'
import { sendOnce } from './send-once.js'
import { startTimeLimit } from './time-limit.js'
import type { Wire } from './wire.js'

export type GuardedFetchOptions = {
  /** The grant and the rules speak here, for every hop. */
  readonly permitHost: PermitHost
  /** Loopback and private addresses may be reached, or those of the named hosts alone; metadata services never. */
  readonly allowPrivate?: AllowPrivate | undefined
  readonly maxRedirects?: number | undefined
  /** The most a body may have, decoded; a request may ask for less, not for more. */
  readonly maxBytes?: number | undefined
  /** The most a fetch may take, redirects and body included; a request may ask for less, not for more. */
  readonly timeoutMs?: number | undefined
  readonly userAgent?: string | undefined
}

/** What tests replace to stand in for the internet on loopback; every check stays as it is in production. */
export type NetSeams = Wire & { readonly resolver?: Resolver }

/**
 * HTTP for tools, held to hosts the grant names and to addresses of the public internet. Every hop of a redirect is
 * judged again, the checked address is the dialled one, and nothing ambient is used: no cookies, no stored credentials,
 * no proxy variables.
 *
 * @example
 * const net = createGuardedFetch({ permitHost: (host) => (host === 'example.com' ? undefined : 'not granted') })
 * const page = await net.fetch('https://example.com/')
 */
export function createGuardedFetch(options: GuardedFetchOptions, seams: NetSeams = {}): RuntimeNet {
  const policyFor = privateAccess(options.allowPrivate)
  const limits = {
    maxBytes: options.maxBytes ?? 5 * 1024 * 1024,
    timeoutMs: options.timeoutMs ?? 30_000,
  }
  return {
    async fetch(url, request = {}) {
      const timeLimit = startTimeLimit(narrower(request.timeoutMs, limits.timeoutMs), request.signal)
      const maxBytes = narrower(request.maxBytes, limits.maxBytes)
      try {
        return await timeLimit.race(
          fetchThrough(url, request, maxBytes, timeLimit.signal, policyFor, options, seams),
        )
      } catch (thrown) {
        throw timeLimit.ended() ?? explainFailure(thrown, url)
      } finally {
        timeLimit.stop()
      }
    },
  }
}

async function fetchThrough(
  start: string,
  request: NetRequest,
  maxBytes: number,
  signal: AbortSignal,
  policyFor: (host: string, port: number) => AddressPolicy,
  options: GuardedFetchOptions,
  seams: NetSeams,
): Promise<NetResponse> {
  const maxRedirects = options.maxRedirects ?? 5
  let target = start
  let hop = firstHop(request, options.userAgent ?? 'capstan')
  for (let redirects = 0; ; redirects += 1) {
    const destination = judgeUrl(target, options.permitHost, policyFor)
    const addresses = await resolveChecked(
      destination.host,
      destination.policy,
      seams.resolver ?? systemResolver,
    )
    signal.throwIfAborted()
    const response = await sendOnce(destination, addresses, hop, signal, seams)
    try {
      const status = response.statusCode ?? 0
      const next = followRedirect(destination.url, status, response.headers.location, hop)
      if (next === undefined) {
        const body = await readBody(response, hop.method, maxBytes)
        return {
          status,
          url: destination.url.href,
          headers: headersOf(response),
          body: body.bytes,
          truncated: body.truncated,
        }
      }
      if (redirects === maxRedirects) {
        throw new NetError(
          'net_refused',
          `More than ${maxRedirects} redirects; the last came from ${show(destination.url)}.`,
        )
      }
      target = next.target
      hop = next.request
    } finally {
      response.destroy()
    }
  }
}

function firstHop(request: NetRequest, userAgent: string): HopRequest {
  const method = checkMethod(request.method ?? 'GET')
  const body = typeof request.body === 'string' ? Buffer.from(request.body) : request.body
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw new NetError('net_request_invalid', `A ${method} request has no body; use POST or leave it out.`)
  }
  return { method, headers: checkHeaders(request.headers ?? {}, userAgent), body }
}

/** The body is decoded by now, so what described its encoding goes; cookies go because nothing here keeps any. */
function headersOf(response: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {}
  const encoded = response.headers['content-encoding'] !== undefined
  for (const [name, value] of Object.entries(response.headers)) {
    if (value === undefined || name === 'set-cookie' || name === 'content-encoding') continue
    if (name === 'content-length' && encoded) continue
    headers[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return headers
}

function narrower(asked: number | undefined, ceiling: number): number {
  return asked !== undefined && asked >= 0 ? Math.min(asked, ceiling) : ceiling
}
