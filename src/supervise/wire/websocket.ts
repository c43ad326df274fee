import { messageOf } from '../../tool/errors.js'
import { SupervisionError } from '../errors.js'
import { settingsOf, tokenOf, type WebSocketTransport } from '../transport.js'
import { maxUnread, type OpenWire } from './wire.js'

/** Opens a WebSocket. The token is in a header of the opening request; redirects are not followed. */
export function openWebSocket(transport: WebSocketTransport): OpenWire {
  const { maxMessageBytes, timeoutMs } = settingsOf(transport)
  return async (events, signal) => {
    const { WebSocket } = await import('ws')
    const token = tokenOf(transport)
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(transport.url, {
        headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        maxPayload: maxMessageBytes,
        handshakeTimeout: timeoutMs,
        followRedirects: false,
        perMessageDeflate: false,
      })
      let why: string | undefined
      let refused: SupervisionError | undefined
      const stop = (): void => socket.terminate()
      signal.addEventListener('abort', stop, { once: true })
      const gone = new Promise<void>((settle) => socket.once('close', () => settle()))
      socket.on('upgrade', ({ socket: own }) => own.unref())
      socket.on('unexpected-response', (_, { statusCode = 0 }) => {
        const denied = statusCode === 401 || statusCode === 403
        refused = denied
          ? new SupervisionError('supervision_refused', `it did not accept the token (HTTP ${statusCode})`)
          : new SupervisionError('supervision_protocol', `it answered with HTTP ${statusCode}`)
        socket.terminate()
      })
      socket.on('open', () =>
        resolve({
          send(text) {
            if (socket.bufferedAmount > maxUnread * maxMessageBytes)
              throw new SupervisionError('supervision_protocol', 'it does not read its input')
            socket.send(text)
          },
          async close() {
            why ??= 'it was disconnected'
            socket.close(1000)
            const kill = setTimeout(() => socket.terminate(), farewellMs)
            await gone
            clearTimeout(kill)
          },
        }),
      )
      socket.on('message', (data, isBinary) => {
        if (!isBinary) return events.message(String(data))
        why ??= 'it sent a binary message'
        socket.terminate()
      })
      socket.on('error', (error) => {
        why ??= /max payload/i.test(error.message)
          ? `it sent a message of more than ${maxMessageBytes} bytes`
          : messageOf(error)
      })
      socket.on('close', (code) => {
        signal.removeEventListener('abort', stop)
        const words = why ?? `it closed the connection (${code})`
        events.closed(words)
        // Has no effect once it is open.
        reject(refused ?? new SupervisionError('supervision_unavailable', words))
      })
    })
  }
}

const farewellMs = 500
