import { Backoff, doublingPause } from '../feature/backoff.js'
import { SupervisionError } from './errors.js'
import { type Agreement, handshakeOf, readHandshake, type Supervised } from './handshake.js'
import type { Peer } from './peer.js'
import { asSupervisionError } from './stream-peer.js'
import { type AhpTransport, settingsOf } from './transport.js'
import type { OpenWire } from './wire/wire.js'

/** A supervisor after the handshake. */
export type Linked = { readonly peer: Peer; readonly agreed: Agreement }

/** The connection to a supervisor: opened on first use, and opened again on the next use after it was lost. */
export class Connection {
  readonly #transport: AhpTransport
  readonly #who: Supervised
  readonly #backoff: Backoff
  #linking: Promise<Linked> | undefined
  #linked: Linked | undefined
  #problem: SupervisionError | undefined
  readonly #closing = new AbortController()

  constructor(transport: AhpTransport, who: Supervised) {
    this.#transport = transport
    this.#who = who
    this.#backoff = new Backoff(doublingPause(settingsOf(transport).reconnectMs))
  }

  get isUp(): boolean {
    return this.#linked !== undefined && this.#linked.peer.gone === undefined
  }

  /** The last error of the connection. */
  get problem(): SupervisionError | undefined {
    return this.isUp ? undefined : this.#problem
  }

  get agreed(): Agreement | undefined {
    return this.#linked?.agreed
  }

  /** Returns the connection. Rejects with a `SupervisionError`, immediately while the next attempt is not due. */
  async link(): Promise<Linked> {
    if (this.#closing.signal.aborted)
      throw new SupervisionError('supervision_unavailable', 'the session is closed')
    if (this.#linked !== undefined && this.#linked.peer.gone === undefined) return this.#linked
    if (this.#linking !== undefined) return this.#linking
    const { leftMs } = this.#backoff
    if (leftMs > 0) throw this.#notYet(leftMs)
    this.#linking = this.#make().finally(() => {
      this.#linking = undefined
    })
    return this.#linking
  }

  /** Resets the backoff, because the supervisor has answered. */
  answered(): void {
    this.#backoff.succeeded()
  }

  async close(): Promise<void> {
    const linking = this.#linking
    // A connection that is being opened is aborted; an open one is closed properly.
    if (!this.isUp) this.#closing.abort()
    await linking?.catch(() => undefined)
    await this.#linked?.peer.close()
    this.#closing.abort()
  }

  #notYet(leftMs: number): SupervisionError {
    const { code = 'supervision_unavailable', message = this.#linked?.peer.gone } = this.#problem ?? {}
    return new SupervisionError(code, `${message ?? 'it was lost'}; it is tried again in ${leftMs} ms`)
  }

  async #make(): Promise<Linked> {
    const { timeoutMs } = settingsOf(this.#transport)
    const before = this.#linked?.peer
    const { signal } = this.#closing
    let peer: Peer | undefined
    try {
      // What is left of the lost connection, such as its process, ends before a new one is opened.
      await before?.close()
      peer = await openPeer(this.#transport, signal)
      const answer = await peer.request('ahp/handshake', handshakeOf(this.#who), { timeoutMs, signal })
      const linked = { peer, agreed: readHandshake(answer, timeoutMs) }
      this.#linked = linked
      this.#problem = undefined
      signal.throwIfAborted()
      // Counted as a failure until the first answer: a supervisor that dies of every request is not restarted for
      // each of them.
      this.#backoff.failed()
      return linked
    } catch (error) {
      this.#linked = undefined
      this.#problem = whyNotLinked(asSupervisionError(error))
      this.#backoff.failed()
      await peer?.close()
      throw this.#problem
    }
  }
}

/** Before the handshake, no question was sent, so a lost connection counts as unavailable. */
function whyNotLinked(error: SupervisionError): SupervisionError {
  const { code, message } = error
  return code === 'supervision_lost' ? new SupervisionError('supervision_unavailable', message) : error
}

/** Opens a connection; the code of each transport is loaded on first use. */
async function openPeer(transport: AhpTransport, signal: AbortSignal): Promise<Peer> {
  if (transport.kind === 'http') {
    const { HttpPeer } = await import('./http-peer.js')
    return HttpPeer.open(transport)
  }
  const { StreamPeer } = await import('./stream-peer.js')
  return StreamPeer.open(await wireFor(transport), settingsOf(transport).maxMessageBytes, signal)
}

async function wireFor(transport: Exclude<AhpTransport, { kind: 'http' }>): Promise<OpenWire> {
  switch (transport.kind) {
    case 'stdio':
      return (await import('./wire/stdio.js')).openStdio(transport)
    case 'unix_socket':
      return (await import('./wire/unix-socket.js')).openUnixSocket(transport)
    case 'websocket':
      return (await import('./wire/websocket.js')).openWebSocket(transport)
  }
}
