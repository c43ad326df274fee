import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Seen = {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly rpc?: string
}
export type HttpServer = {
  readonly url: string
  readonly origin: string
  readonly seen: Seen[]
  close(): Promise<void>
}
type Rpc = { id?: number; method?: string; params?: { arguments?: { message?: string } } }
/** True when it has answered itself. */
export type Behave = (
  rpc: Rpc | undefined,
  request: IncomingMessage,
  response: ServerResponse,
) => boolean | undefined

/** A server over HTTP that does what is right, but for what `behave` takes on itself. */
export async function startHttp(behave: Behave = () => undefined): Promise<HttpServer> {
  const seen: Seen[] = []
  let sessions = 0
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const rpc = body.startsWith('{') ? (JSON.parse(body) as Rpc) : undefined
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      ...(rpc?.method !== undefined && { rpc: rpc.method }),
    })
    if (behave(rpc, request, response)) return
    if (request.method !== 'POST' || rpc === undefined) return void response.writeHead(405).end()
    if (rpc.id === undefined) return void response.writeHead(202).end()
    const extra = rpc.method === 'initialize' ? { 'mcp-session-id': `session-${++sessions}` } : {}
    response.writeHead(200, { 'content-type': 'application/json', ...extra })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, result: resultOf(rpc) }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `${origin}/mcp`,
    origin,
    seen,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

export function resultOf({ method, params }: Rpc): object {
  if (method === 'initialize')
    return {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'http', version: '1' },
    }
  if (method === 'tools/list') return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] }
  return { content: [{ type: 'text', text: `Echo: ${params?.arguments?.message ?? ''}` }] }
}

async function text(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
