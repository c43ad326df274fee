import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'

export type FetchHandler = (request: Request) => Promise<Response>

/**
 * A fetch handler for `node:http`, Express and whatever else calls `(request, response)`. Express must not have read
 * the body before.
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
    // What is left of a body that was refused is not read.
    outgoing.on('error', () => gone.abort())
    const request = requestFrom(incoming, gone.signal)
    if (request === undefined) {
      outgoing.writeHead(400).end()
      return
    }
    try {
      await respond(await handler(request), incoming, outgoing)
    } catch {
      // The handler answers its own failures: what comes here is a connection that broke.
      outgoing.destroy()
    }
  }
}

export type ListenOptions = {
  /** 0 picks a free one. */
  readonly port?: number | undefined
  readonly host?: string | undefined
  readonly maxConnections?: number | undefined
}

export type Listening = {
  readonly url: string
  readonly server: Server
  /** Takes no more connections, and ends those that are open. */
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

function requestFrom(incoming: IncomingMessage, signal: AbortSignal): Request | undefined {
  const { method = 'GET', url = '/', rawHeaders } = incoming
  const headers = new Headers()
  try {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2)
      headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
    // An absolute target names a host of its own: only its path counts, the host is that of the header.
    const target = new URL(url, 'http://localhost')
    const host = headers.get('host') ?? 'localhost'
    const address = new URL(`${target.pathname}${target.search}`, `http://${host}`)
    const hasBody = method !== 'GET' && method !== 'HEAD'
    return new Request(address, {
      method,
      headers,
      signal,
      ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' }),
    } as RequestInit)
  } catch {
    return undefined
  }
}

async function respond(
  response: Response,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) outgoing.setHeader(name, value)
  // A client whose body was not read to its end would send it all the same.
  if (!incoming.complete && response.status >= 400) outgoing.setHeader('connection', 'close')
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

/** A reader that takes nothing for this long is gone, whatever its connection says. */
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
