import { existsSync, readFileSync } from 'node:fs'
import { type ClientRequest, request as httpRequest, type RequestOptions } from 'node:http'
import { type AgentOptions, Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext, rootCertificates, type SecureContext, connect as tlsConnect } from 'node:tls'
import { messageOf } from '../../tool/errors.js'
import { ModelError } from '../errors.js'
import type { ConnectionOptions } from './connection-options.js'
import { asError, type OpenRequest } from './post.js'
import { proxyFor } from './proxy-for.js'

/**
 * Returns the function that opens requests to a URL; undefined when they are sent directly. A proxy that cannot be used
 * causes an error; it is never bypassed.
 */
export function routeTo(
  url: string,
  { proxy: configured, caFile }: ConnectionOptions,
  secrets: string[],
): OpenRequest | undefined {
  const proxy = proxyFor(new URL(url), configured, process.env)
  if (proxy !== undefined) secrets.push(...credentialsOf(proxy))
  return proxy === undefined && caFile === undefined ? undefined : openRoute({ proxy, caFile })
}

/**
 * Returns the function that opens requests over a route. Requests to https URLs are sent through a tunnel (CONNECT), so
 * that the proxy gets only the host name; connections are reused. Requests to http URLs are sent to the proxy itself.
 */
function openRoute({ proxy, caFile }: Route): OpenRequest {
  const trust = caFile === undefined ? undefined : trusted(caFile)
  const agent = proxy === undefined ? trust?.agent : new TunnelAgent(proxy, trust)
  return (address, options, signal) => {
    if (proxy === undefined)
      return address.protocol === 'https:'
        ? httpsRequest(address, { ...options, agent })
        : httpRequest(address, options)
    if (address.protocol === 'https:') {
      const tunnelled: RequestOptions & Opening = { ...options, agent, opening: signal }
      return httpsRequest(address, tunnelled)
    }
    const headers = { ...options.headers, host: address.host, ...authorization(proxy) }
    return toProxy(proxy, { ...options, headers, path: address.href }, trust)
  }
}

/** What a request adds to the options of its connection. */
type Opening = { readonly opening: AbortSignal }

/** Pools connections through the tunnels of one proxy. */
class TunnelAgent extends HttpsAgent {
  readonly #proxy: URL
  readonly #trust: Trust | undefined

  constructor(proxy: URL, trust: Trust | undefined) {
    super(pooled)
    this.#proxy = proxy
    this.#trust = trust
  }

  override createConnection(
    options: AgentOptions & Partial<Opening> & { servername?: string },
    done: (error: Error | null, socket?: Duplex) => void,
  ): undefined {
    const { opening, host = '', port = 443, servername } = options
    void this.#connect(String(host), Number(port), servername, opening).then(
      (socket) => done(null, socket),
      (error: Error) => done(error),
    )
  }

  async #connect(
    host: string,
    port: number,
    servername: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Duplex> {
    const socket = await openTunnel(
      this.#proxy,
      `${isIP(host) === 6 ? `[${host}]` : host}:${port}`,
      this.#trust,
      signal,
    )
    return new Promise((resolve, reject) => {
      const secure = tlsConnect({
        socket,
        secureContext: this.#trust?.context,
        host,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 && { servername: servername || host }),
      })
      const stop = (): void => void secure.destroy(asError(signal?.reason))
      signal?.addEventListener('abort', stop, { once: true })
      const settle = (): void => {
        signal?.removeEventListener('abort', stop)
        secure.removeListener('error', failed)
      }
      const failed = (error: Error): void => {
        settle()
        socket.destroy()
        reject(error)
      }
      secure.once('error', failed)
      secure.once('secureConnect', () => {
        settle()
        resolve(secure)
      })
      if (signal?.aborted) stop()
    })
  }
}

/** Returns a connection to a host and port through the proxy. */
function openTunnel(
  proxy: URL,
  target: string,
  trust: Trust | undefined,
  signal: AbortSignal | undefined,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const headers = { host: target, ...authorization(proxy) }
    const asked = toProxy(proxy, { method: 'CONNECT', path: target, headers, agent: false }, trust)
    const stop = (): void => void asked.destroy(asError(signal?.reason))
    signal?.addEventListener('abort', stop, { once: true })
    asked.once('close', () => signal?.removeEventListener('abort', stop))
    asked.on('error', (error) => reject(signal?.aborted ? error : unreachable(proxy, error)))
    asked.once('connect', ({ statusCode = 0 }, socket, head) => {
      signal?.removeEventListener('abort', stop)
      if (statusCode >= 200 && statusCode <= 299 && head.length === 0 && !signal?.aborted)
        return resolve(socket)
      socket.destroy()
      reject(signal?.aborted ? asError(signal.reason) : refused(proxy, statusCode))
    })
    // A proxy that answers CONNECT like a normal request has not opened a tunnel.
    asked.once('response', (response) => {
      response.destroy()
      reject(refused(proxy, response.statusCode ?? 0))
    })
    if (signal?.aborted) stop()
    else asked.end()
  })
}

function toProxy(proxy: URL, options: RequestOptions, trust: Trust | undefined): ClientRequest {
  const isSecure = proxy.protocol === 'https:'
  const place = {
    hostname: proxy.hostname.replace(/^\[|\]$/g, ''),
    port: proxy.port || (isSecure ? 443 : 80),
  }
  if (!isSecure) return httpRequest({ ...options, ...place })
  const secure: RequestOptions & Pick<AgentOptions, 'secureContext'> = {
    agent: trust?.agent,
    ...options,
    ...place,
    secureContext: trust?.context,
  }
  return httpsRequest(secure)
}

function authorization({ username, password }: URL): Record<string, string> {
  const token = basicToken(username, password)
  return token === '' ? {} : { 'proxy-authorization': `Basic ${token}` }
}

/** Creates the error for a rejected CONNECT. A gateway error of a proxy is temporary; a refusal is not. */
function refused(proxy: URL, status: number): Error {
  return Object.assign(new Error(`the proxy ${proxy.host} answered ${status} instead of opening a tunnel`), {
    code: status >= 500 ? 'PROXY_FAILED' : 'PROXY_REFUSED',
  })
}

/**
 * Creates the error for an unreachable proxy, without the cause: only the host and the port of a proxy may be shown.
 */
function unreachable(proxy: URL, error: NodeJS.ErrnoException): Error {
  const { code = 'PROXY_FAILED' } = error
  return Object.assign(new Error(`the proxy ${proxy.host} cannot be reached, ${code}`), { code })
}

/** The options of the agent that Node uses itself. */
const pooled = { keepAlive: true, scheduling: 'lifo', timeout: 5000 } as const

/** Trusted certificates, and the connections that were checked with them and must not be used without them. */
type Trust = { readonly context: SecureContext; readonly agent: HttpsAgent }

/**
 * Returns all trusted certificates, parsed. They are parsed once, because it takes longer than the rest of a new
 * connection; models with the same certificates share them, and their connections. Certificates that are stated replace
 * the defaults, including those of NODE_EXTRA_CA_CERTS, so all of them are listed.
 */
function trusted(caFile: string): Trust {
  const extra = process.env['NODE_EXTRA_CA_CERTS']
  const added = [...(extra && existsSync(extra) ? [readCertificates(extra)] : []), readCertificates(caFile)]
  const key = added.join('\n')
  if (lastTrust?.key === key) return lastTrust.trust
  const context = createSecureContext({ ca: [...rootCertificates, ...added] })
  const trust = { context, agent: new HttpsAgent({ ...pooled, secureContext: context }) }
  lastTrust = { key, trust }
  return trust
}

/** Only the last one: nearly all processes have one file of certificates. */
let lastTrust: { readonly key: string; readonly trust: Trust } | undefined

function readCertificates(path: string): string {
  try {
    const text = readFileSync(path, 'utf8')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch (error) {
    throw new ModelError(
      'model_unavailable',
      `The certificates in ${path} cannot be read (${messageOf(error)})`,
    )
  }
  throw new ModelError(
    'model_unavailable',
    `The file ${path} contains no certificate: it must be in PEM format`,
  )
}

/** A route to a URL that differs from a direct connection with the default certificates. */
type Route = { readonly proxy?: URL | undefined; readonly caFile?: string | undefined }

/** Returns the credentials of a proxy in every form in which they could appear in a message. */
function credentialsOf({ username, password }: URL): string[] {
  const token = basicToken(username, password)
  return [password, username, decoded(password), decoded(username), token].filter((secret) => secret !== '')
}

/** Returns the credentials of a URL in the format of `Proxy-Authorization`; an empty string when there are none. */
function basicToken(username: string, password: string): string {
  if (username === '' && password === '') return ''
  return Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')
}

/** Decodes a part of a URL. A password can contain a percent sign that is not an escape. */
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
  )
}
