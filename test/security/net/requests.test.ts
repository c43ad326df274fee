import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { sharedDirectory } from '../../support/temporary-directory.js'
import { fetchOnFakeInternet, listening, type Running, serve } from './fake-internet.js'

let running: Running[] = []
afterEach(async () => {
  vi.unstubAllEnvs()
  await Promise.all(running.map((each) => each.close()))
  running = []
})

describe('the content of a request', () => {
  it('is only what was given: no cookies, no proxy, no data about this machine', async () => {
    const seen: IncomingHttpHeaders[] = []
    const server = await serve((request, response) => {
      seen.push(request.headers)
      response.writeHead(200, { 'set-cookie': 'session=1' }).end('ok')
    })
    running.push(server)
    const proxy = `http://127.0.0.1:1`
    for (const name of ['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']) vi.stubEnv(name, proxy)
    const net = fetchOnFakeInternet()
    const first = await net.fetch(`http://host.example:${server.port}/`)
    await net.fetch(`http://host.example:${server.port}/`)
    expect(first.headers).not.toHaveProperty('set-cookie')
    expect(seen[1]).toEqual({
      accept: '*/*',
      'accept-encoding': 'gzip, deflate, br',
      connection: 'close',
      host: `host.example:${server.port}`,
      'user-agent': 'capstan',
    })
    expect(JSON.stringify(seen)).not.toContain(hostname())
  })

  it.each([
    ['Host', 'evil.example'],
    ['Transfer-Encoding', 'chunked'],
    ['content-length', '3'],
    ['Connection', 'upgrade'],
    ['Proxy-Authorization', 'x'],
    ['x-a', 'b\r\nhost: evil.example'],
    ['x a', 'b'],
  ])('does not include the header %j with %j from a caller', async (name, value) => {
    const net = fetchOnFakeInternet()
    const outcome = net.fetch('http://host.example/', { headers: { [name]: value } })
    await expect(outcome).rejects.toMatchObject({ code: 'net_request_invalid' })
    expect(net.dialled).toEqual([])
  })

  it.each([['CONNECT'], ['TRACE'], ['GET / HTTP/1.1\r\nx: y']])(
    'does not include the method %j',
    async (method) => {
      const outcome = fetchOnFakeInternet().fetch('http://host.example/', { method })
      await expect(outcome).rejects.toMatchObject({ code: 'net_request_invalid' })
    },
  )
})

describe('TLS', () => {
  const directory = sharedDirectory()
  let certificate = ''
  let key = ''
  beforeAll(() => {
    const args =
      'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=host.example'
    execFileSync(
      'openssl',
      [...args.split(' '), '-addext', 'subjectAltName=DNS:host.example', '-keyout', 'key', '-out', 'cert'],
      { cwd: directory, stdio: 'ignore' },
    )
    certificate = readFileSync(join(directory, 'cert'), 'utf8')
    key = readFileSync(join(directory, 'key'), 'utf8')
  })

  async function secure(): Promise<Running> {
    const server = await listening(
      createTlsServer({ cert: certificate, key }, (request, response) => {
        if (request.url === '/down') response.writeHead(302, { location: 'http://host.example/' }).end()
        else response.end('secure')
      }),
    )
    running.push(server)
    return server
  }

  it('connects to a server whose certificate matches its name', async () => {
    const server = await secure()
    const net = fetchOnFakeInternet({ trustedCertificates: certificate })
    const response = await net.fetch(`https://host.example:${server.port}/`)
    expect(Buffer.from(response.body).toString()).toBe('secure')
  })

  it('refuses a certificate that is not trusted, whatever the environment says', async () => {
    const server = await secure()
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    const outcome = fetchOnFakeInternet().fetch(`https://host.example:${server.port}/`)
    await expect(outcome).rejects.toMatchObject({ code: 'net_tls' })
  })

  it('refuses a certificate for another name, and one for an address', async () => {
    const server = await secure()
    const net = fetchOnFakeInternet({ trustedCertificates: certificate })
    await expect(net.fetch(`https://other.example:${server.port}/`)).rejects.toMatchObject({
      code: 'net_tls',
    })
    await expect(net.fetch(`https://93.184.216.34:${server.port}/`)).rejects.toMatchObject({
      code: 'net_tls',
    })
  })

  it('SEC-161: refuses a redirect from https to http', async () => {
    const server = await secure()
    const net = fetchOnFakeInternet({ trustedCertificates: certificate })
    await expect(net.fetch(`https://host.example:${server.port}/down`)).rejects.toThrow('https to http')
  })
})
