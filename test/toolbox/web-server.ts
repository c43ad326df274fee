import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { ToolCallContext } from '../../src/tool/contract.js'
import { createGuardedFetch } from '../../src/workspace/net/index.js'

export type WebServer = {
  readonly url: string
  readonly host: string
  readonly requests: IncomingMessage[]
  close(): Promise<void>
}

/** A web server on loopback that answers as a test wants it to. */
export async function webServer(listener: RequestListener): Promise<WebServer> {
  const requests: IncomingMessage[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    requests.push(request)
    response.on('error', () => response.destroy())
    listener(request, response)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}`,
    host,
    requests,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** A call's context with the guarded network, on which only the named servers may be reached. */
export function webContext(
  servers: readonly { readonly host: string }[],
  context: ToolCallContext = {},
): ToolCallContext {
  const hosts = servers.map(({ host }) => host)
  const net = createGuardedFetch({
    permitHost: (host, port) => (hosts.includes(`${host}:${port}`) ? undefined : 'the host is not granted'),
    allowPrivate: hosts,
    timeoutMs: 60_000,
  })
  return { ...context, runtime: { net, ...context.runtime } }
}
