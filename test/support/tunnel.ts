/** A provider over TLS with a certificate that only the test trusts, and an HTTP proxy in front of it. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** The name in the certificate. It cannot be resolved; the proxy connects it to this machine. */
export const secureHost = 'model.example'

/** The password of the proxy, with a character that URLs escape. */
export const proxyPassword = 'hidden-word/7'

/** Writes `cert` and `key` to the directory, and returns the path of the certificate. */
export function writeCertificate(directory: string): string {
  const args =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=model.example'
  const names = ['-addext', `subjectAltName=DNS:${secureHost}`, '-keyout', 'key', '-out', 'cert']
  execFileSync('openssl', [...args.split(' '), ...names], { cwd: directory, stdio: 'ignore' })
  return join(directory, 'cert')
}

/** Listens with the certificate of the directory; returns the port. */
export function listenSecurely(directory: string, handler: RequestListener): Promise<number> {
  const [cert, key] = ['cert', 'key'].map((name) => readFileSync(join(directory, name), 'utf8'))
  return listenUntilDone(createTlsServer({ cert, key }, handler))
}

/** Listens on loopback until the test is over; returns the port. */
export async function listenUntilDone(server: Server & { closeAllConnections?(): void }): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections?.()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

export type Proxy = {
  readonly url: string
  /** The first line and the credentials of each request. */
  readonly asked: { readonly line: string; readonly authorization: string | undefined }[]
  readonly sockets: Socket[]
}

/** An HTTP proxy that connects every name to this machine. `answers` replace its first responses to CONNECT. */
export async function startProxy(...answers: readonly (number | 'hang')[]): Promise<Proxy> {
  const asked: Proxy['asked'] = []
  const sockets: Socket[] = []
  const note = ({ method, url, headers }: IncomingMessage): void => {
    asked.push({ line: `${method} ${url}`, authorization: headers['proxy-authorization'] })
  }
  const server = createServer((request, response) => {
    note(request)
    const { port, pathname } = new URL(request.url ?? '')
    const { 'proxy-authorization': _, ...headers } = request.headers
    const onwards = httpRequest({ host: '127.0.0.1', port, path: pathname, method: 'POST', headers })
    onwards.on('response', (reply) => reply.pipe(response.writeHead(reply.statusCode ?? 0, reply.headers)))
    request.pipe(onwards)
  })
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    const answer = answers[asked.length]
    note(request)
    sockets.push(socket)
    socket.on('error', () => socket.destroy())
    if (answer === 'hang') {
      socket.resume().on('end', () => socket.destroy())
      return
    }
    if (answer !== undefined) {
      socket.end(`HTTP/1.1 ${answer} Refused ${proxyPassword}\r\n\r\n`)
      return
    }
    const onwards = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      socket.pipe(onwards).pipe(socket)
    })
    onwards.on('error', () => socket.destroy())
    socket.on('close', () => onwards.destroy())
    onwards.on('close', () => socket.destroy())
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  const port = await listenUntilDone(server)
  return { url: `http://user:${encodeURIComponent(proxyPassword)}@127.0.0.1:${port}`, asked, sockets }
}
