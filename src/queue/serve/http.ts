import { createHash, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { messageOf } from '../../tool/errors.js'
import { parseJsonText } from '../../tool/json-text.js'
import type { TaskBoard } from '../engine.js'
import { QueueError } from '../errors.js'
import { answerWorker } from './worker-protocol.js'

/** Options of `session.serveQueue`. */
export type ServeQueueOptions = {
  /** The secret that workers send: at least 16 characters, not guessable. */
  readonly token: string
  /** The port. Default: 0, any free port. */
  readonly port?: number
  /** The address to listen on. Default: `127.0.0.1`. Any other address needs `allowRemote`. */
  readonly host?: string
  /** Allows other machines to connect. The connection is not encrypted: use a TLS proxy in front of it. */
  readonly allowRemote?: boolean
  /** The maximum size of a result, in bytes. Default: 8 MB. */
  readonly maxBodyBytes?: number
}

/** A running HTTP endpoint for workers. */
export interface QueueDoor {
  readonly url: string
  close(): Promise<void>
}

const minTokenLength = 16
const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/** Serves tasks to workers in other processes: `POST /v1/<method>` with JSON and a bearer token. */
export async function serveHttp(board: TaskBoard, options: ServeQueueOptions): Promise<QueueDoor> {
  const { token, port = 0, host = '127.0.0.1', allowRemote = false } = options
  if (typeof token !== 'string' || token.length < minTokenLength)
    throw new QueueError('queue_config', `token must have at least ${minTokenLength} characters.`)
  if (!loopback.has(host) && !allowRemote)
    throw new QueueError(
      'queue_config',
      `host '${host}' allows other machines to connect. Set allowRemote: true if that is intended.`,
    )
  const server = createServer({ maxHeaderSize: 16 * 1024 }, (request, response) => {
    void answer(board, options, request, response)
  })
  server.listen(port, host)
  await once(server, 'listening')
  return { url: urlOf(server, host), close: () => closeServer(server) }
}

async function answer(
  board: TaskBoard,
  { token, maxBodyBytes = 8 * 1024 * 1024 }: ServeQueueOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const refusal = refuse(request, token)
  if (refusal !== undefined) return send(response, refusal.status, { error: refusal.error }, true)
  try {
    const body = await readBody(request, maxBodyBytes)
    if (body === undefined)
      return send(response, 413, { error: `The body has more than ${maxBodyBytes} bytes.` }, true)
    const method = (request.url ?? '').replace(/^\/v1\//, '')
    const params = parseJsonText(body === '' ? '{}' : body)
    send(response, 200, await answerWorker(board, method, params, { signal: gone.signal }), false)
  } catch (error) {
    send(response, 400, { error: messageOf(error) }, false)
  }
}

/** Checks a request before its body is read. Requests from browser pages are refused even with a valid token. */
function refuse(
  { method, url = '', headers }: IncomingMessage,
  token: string,
): { readonly status: number; readonly error: string } | undefined {
  if (headers.origin !== undefined) return { status: 403, error: 'Browsers are not allowed.' }
  const [scheme = '', shown = ''] = (headers.authorization ?? '').split(' ')
  if (scheme.toLowerCase() !== 'bearer' || !isSame(shown, token))
    return { status: 401, error: 'The bearer token is missing or wrong.' }
  if (method !== 'POST' || !url.startsWith('/v1/'))
    return { status: 404, error: 'Only POST /v1/<method> is supported.' }
  return undefined
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

async function readBody(request: IncomingMessage, most: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > most) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function send(response: ServerResponse, status: number, body: object, last: boolean): void {
  if (response.destroyed) return
  const text = JSON.stringify(body)
  response
    .writeHead(status, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(last && { connection: 'close' }),
    })
    .end(text)
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
