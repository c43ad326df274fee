import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, createServer as createSocketServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import {
  type AhpOptions,
  type AhpTransport,
  HttpTransport,
  StdioTransport,
  UnixSocketTransport,
  WebSocketTransport,
} from '../../src/supervise/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export type PeerEvent = {
  readonly event_type: string
  readonly session_id: string
  readonly agent_id: string
  readonly timestamp: string
  readonly depth: number
  readonly payload: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
}
export type Message = { readonly id?: string; readonly method: string; readonly params: never }
/** What a peer answers; a text is sent as it is, undefined is never answered. */
export type Decide = (event: PeerEvent) => unknown

export type PeerOptions = {
  readonly decide?: Decide
  readonly capabilities?: readonly string[]
  readonly config?: object
}

/** A supervisor in this process, with all that it heard. */
export type Peer = {
  readonly transport: (token?: string, options?: AhpOptions) => AhpTransport
  readonly messages: Message[]
  readonly headers: IncomingMessage['headers'][]
  /** Events in the order in which they came, those of batches too. */
  events(type?: string): PeerEvent[]
  /** Cuts every connection, and takes no more. */
  stop(): Promise<void>
  start(): Promise<void>
}

export const kinds = ['http', 'websocket', 'unix_socket'] as const

/** Starts a supervisor that listens in this way. */
export async function startPeer(kind: (typeof kinds)[number], options: PeerOptions = {}): Promise<Peer> {
  const messages: Message[] = []
  const headers: IncomingMessage['headers'][] = []
  const answer = (text: string): Promise<string | undefined> => answerTo(text, messages, options)
  const listening = await listen(kind, answer, headers)
  onTestFinished(() => listening.stop())
  return {
    messages,
    headers,
    transport: listening.transport,
    events: (type) =>
      messages
        .flatMap(({ method, params }) => eventsIn(method, params))
        .filter(({ event_type }) => type === undefined || event_type === type),
    stop: listening.stop,
    start: listening.start,
  }
}

function eventsIn(method: string, params: never): PeerEvent[] {
  if (method === 'ahp/event') return [params]
  return method === 'ahp/batch' ? (params as { events: PeerEvent[] }).events : []
}

async function answerTo(
  text: string,
  messages: Message[],
  { decide, capabilities, config }: PeerOptions,
): Promise<string | undefined> {
  const message = JSON.parse(text) as Message
  messages.push(message)
  const { id, method, params } = message
  if (id === undefined) return undefined
  const reply = (result: unknown): string => JSON.stringify({ jsonrpc: '2.0', id, result })
  if (method === 'ahp/batch') return reply({ decisions: [] })
  if (method === 'ahp/handshake')
    return reply({
      protocol_version: '2.4',
      harness_info: { name: 'peer', version: '1', capabilities: capabilities ?? everything },
      ...(config !== undefined && { config }),
    })
  const result = await (decide?.(params) ?? { decision: 'allow' })
  if (result === never) return undefined
  return typeof result === 'string' ? result : reply(result)
}

/** For a peer that gives no answer. */
export const never = Symbol('never')

const everything = [
  'pre_action',
  'pre_prompt',
  'planning',
  'memory_recall',
  'confirmation',
  'rate_limit',
  'batch',
]

type Listening = Pick<Peer, 'transport' | 'stop' | 'start'>
type AnswerText = (text: string) => Promise<string | undefined>

async function listen(
  kind: (typeof kinds)[number],
  answer: AnswerText,
  headers: IncomingMessage['headers'][],
): Promise<Listening> {
  if (kind === 'unix_socket') return listenOnSocket(answer)
  return kind === 'http' ? listenOnHttp(answer, headers) : listenOnWebSocket(answer, headers)
}

async function listenOnHttp(answer: AnswerText, headers: IncomingMessage['headers'][]): Promise<Listening> {
  const server = createServer(async (request, response) => {
    headers.push(request.headers)
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    const said = await answer(text)
    if (said !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(said)
    else if (JSON.parse(text).id === undefined) response.writeHead(204).end()
  })
  const { port, stop, start } = await onPort(server)
  return {
    transport: (token, options) => new HttpTransport(`http://127.0.0.1:${port}/ahp`, token, options),
    stop,
    start,
  }
}

async function listenOnWebSocket(
  answer: AnswerText,
  headers: IncomingMessage['headers'][],
): Promise<Listening> {
  const server = createServer()
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket, request) => {
    headers.push(request.headers)
    socket.on('message', async (data) => {
      const said = await answer(String(data))
      if (said !== undefined) socket.send(said)
    })
  })
  const { port, stop, start } = await onPort(server)
  return {
    transport: (token, options) => new WebSocketTransport(`ws://127.0.0.1:${port}/ahp`, token, options),
    start,
    stop: async () => {
      for (const socket of sockets.clients) socket.terminate()
      await stop()
    },
  }
}

async function onPort(
  server: Server,
): Promise<{ port: number; stop(): Promise<void>; start(): Promise<void> }> {
  const up = (port: number): Promise<void> =>
    new Promise((settle) => server.listen(port, '127.0.0.1', settle))
  await up(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    start: () => up(port),
    stop: () =>
      new Promise((settle) => {
        server.close(() => settle())
        server.closeAllConnections()
      }),
  }
}

async function listenOnSocket(answer: AnswerText): Promise<Listening> {
  const directory = temporaryDirectory()
  const path = join(directory, 's')
  const connected = new Set<Socket>()
  const server = createSocketServer((socket) => {
    connected.add(socket)
    let rest = ''
    socket.on('error', () => socket.destroy())
    socket.on('close', () => connected.delete(socket))
    socket.on('data', async (chunk: Buffer) => {
      const lines = (rest + chunk.toString('utf8')).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const said = await answer(line)
        if (said !== undefined) socket.write(`${said}\n`)
      }
    })
  })
  const start = (): Promise<void> => new Promise((settle) => server.listen(path, settle))
  await start()
  return {
    transport: (_, options) => new UnixSocketTransport(path, options),
    start,
    stop: () =>
      new Promise((settle) => {
        server.close(() => settle())
        for (const socket of connected) socket.destroy()
      }),
  }
}

/** Our own supervisor program that misbehaves; `word` is in its arguments, so that its processes can be found. */
export function badPeer(
  how: string,
  word = '',
  options: ConstructorParameters<typeof StdioTransport>[2] = {},
): StdioTransport {
  return new StdioTransport(process.execPath, [peerEntry, how, word], options)
}

const peerEntry = fileURLToPath(new URL('peer.mjs', import.meta.url))
export const sampleEntry = fileURLToPath(new URL('../../examples/supervisor/supervisor.mjs', import.meta.url))
