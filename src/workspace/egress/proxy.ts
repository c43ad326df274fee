import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { type AdmissionOptions, createAdmission, type Target } from './admission.js'
import { type CertificateAuthority, createCertificateAuthority } from './certificate-authority.js'
import { type Forwarding, forward, maxHeaderBytes, reject } from './forward.js'
import { plainHost } from './host-rules.js'
import type { NetworkRequest } from './network-request.js'
import { createTraffic } from './traffic.js'
import { openTunnel, plainAnswer } from './tunnel.js'

export type ProxyOptions = AdmissionOptions & {
  /** The path of the Unix socket to listen on. Absent: a port of the loopback interface, with a password. */
  readonly socket?: string | undefined
  readonly onRequest?: ((request: NetworkRequest) => void) | undefined
  readonly now?: (() => number) | undefined
}

export type FilteringProxy = {
  readonly address: { readonly socket: string } | { readonly port: number; readonly password: string }
  /** The certificate of the authority for inspected hosts; absent: no host is inspected. */
  readonly certificate?: string | undefined
  /** Returns the refusals so far as sentences, each once. */
  refused(): string[]
  close(): Promise<void>
}

/**
 * Starts an HTTP proxy, the only network access of a sandbox. Each connection is checked against the allow-list by
 * name, then with `checkHost` by address, and goes to exactly that address. Requests to inspected hosts are read one by
 * one, over TLS with a certificate of the proxy's own authority.
 */
export async function startProxy(options: ProxyOptions): Promise<FilteringProxy> {
  const admission = createAdmission(options)
  const traffic = createTraffic({
    limits: options.limits,
    onRequest: options.onRequest,
    now: options.now ?? Date.now,
  })
  const { idleMs, maxMs, maxConnections } = traffic.limits
  const authority: CertificateAuthority | undefined = admission.inspects
    ? createCertificateAuthority()
    : undefined
  const forwarding: Forwarding = {
    traffic,
    gitFetch: options.gitFetch === true,
    certificates: options.certificates,
  }
  const password = options.socket === undefined ? randomBytes(24).toString('base64url') : undefined
  const sockets = new Set<Duplex>()
  const keep = (socket: Duplex): void => {
    sockets.add(socket)
    const timer = setTimeout(() => socket.destroy(), maxMs)
    timer.unref()
    socket.once('close', () => {
      clearTimeout(timer)
      sockets.delete(socket)
    })
    // Either end can disconnect at any time; its tunnel or the server then closes the other one.
    socket.on('error', () => socket.destroy())
  }

  const server = createServer({ maxHeaderSize: maxHeaderBytes }, (incoming, answer) => {
    if (!isAdmitted(incoming, password)) {
      answer.setHeader('proxy-authenticate', challenge)
      return reject(answer, 407, 'This proxy is for one command of a sandbox.')
    }
    const [, written, path] = /^http:\/\/([^/?#@]+)([/?][^#]*)?$/.exec(incoming.url ?? '') ?? []
    if (written === undefined)
      return reject(answer, 400, 'This proxy takes CONNECT, and plain http:// addresses in full.')
    void admission.admit(written, 80).then((target) => {
      if ('refused' in target)
        return reject(answer, 403, traffic.refuse({ method: incoming.method ?? '', scheme: 'http' }, target))
      // Uses the name that was allowed, not another one that the client may send.
      const authority = authorityOf(target, 80)
      return forward(forwarding, incoming, answer, { target, scheme: 'http', authority, path: pathOf(path) })
    })
  })
  const inspected = new WeakMap<Duplex, { readonly target: Target; readonly scheme: 'http' | 'https' }>()
  /** Parses requests inside connections; it listens on no port. */
  const inner = createServer({ maxHeaderSize: maxHeaderBytes }, (incoming, answer) => {
    const known = inspected.get(incoming.socket)
    if (known === undefined) return void answer.destroy()
    const { target, scheme } = known
    const { host, port } = target
    const path = incoming.url ?? ''
    if (!namesTarget(incoming, target, scheme) || !path.startsWith('/')) {
      const detail = (path.startsWith('/') ? incoming.headers.host : path) ?? ''
      const refusal = { refused: 'host_mismatch', host, port, detail: detail.slice(0, 300) } as const
      return reject(answer, 421, traffic.refuse({ method: incoming.method ?? '', scheme }, refusal))
    }
    const name = authorityOf(target, scheme === 'https' ? 443 : 80)
    void forward(forwarding, incoming, answer, { target, scheme, authority: name, path })
  })
  const inspect = (client: Duplex, target: Target, scheme: 'http' | 'https'): void => {
    if (scheme === 'http' || authority === undefined) {
      accept(client, { target, scheme: 'http' })
      return
    }
    const secure = new TLSSocket(client, {
      isServer: true,
      secureContext: authority.contextFor(target.host),
      ALPNProtocols: ['http/1.1'],
    })
    keep(secure)
    accept(secure, { target, scheme })
  }
  const accept = (socket: Duplex, about: { target: Target; scheme: 'http' | 'https' }): void => {
    inspected.set(socket, about)
    inner.emit('connection', socket)
    // The socket was paused while its first bytes were read.
    socket.resume()
  }

  server.maxConnections = maxConnections
  for (const one of [server, inner]) {
    one.setTimeout(idleMs)
    one.on('clientError', (_error, socket) => socket.destroy())
  }
  server.on('connection', keep)
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    if (isAdmitted(incoming, password))
      return void openTunnel({ admission, traffic, keep, inspect }, incoming, client, head)
    const words = 'This proxy is for one command of a sandbox.'
    client.end(
      plainAnswer('407 Proxy Authentication Required', words, `proxy-authenticate: ${challenge}\r\n`),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    if (options.socket === undefined) server.listen(0, '127.0.0.1', resolve)
    else server.listen(options.socket, resolve)
  })
  // The running command keeps the process alive; its proxy does not have to.
  server.unref()
  return {
    address:
      options.socket === undefined
        ? { port: (server.address() as AddressInfo).port, password: password ?? '' }
        : { socket: options.socket },
    certificate: authority?.certificate,
    refused: () => traffic.refused(),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      traffic.close()
    },
  }
}

const challenge = 'Basic realm="capstan"'

/** Whether a client can use the proxy. A port, which other programs can reach, requires the password. */
function isAdmitted({ headers }: IncomingMessage, password: string | undefined): boolean {
  if (password === undefined) return true
  const [, encoded = ''] = /^basic +(\S+)$/i.exec(headers['proxy-authorization'] ?? '') ?? []
  const given = Buffer.from(encoded, 'base64')
  const expected = Buffer.from(`${proxyUser}:${password}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

export const proxyUser = 'capstan'

function authorityOf({ host, port }: Target, usualPort: number): string {
  const name = host.includes(':') ? `[${host}]` : host
  return port === usualPort ? name : `${name}:${port}`
}

/** Whether a request inside a connection is for the host that the connection was opened to. */
function namesTarget({ headers }: IncomingMessage, target: Target, scheme: 'http' | 'https'): boolean {
  const [, name = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?$/.exec(headers.host ?? '') ?? []
  const port = digits === undefined ? (scheme === 'https' ? 443 : 80) : Number(digits)
  // Some clients omit the port of a connection.
  return plainHost(name) === target.host && (digits === undefined || port === target.port)
}

function pathOf(path: string | undefined): string {
  if (path === undefined) return '/'
  return path.startsWith('?') ? `/${path}` : path
}
