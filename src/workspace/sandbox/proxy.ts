import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../tool/errors.js'
import { type HostRule, hostRules, isAllowed, narrowingRules, plainHost } from './host-allow.js'

/** Resolves a host and gives the address to connect to; throws when the host must not be reached. */
export type CheckHost = (
  host: string,
  port: number,
) => Promise<{ readonly address: string; readonly family?: number }>

export type ProxyOptions = {
  /** The path of the Unix socket to listen on. */
  readonly socket: string
  readonly allowHosts: readonly string[]
  /** Of those, what this command may reach; absent: all. */
  readonly hosts?: readonly string[] | undefined
  /** What rules deny to this command, whatever else allows it. */
  readonly deniesHost?: ((host: string, port: number) => boolean) | undefined
  readonly checkHost: CheckHost
  readonly maxConnections?: number | undefined
  readonly idleMs?: number | undefined
}

export type FilteringProxy = {
  readonly socket: string
  /** What was refused so far, in words, each once. */
  refused(): string[]
  close(): Promise<void>
}

/**
 * An HTTP proxy on a Unix socket, the only way out of a sandbox. Each connection is held to the allow-list by name,
 * then to `checkHost` by address, and goes to that very address: a name that resolves differently a moment later gains
 * nothing.
 */
export async function startProxy(options: ProxyOptions): Promise<FilteringProxy> {
  const rules = hostRules(options.allowHosts)
  const granted = narrowingRules(options.hosts ?? ['*'])
  const refusals = new Set<string>()
  const sockets = new Set<Duplex>()
  const idleMs = options.idleMs ?? 120_000

  const keep = (socket: Duplex): void => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // Either end may go at any time; the other one is then closed by `join` or by the server.
    socket.on('error', () => socket.destroy())
  }
  const refuse = (why: string): string => {
    if (refusals.size < 20) refusals.add(why)
    return why
  }
  const admit = (target: string, defaultPort: number): Promise<Admitted> =>
    admitTarget(target, defaultPort, { rules, granted, ...options })

  const server = createServer({ maxHeaderSize: 32 * 1024 }, (incoming, answer) => {
    void forward(incoming, answer, admit, refuse, idleMs)
  })
  server.maxConnections = options.maxConnections ?? 256
  server.on('connection', keep)
  server.on('connect', (incoming: IncomingMessage, client: Duplex, head: Buffer) => {
    void tunnel(incoming, client, head, admit, refuse, keep, idleMs)
  })
  server.on('clientError', (_error, socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.socket, resolve)
  })
  // The command keeps the host alive while it runs; its proxy need not.
  server.unref()
  return {
    socket: options.socket,
    refused: () => [...refusals],
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

type Admitted =
  | { readonly host: string; readonly port: number; readonly address: string }
  | { readonly refused: string }
type Admit = (target: string, defaultPort: number) => Promise<Admitted>

async function admitTarget(
  target: string,
  defaultPort: number,
  held: {
    readonly rules: readonly HostRule[]
    readonly granted: readonly HostRule[]
    readonly deniesHost?: ((host: string, port: number) => boolean) | undefined
    readonly checkHost: CheckHost
  },
): Promise<Admitted> {
  const [, name = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::([0-9]{1,5}))?$/.exec(target) ?? []
  const host = plainHost(name)
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || port < 1 || port > 65_535) {
    return { refused: `The network refused ${JSON.stringify(target)}: that is not a host and port.` }
  }
  if (!isAllowed(held.rules, host, port)) {
    return { refused: `The network refused ${host}:${port}: it is not among the allowed hosts.` }
  }
  if (!isAllowed(held.granted, host, port)) {
    return { refused: `The network refused ${host}:${port}: it was not granted to this command.` }
  }
  if (held.deniesHost?.(host, port) === true) {
    return { refused: `The network refused ${host}:${port}: a rule denies this host.` }
  }
  try {
    const { address } = await held.checkHost(host, port)
    return { host, port, address }
  } catch (error) {
    return { refused: `The network refused ${host}:${port}: ${messageOf(error)}` }
  }
}

async function tunnel(
  incoming: IncomingMessage,
  client: Duplex,
  head: Buffer,
  admit: Admit,
  refuse: (why: string) => string,
  keep: (socket: Duplex) => void,
  idleMs: number,
): Promise<void> {
  const admitted = await admit(incoming.url ?? '', 443)
  if (client.destroyed) return
  if ('refused' in admitted) {
    const words = `${refuse(admitted.refused)}\n`
    client.end(
      `HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(words)}\r\nconnection: close\r\n\r\n${words}`,
    )
    return
  }
  const upstream = connect({ host: admitted.address, port: admitted.port })
  keep(upstream)
  let connected = false
  upstream.once('connect', () => {
    connected = true
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    if (head.length > 0) upstream.write(head)
    join(client, upstream, idleMs)
  })
  upstream.once('close', () => {
    if (!connected) client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
  })
  client.once('close', () => upstream.destroy())
}

function join(client: Duplex, upstream: Socket, idleMs: number): void {
  upstream.setTimeout(idleMs, () => upstream.destroy())
  upstream.once('close', () => client.destroy())
  client.pipe(upstream)
  upstream.pipe(client)
}

async function forward(
  incoming: IncomingMessage,
  answer: ServerResponse,
  admit: Admit,
  refuse: (why: string) => string,
  idleMs: number,
): Promise<void> {
  const fail = (status: number, words: string): void => {
    if (answer.headersSent) answer.destroy()
    else
      answer
        .writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' })
        .end(`${words}\n`)
  }
  const [, authority, path] = /^http:\/\/([^/?#@]+)([/?][^#]*)?$/.exec(incoming.url ?? '') ?? []
  if (authority === undefined)
    return fail(400, 'This proxy takes CONNECT, and plain http:// addresses in full.')
  const admitted = await admit(authority, 80)
  if ('refused' in admitted) return fail(403, refuse(admitted.refused))
  const upstream = request({
    host: admitted.address,
    port: admitted.port,
    method: incoming.method,
    path: path === undefined ? '/' : path.startsWith('?') ? `/${path}` : path,
    // The name that was allowed, not another one that the client may claim.
    headers: { ...endToEnd(incoming), host: authority },
    agent: false,
    timeout: idleMs,
  })
  upstream.on('timeout', () => upstream.destroy())
  upstream.on('error', (error) => fail(502, `The network could not reach ${authority}: ${messageOf(error)}`))
  upstream.on('response', (response) => {
    answer.writeHead(response.statusCode ?? 502, endToEnd(response))
    response.pipe(answer)
    response.on('error', () => answer.destroy())
  })
  answer.once('close', () => upstream.destroy())
  incoming.pipe(upstream)
}

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function endToEnd({ headers }: IncomingMessage): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !hopByHop.has(name) && !named.has(name)) kept[name] = value
  }
  return kept
}
