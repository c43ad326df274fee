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
  /** Checks the grant and the rules, for every hop. */
  readonly permitHost: PermitHost
  /** Allows loopback and private addresses, or only those of the named hosts; metadata services are never allowed. */
  readonly allowPrivate?: AllowPrivate | undefined
  readonly maxRedirects?: number | undefined
  /** The maximum size of a decoded body, in bytes; a request can set a lower limit, not a higher one. */
  readonly maxBytes?: number | undefined
  /** The maximum duration of a fetch with redirects and body; a request can set a lower limit, not a higher one. */
  readonly timeoutMs?: number | undefined
  readonly userAgent?: string | undefined
}

/** What tests replace to simulate the internet on loopback; every check is the same as in production. */
export type NetSeams = Wire & { readonly resolver?: Resolver }

/**
 * HTTP for tools, limited to hosts that the grant names and to addresses of the public internet. Every hop of a
 * redirect is checked again, connections go to the checked address, and nothing ambient is used: no cookies, no stored
 * credentials, no proxy variables.
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

/** Removes headers about the encoding, because the body is already decoded, and cookies, because none are stored. */
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
