import type { Peer } from './peer.js'
import { type AhpTransport, settingsOf } from './transport.js'
import type { OpenWire } from './wire/wire.js'

/** Opens a connection; what each kind needs is loaded with its first use. */
export async function openPeer(transport: AhpTransport, signal: AbortSignal): Promise<Peer> {
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
