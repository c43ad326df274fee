import { createConnection } from 'node:net'
import { Lines } from '../../feature/lines.js'
import { messageOf } from '../../tool/errors.js'
import { SupervisionError } from '../errors.js'
import { settingsOf, type UnixSocketTransport } from '../transport.js'
import { maxUnread, type OpenWire } from './wire.js'

/** Connects to a Unix socket of this machine and exchanges lines over it. */
export function openUnixSocket(transport: UnixSocketTransport): OpenWire {
  const { maxMessageBytes, timeoutMs } = settingsOf(transport)
  return (events, signal) =>
    new Promise((resolve, reject) => {
      const socket = createConnection({ path: transport.path })
      const lines = new Lines((line) => void events.message(line), maxMessageBytes)
      let why: string | undefined
      const timer = setTimeout(
        () => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)),
        timeoutMs,
      )
      const stop = (): void => void socket.destroy()
      signal.addEventListener('abort', stop, { once: true })
      const gone = new Promise<void>((settle) => socket.once('close', () => settle()))
      socket.once('connect', () => {
        clearTimeout(timer)
        // An idle connection must not keep the host process alive; a caller that waits for an answer does.
        socket.unref()
        resolve({
          send(text) {
            if (socket.writableLength > maxUnread * maxMessageBytes)
              throw new SupervisionError('supervision_protocol', 'it does not read its input')
            socket.write(`${text}\n`)
          },
          async close() {
            why ??= 'it was disconnected'
            socket.destroySoon()
            const kill = setTimeout(() => socket.destroy(), farewellMs)
            await gone
            clearTimeout(kill)
          },
        })
      })
      socket.on('data', (chunk: Buffer) => {
        const problem = why === undefined ? lines.add(chunk) : undefined
        if (problem !== undefined) {
          why = problem
          socket.destroy()
        }
      })
      socket.on('error', (error) => {
        why ??= messageOf(error)
      })
      socket.on('close', () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', stop)
        events.closed(why ?? 'it closed the connection')
        // Has no effect once the socket is connected.
        reject(new SupervisionError('supervision_unavailable', why ?? 'it closed the connection'))
      })
    })
}

const farewellMs = 500
