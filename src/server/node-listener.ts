import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { type ProblemCode, ProblemError, problemResponse } from './problem.js'

/** A standard fetch handler. */
export type FetchHandler = (request: Request) => Promise<Response>

/**
 * Converts a fetch handler for `node:http`, Express and everything else that calls `(request, response)`. Express must
 * not have read the body before.
 *
 * @example
 * app.use('/agent', toNodeListener(createServer(agent, options)))
 */
export function toNodeListener(
  handler: FetchHandler,
): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  return async (incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    outgoing.on('error', () => gone.abort())
    incoming.on('error', () => gone.abort())
    const request = requestFrom(incoming, gone.signal)
    try {
      const refusal = new ProblemError('invalid_request', 'The address of the request is not valid.')
      const response = request === undefined ? problemResponse(refusal) : await handler(request)
      await respond(response, incoming, outgoing)
    } catch {
      // The handler responds to its own failures, so this error is a broken connection.
      outgoing.destroy()
    }
  }
}

/** The address of a handler, and its maximum number of connections. */
export type ListenOptions = {
  /** The port; 0 picks a free one. */
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly maxConnections?: number | undefined
}

/** A server that is listening. */
export type Listening = {
  readonly url: string
  readonly server: Server
  /** Accepts no more connections, and closes the open ones. */
  close(): Promise<void>
}

/** Serves a fetch handler with `node:http`, with limits for headers, slow requests and connections. */
export async function listen(
  handler: FetchHandler,
  { port = 4747, host = '127.0.0.1', maxConnections = 2_000 }: ListenOptions = {},
): Promise<Listening> {
  const server = createServer(
    {
      maxHeaderSize: 16 * 1024,
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 5_000,
      connectionsCheckingInterval: 2_000,
    },
    (request, response) => void toNodeListener(handler)(request, response),
  )
  server.maxConnections = maxConnections
  server.on('clientError', refuseConnection)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { port: chosen } = server.address() as AddressInfo
  const shown = host.includes(':') ? `[${host}]` : host
  return {
    url: `http://${shown}:${chosen}`,
    server,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Responds to a request that could not be parsed, and closes its connection. */
function refuseConnection(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const code: ProblemCode =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'headers_too_large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? 'request_timeout'
        : 'invalid_request'
  void writeRefusal(code, socket).catch(() => socket.destroy())
}

async function writeRefusal(code: ProblemCode, socket: Duplex): Promise<void> {
  const response = problemResponse(new ProblemError(code))
  const body = await response.text()
  const { status, headers } = response
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    ...[...headers].map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  // A connection that is closed with unread data is reset, and its client does not get the response.
  socket.resume()
  await Promise.race([new Promise((resolve) => socket.once('close', resolve)), patience()])
  socket.destroy()
}

function requestFrom(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const headers = new Headers()
  try {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    const host = headers.get('host') ?? 'localhost'
    const address = new URL(url.startsWith('/') ? `http://${host}${url}` : url)
    // An absolute request target contains a host, which must match the header.
    if (address.host !== new URL(`http://${host}`).host) return undefined
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return new Request(address, {
      method,
      headers,
      signal,
      ...(hasBody && { body: bodyOf(incoming), duplex: 'half' }),
    } as RequestInit)
  } catch {
    return undefined
  }
}

/** Returns the body, which is read on demand. Cancelling it leaves the connection open for the response. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = incoming.iterator({ destroyOnReturn: false })
  return new ReadableStream(
    {
      async pull(controller) {
        const { value, done } = await chunks.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

async function respond(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) outgoing.setHeader(name, value)
  if (!incoming.complete && response.status >= 400) return refuseBody(response, incoming, outgoing)
  if (response.body === null || incoming.method === 'HEAD') {
    await response.body?.cancel()
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader()
  const leave = (): void => void reader.cancel().catch(() => undefined)
  outgoing.once('close', leave)
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
  } finally {
    outgoing.off('close', leave)
  }
  if (outgoing.destroyed) leave()
  else outgoing.end()
}

/**
 * Responds to a request whose body was not read to its end. The client is still sending, and gets the response only if
 * the connection stays open, so the rest is read and discarded for a limited time.
 */
async function refuseBody(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer())
  outgoing.setHeader('connection', 'close')
  outgoing.setHeader('content-length', body.length)
  outgoing.write(body)
  incoming.resume()
  const ended = new Promise((resolve) => {
    incoming.once('end', resolve)
    incoming.once('close', resolve)
  })
  await Promise.race([ended, patience()])
  outgoing.end()
}

/** How long the rest of a rejected request is read. */
const patienceMs = 5_000

function patience(): Promise<void> {
  return wait(patienceMs, undefined, { ref: false })
}

/** A client that reads nothing for this long is disconnected. */
const stallMs = 120_000

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => outgoing.destroy(), stallMs)
    timer.unref()
    const done = (): void => {
      clearTimeout(timer)
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.once('drain', done)
    outgoing.once('close', done)
  })
}
