import type { IncomingMessage } from 'node:http'
import { connect, isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../tool/errors.js'
import type { Admission, Target } from './admission.js'
import { bytesUsedUp } from './forward.js'
import type { Refusal } from './network-request.js'
import { type Opening, readOpening } from './opening.js'
import type { Exchange, Traffic } from './traffic.js'

export type TunnelParts = {
  readonly admission: Admission
  readonly traffic: Traffic
  /** Closes the socket when the proxy closes, or when its time limit is reached. */
  keep(socket: Duplex): void
  /** Parses the requests of a connection instead of passing bytes on. */
  inspect(client: Duplex, target: Target, scheme: 'http' | 'https'): void
}

/**
 * Handles `CONNECT`. TLS is allowed when the client requests exactly the host that was checked; HTTP is parsed request
 * by request; other protocols are allowed where the allow-list names the port. Connections to inspected hosts are
 * terminated here.
 */
export async function openTunnel(
  parts: TunnelParts,
  incoming: IncomingMessage,
  client: Duplex,
  head: Buffer,
): Promise<void> {
  const { admission, traffic } = parts
  const target = await admission.admit(incoming.url ?? '', 443)
  if (client.destroyed) return
  if ('refused' in target) {
    const words = traffic.refuse({ method: 'CONNECT', scheme: 'tunnel' }, target)
    client.end(plainAnswer('403 Forbidden', words))
    return
  }
  const { host, port, rule } = target
  const started = { method: 'CONNECT', scheme: 'tunnel', host, port, rule: rule.text } as const
  if (target.inspected) {
    client.write(established)
    const opening = await readOpening(client, head)
    if (opening === undefined) return void client.destroy()
    const refusal = judgeOpening(target, opening)
    if (refusal !== undefined) {
      traffic.refuse(started, refusal)
      client.destroy()
    } else parts.inspect(client, target, opening.kind === 'tls' ? 'https' : 'http')
    return
  }
  passOn(parts, client, head, target, traffic.begin(started))
}

const established = 'HTTP/1.1 200 Connection Established\r\n\r\n'

export function plainAnswer(status: string, words: string, headers = ''): string {
  const body = `${words}\n`
  return `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
}

/** Connects to the server at once, because in some protocols the server sends first. */
function passOn(parts: TunnelParts, client: Duplex, head: Buffer, target: Target, exchange: Exchange): void {
  const { host, port, address } = target
  const upstream = connect({ host: address, port })
  let isConnected = false
  const stop = (refusal: Refusal): void => {
    exchange.refuse(refusal)
    upstream.destroy()
    client.destroy()
  }
  const fail = (error: unknown): void => {
    if (isConnected) return
    const words = exchange.refuse({ refused: 'unreachable', host, port, detail: messageOf(error) })
    client.end(plainAnswer('502 Bad Gateway', words))
  }
  upstream.once('error', fail)
  parts.keep(upstream)
  upstream.setTimeout(parts.traffic.limits.idleMs, () => upstream.destroy(new Error('it is silent')))
  const onUpstreamClose = (): void => {
    exchange.end()
    if (isConnected) client.destroy()
  }
  upstream.once('close', onUpstreamClose)
  const onClientClose = (): void => void upstream.destroy()
  client.once('close', onClientClose)
  upstream.once('connect', async () => {
    isConnected = true
    client.write(established)
    pump(upstream, client, exchange.down, () =>
      stop({ refused: 'limit_reached', host, port, detail: bytesUsedUp }),
    )
    const opening = await readOpening(client, head)
    if (opening === undefined) return void upstream.destroy()
    const refusal = judgeOpening(target, opening)
    if (refusal !== undefined) return stop(refusal)
    if (opening.kind === 'http') {
      // Its requests are parsed one by one, and each uses its own connection.
      upstream.unpipe(client)
      exchange.drop()
      upstream.off('close', onUpstreamClose)
      client.off('close', onClientClose)
      upstream.destroy()
      return parts.inspect(client, target, 'http')
    }
    pump(client, upstream, exchange.up, () =>
      stop({ refused: 'limit_reached', host, port, detail: bytesUsedUp }),
    )
  })
}

function pump(from: Duplex, to: Duplex, count: (bytes: number) => boolean, stop: () => void): void {
  from.on('data', (bytes: Buffer) => count(bytes.length) || stop())
  from.pipe(to)
}

/** Returns why a connection with this opening is refused. */
function judgeOpening(target: Target, opening: Opening): Refusal | undefined {
  const { host, port, rule } = target
  if (opening.kind === 'http') return undefined
  if (opening.kind === 'other')
    return rule.namesPort === true && !target.inspected
      ? undefined
      : { refused: 'protocol_refused', host, port, rule: rule.text }
  const { serverName, encrypted } = opening.hello
  const refuse = (detail: string): Refusal => ({
    refused: 'server_name_mismatch',
    host,
    port,
    rule: rule.text,
    detail,
  })
  if (encrypted) return refuse('it hides the name of the server (Encrypted Client Hello).')
  if (isIP(host) !== 0) return serverName === undefined ? undefined : refuse(`it asks for ${serverName}.`)
  if (serverName === undefined) return refuse('it does not name the server (SNI).')
  return serverName.replace(/\.$/, '') === host ? undefined : refuse(`it asks for ${serverName}.`)
}
