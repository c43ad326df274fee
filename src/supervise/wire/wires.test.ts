import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { type AhpOptions, UnixSocketTransport, WebSocketTransport } from '../transport.js'
import { openUnixSocket } from './unix-socket.js'
import { openWebSocket } from './websocket.js'
import type { OpenWire, Wire } from './wire.js'

/** The other side of a connection: what it says, what it heard, and how it ends. */
type Other = { say(text: string): void; heard: string[]; cut(): void }
type Listening = { readonly open: (options?: AhpOptions) => OpenWire; other(): Promise<Other> }

async function onSocket(): Promise<Listening> {
  const directory = temporaryDirectory()
  const path = join(directory, 'guard')
  const sockets: Socket[] = []
  const others: Other[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    const heard: string[] = []
    socket.on('error', () => undefined)
    socket.setEncoding('utf8').on('data', (text: string) => void heard.push(...text.trimEnd().split('\n')))
    others.push({ say: (text) => void socket.write(`${text}\n`), heard, cut: () => socket.destroy() })
  })
  await new Promise<void>((listening) => server.listen(path, listening))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    open: (options) => openUnixSocket(new UnixSocketTransport(path, options)),
    other: () => first(others),
  }
}

async function onWebSocket(): Promise<Listening> {
  const others: Other[] = []
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  server.on('connection', (socket) => {
    const heard: string[] = []
    socket.on('message', (data) => void heard.push(String(data)))
    others.push({ say: (text) => socket.send(text), heard, cut: () => socket.terminate() })
  })
  await new Promise((listening) => server.once('listening', listening))
  onTestFinished(() => {
    for (const client of server.clients) client.terminate()
    server.close()
  })
  const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    open: (options) => openWebSocket(new WebSocketTransport(url, undefined, options)),
    other: () => first(others),
  }
}

async function first(others: readonly Other[]): Promise<Other> {
  await expect.poll(() => others.length).toBeGreaterThan(0)
  const [other] = others
  if (other === undefined) throw new Error('nothing was connected')
  return other
}

async function connect(open: OpenWire, signal = new AbortController().signal) {
  const messages: string[] = []
  const ends: string[] = []
  const wire: Wire = await open(
    { message: (text) => void messages.push(text), closed: (why) => void ends.push(why) },
    signal,
  )
  onTestFinished(() => wire.close())
  return { wire, messages, ends }
}

describe.each([
  ['a Unix socket', onSocket],
  ['a WebSocket', onWebSocket],
])('a wire over %s', (_, listen) => {
  it('carries messages both ways, complete and in order', async () => {
    const { open, other } = await listen()
    const { wire, messages } = await connect(open())
    const peer = await other()
    for (const text of ['one', 'zwei \u{1f6a2}', 'x'.repeat(100_000)]) {
      wire.send(text)
      peer.say(text)
    }
    await expect.poll(() => peer.heard.join('').length).toBe(100_000 + 'onezwei \u{1f6a2}'.length)
    await expect.poll(() => messages).toEqual(['one', 'zwei \u{1f6a2}', 'x'.repeat(100_000)])
  })

  it('reports once why it ended when the other side closes it', async () => {
    const { open, other } = await listen()
    const { ends } = await connect(open())
    ;(await other()).cut()
    await expect.poll(() => ends).toHaveLength(1)
    expect(ends[0]).toMatch(/closed the connection/)
  })

  it('ends at a message that is too long', async () => {
    const { open, other } = await listen()
    const { ends, messages } = await connect(open({ maxMessageBytes: 1_024 }))
    ;(await other()).say('x'.repeat(5_000))
    await expect.poll(() => ends).toEqual(['it sent a message of more than 1024 bytes'])
    expect(messages).toEqual([])
  })

  it('reports that it was disconnected when this side closes it, however often', async () => {
    const { open } = await listen()
    const { wire, ends } = await connect(open())
    await wire.close()
    await wire.close()
    expect(ends).toEqual(['it was disconnected'])
  })

  it('rejects more messages to a supervisor that does not read', async () => {
    const { open } = await listen()
    const { wire } = await connect(open({ maxMessageBytes: 1_024 }))
    expect(() => {
      for (let n = 0; n < 1_000_000; n++) wire.send('x'.repeat(1_000))
    }).toThrow('it does not read its input')
  })

  it('is closed when the session aborts it', async () => {
    const { open } = await listen()
    const controller = new AbortController()
    const { ends } = await connect(open(), controller.signal)
    controller.abort()
    await expect.poll(() => ends).toHaveLength(1)
  })
})

describe('opening a wire', () => {
  it('fails with the reason when no server listens', async () => {
    const socket = openUnixSocket(new UnixSocketTransport(join(tmpdir(), 'capstan-nothing-here')))
    await expect(connect(socket)).rejects.toMatchObject({
      code: 'supervision_unavailable',
      message: expect.stringContaining('ENOENT'),
    })
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    await new Promise((listening) => server.once('listening', listening))
    const { port } = server.address() as AddressInfo
    await new Promise((closed) => server.close(closed))
    const web = openWebSocket(new WebSocketTransport(`ws://127.0.0.1:${port}`))
    await expect(connect(web)).rejects.toMatchObject({ code: 'supervision_unavailable' })
  })

  it('fails with a refusal when the token is not accepted', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1', verifyClient: () => false })
    await new Promise((listening) => server.once('listening', listening))
    onTestFinished(() => void server.close())
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    await expect(connect(openWebSocket(new WebSocketTransport(url, 'wrong')))).rejects.toMatchObject({
      code: 'supervision_refused',
      message: 'it did not accept the token (HTTP 401)',
    })
  })

  it('ends a WebSocket that sends binary messages', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    server.on('connection', (socket) => socket.send(Buffer.from([1, 2, 3])))
    await new Promise((listening) => server.once('listening', listening))
    onTestFinished(() => void server.close())
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { ends, messages } = await connect(openWebSocket(new WebSocketTransport(url)))
    await expect.poll(() => ends).toEqual(['it sent a binary message'])
    expect(messages).toEqual([])
  })
})
