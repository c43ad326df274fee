import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createRawServer, type Server as RawServer, type Socket } from 'node:net'
import type { RuntimeNet } from '../../../src/tool/runtime.js'
import { createGuardedFetch, type GuardedFetchOptions } from '../../../src/workspace/net/index.js'
import type { Resolver } from '../../../src/workspace/net/resolve.js'

/** Addresses that the guard takes for public ones; the wire of the tests leads all of them to loopback. */
export const publicAddress = '93.184.216.34'
export const otherPublicAddress = '93.184.216.35'

/** The guard as in production, on an internet where every public address is this machine. */
export function fetchOnFakeInternet(
  options: Partial<GuardedFetchOptions> & { resolver?: Resolver; trustedCertificates?: string } = {},
): RuntimeNet & { readonly dialled: string[] } {
  const { resolver, trustedCertificates, ...rest } = options
  const dialled: string[] = []
  const net = createGuardedFetch(
    { permitHost: () => undefined, timeoutMs: 60_000, ...rest },
    {
      resolver: resolver ?? (async () => [{ address: publicAddress, family: 4 }]),
      reach(address) {
        dialled.push(address)
        return { address: '127.0.0.1', family: 4 }
      },
      ...(trustedCertificates === undefined ? {} : { trustedCertificates }),
    },
  )
  return { ...net, dialled }
}

export type Running = {
  readonly port: number
  readonly close: () => Promise<void>
  readonly connections: () => number
}

export async function serve(listener: RequestListener): Promise<Running> {
  return listening(createServer(listener))
}

/** A server that speaks whatever bytes the test wants. */
export async function serveRaw(onConnection: (socket: Socket) => void): Promise<Running> {
  return listening(
    createRawServer((socket) => {
      socket.on('error', () => socket.destroy())
      onConnection(socket)
    }),
  )
}

export async function listening(server: Server | RawServer): Promise<Running> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
