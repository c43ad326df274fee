import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import type { LookupFunction } from 'node:net'
import type { Destination } from './judge-url.js'
import type { HopRequest } from './redirect.js'
import type { Address } from './resolve.js'
import type { Wire } from './wire.js'

/**
 * Sends one request and reads the head of its response, over a new connection to one of the checked addresses.
 *
 * Uses Node's own client rather than one with a pool: a pool selects connections by name, so a later request could use
 * one that was opened under other checks. Proxy variables of the environment are not read either: with a proxy the name
 * would be resolved again, by another process, after the check.
 */
export async function sendOnce(
  { url, host, port }: Destination,
  addresses: readonly Address[],
  { method, headers, body }: HopRequest,
  signal: AbortSignal,
  wire: Wire,
): Promise<IncomingMessage> {
  const reached = addresses.map((each) => wire.reach?.(each.address) ?? each)
  const client = url.protocol === 'https:' ? await import('node:https') : await import('node:http')
  const literal = addresses.length === 1 && addresses[0]?.address === host
  const options: RequestOptions & {
    rejectUnauthorized: boolean
    ca?: string | undefined
    servername?: string | undefined
    autoSelectFamily: boolean
  } = {
    method,
    // Node does not call `lookup` for a literal address; it connects to it as written, and that text was checked.
    host: literal ? (reached[0]?.address ?? host) : host,
    port,
    path: `${url.pathname}${url.search}`,
    headers: { ...headers, host: url.host, ...lengthOf(method, body) },
    lookup: pinned(reached),
    autoSelectFamily: true,
    agent: (wire.agent as Agent | undefined) ?? false,
    signal,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment does not disable verification.
    rejectUnauthorized: true,
    ...(wire.trustedCertificates === undefined ? {} : { ca: wire.trustedCertificates }),
    // No SNI for literal addresses; the certificate is then compared with the address.
    servername: literal ? '' : host,
  }
  return new Promise<IncomingMessage>((resolve, reject) => {
    const request = client.request(options)
    request.on('response', (response) => resolve(response))
    request.on('error', reject)
    // A 101 that was not requested closes the connection without an error.
    request.on('close', () => reject(new Error('the connection was closed before an answer came')))
    request.end(body)
  })
}

/** Returns a lookup function that always returns the checked addresses. */
function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, options, callback) => {
    const first = addresses[0]
    if (options.all) callback(null, [...addresses])
    else if (first !== undefined) callback(null, first.address, first.family)
    else callback(new Error('no address'), '', 0)
  }
}

function lengthOf(method: string, body: Uint8Array | undefined): Record<string, string> {
  if (body !== undefined) return { 'content-length': String(body.length) }
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }
}
