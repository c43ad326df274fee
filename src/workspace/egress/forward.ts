import {
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
  type ServerResponse,
} from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { messageOf } from '../../tool/errors.js'
import type { Target } from './admission.js'
import { isGitFetch, judgeRequest, type RequestHead } from './judge-request.js'
import { maskSecrets, maskText } from './mask-secrets.js'
import { hiddenTexts } from './network-options.js'
import type { Refusal } from './network-request.js'
import type { Exchange, Traffic } from './traffic.js'
import { trustedContext } from './trusted-certificates.js'

/** The values that the parts of a proxy share. */
export type Forwarding = {
  readonly traffic: Traffic
  readonly gitFetch: boolean
  /** Additional certificate authorities for servers, as PEM; absent: only those of Node. */
  readonly certificates?: string | undefined
}

export type Route = {
  readonly target: Target
  readonly scheme: 'http' | 'https'
  /** The value of the header `host`. */
  readonly authority: string
  readonly path: string
}

/**
 * Sends one request to its target and passes the response on. The message is rebuilt from its parsed form, with one
 * host, one length and the headers that are for the server: nothing that the server could parse differently is passed
 * on unchanged.
 */
export async function forward(
  parts: Forwarding,
  incoming: IncomingMessage,
  answer: ServerResponse,
  { target, scheme, authority, path }: Route,
): Promise<void> {
  const { traffic } = parts
  const { host, port } = target
  const head: RequestHead = { method: incoming.method ?? 'GET', path, headers: incoming.headers }
  const secrets = target.secrets.filter(({ plainHttp }) => scheme === 'https' || plainHttp === true)
  // One connection can carry any number of requests, and each request opens a connection to the server.
  if (traffic.isBusy()) {
    const refusal: Refusal = { refused: 'limit_reached', host, port, detail: tooManyRequests }
    reject(answer, 503, traffic.refuse({ method: head.method, scheme }, refusal))
    return
  }
  const exchange = traffic.begin({
    method: head.method,
    scheme,
    host,
    port,
    rule: target.readOnly && isGitFetch(head) ? 'gitFetch' : target.rule.text,
    secretHeader: secrets[0]?.header,
  })
  const refuse = (status: number, refusal: Refusal): void => reject(answer, status, exchange.refuse(refusal))
  const refusal = judgeRequest(target, head, parts.gitFetch)
  if (refusal !== undefined) return refuse(403, refusal)

  const headers: Headers = { ...requestHeaders(incoming), host: authority }
  const hidden: string[] = []
  for (const { header, value } of secrets) {
    try {
      const text = typeof value === 'string' ? value : await value()
      headers[header] = text
      hidden.push(...hiddenTexts(text))
    } catch {
      // The error itself is not reported, because it can contain the secret.
      return refuse(502, { refused: 'secret_unavailable', host, port, detail: header })
    }
  }
  if (answer.destroyed) return exchange.end()
  if (hidden.length > 0) {
    // Compressed or partial content could not be searched for secrets.
    headers['accept-encoding'] = 'identity'
    delete headers['range']
  }
  send({ parts, exchange, incoming, answer, target, scheme, path, headers, hidden })
}

type Sending = {
  readonly parts: Forwarding
  readonly exchange: Exchange
  readonly incoming: IncomingMessage
  readonly answer: ServerResponse
  readonly target: Target
  readonly scheme: 'http' | 'https'
  readonly path: string
  readonly headers: Headers
  readonly hidden: readonly string[]
}

/** The options of a connection over TLS. */
function secured(
  host: string,
  certificates: string | undefined,
): Pick<ConnectionOptions, 'servername' | 'rejectUnauthorized' | 'secureContext'> {
  return {
    servername: isIP(host) === 0 ? host : '',
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment of the host does not disable it.
    rejectUnauthorized: true,
    secureContext: certificates === undefined ? undefined : trustedContext(certificates),
  }
}

function send({ parts, exchange, incoming, answer, target, scheme, path, headers, hidden }: Sending): void {
  const { host, port, address } = target
  const { idleMs } = parts.traffic.limits
  const options: RequestOptions = {
    host: address,
    port,
    method: incoming.method,
    path,
    headers,
    agent: false,
    timeout: idleMs,
    maxHeaderSize: maxHeaderBytes,
  }
  let upstream: ReturnType<typeof requestHttp>
  try {
    upstream =
      scheme === 'http'
        ? requestHttp(options)
        : requestHttps({ ...options, ...secured(host, parts.certificates) })
  } catch (error) {
    const detail = maskText(messageOf(error), hidden)
    reject(answer, 502, exchange.refuse({ refused: 'unreachable', host, port, detail }))
    return
  }
  const fail = (detail: string): void =>
    reject(
      answer,
      502,
      exchange.refuse({ refused: 'unreachable', host, port, detail: maskText(detail, hidden) }),
    )
  const stop = (): void => {
    const words = exchange.refuse({ refused: 'limit_reached', host, port, detail: bytesUsedUp })
    reject(answer, 403, words)
    upstream.destroy()
  }
  upstream.on('timeout', () => upstream.destroy(new Error(`it was silent for ${idleMs} ms`)))
  upstream.on('error', (error) => fail(messageOf(error)))
  // An upgrade that was not requested closes the connection without an error.
  upstream.on('close', () => {
    if (!answer.headersSent) fail('the connection was closed before an answer came')
  })
  upstream.on('response', (response) => {
    const { statusCode = 0 } = response
    const objection = hidden.length === 0 ? undefined : unsearchable(response)
    // Node's parser accepts any three digits, but its server throws below 100, where no caller can catch it.
    if (statusCode < 100 || objection !== undefined) {
      fail(objection ?? `it answered with the status ${statusCode}`)
      upstream.destroy()
      return
    }
    exchange.answered(statusCode)
    answer.writeHead(statusCode, maskedHeaders(response, hidden))
    response.on('data', (bytes: Buffer) => exchange.down(bytes.length) || stop())
    response.on('error', () => answer.destroy())
    if (hidden.length === 0) response.pipe(answer)
    else response.pipe(maskSecrets(hidden)).pipe(answer)
  })
  answer.once('close', () => {
    exchange.end()
    upstream.destroy()
  })
  incoming.on('data', (bytes: Buffer) => exchange.up(bytes.length) || stop())
  incoming.pipe(upstream)
}

export const maxHeaderBytes = 32 * 1024
const tooManyRequests = 'the command has too many requests at the same time (network.limits).'
export const bytesUsedUp = 'the command has used up its bytes (network.limits).'

/** Sends an error response, or closes the connection when a response has begun. */
export function reject(answer: ServerResponse, status: number, words: string): void {
  if (answer.headersSent) answer.destroy()
  else
    answer
      .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
      .end(`${words}\n`)
}

type Headers = Record<string, string | string[]>

function requestHeaders(incoming: IncomingMessage): Headers {
  const headers = endToEnd(incoming)
  // The proxy has already answered this header.
  delete headers['expect']
  // Without one of the two headers, Node would send the body of a GET unframed, and the server would parse it as the
  // next request. They are set from the parsed request, also when `connection` lists them as hop-by-hop headers.
  const { 'transfer-encoding': encoding, 'content-length': length } = incoming.headers
  delete headers['content-length']
  if (encoding !== undefined) headers['transfer-encoding'] = 'chunked'
  else if (length !== undefined) headers['content-length'] = length
  return headers
}

/** Returns why a response cannot be searched for secrets: a server can compress it against the proxy's request. */
function unsearchable({ headers }: IncomingMessage): string | undefined {
  const encodings = [headers['content-encoding'], headers['transfer-encoding']]
    .flatMap((value) => (value ?? '').split(','))
    .map((name) => name.trim().toLowerCase())
    .filter((name) => !['', 'identity', 'chunked'].includes(name))
  if (encodings.length === 0) return undefined
  return `its answer is compressed (${encodings.join(', ').slice(0, 100)}), so that the proxy could not remove the secret of this host from it.`
}

function maskedHeaders(response: IncomingMessage, hidden: readonly string[]): Headers {
  const headers = endToEnd(response)
  if (hidden.length === 0) return headers
  const mask = (text: string): string => maskText(text, hidden)
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(mask) : mask(value),
    ]),
  )
}

const hopByHop = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function endToEnd({ headers }: IncomingMessage): Headers {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const kept: Headers = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !named.has(name)) kept[name] = value
  }
  return kept
}
