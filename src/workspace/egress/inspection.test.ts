import { X509Certificate } from 'node:crypto'
import { createServer as createHttp, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server, Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createCertificateAuthority } from './certificate-authority.js'
import type { NetworkRequest } from './network-request.js'
import { type FilteringProxy, type ProxyOptions, startProxy } from './proxy.js'

const authority = createCertificateAuthority()
const secret = 'Bearer t0ken-of-the-host-0123456789'

type Seen = {
  method?: string | undefined
  url?: string | undefined
  headers: IncomingMessage['headers']
  body: string
}
let seen: Seen[]
let respond: (incoming: IncomingMessage, answer: ServerResponse, body: string) => void
let plain: Server
let secure: Server
let proxy: FilteringProxy
let requests: NetworkRequest[]

beforeEach(async () => {
  // A request of an earlier test may still arrive at its server.
  const mine: Seen[] = []
  seen = mine
  requests = []
  respond = (_incoming, answer) => answer.end('hello')
  const onRequest = (incoming: IncomingMessage, answer: ServerResponse): void => {
    let body = ''
    incoming.on('data', (part) => {
      body += part
    })
    incoming.on('end', () => {
      mine.push({ method: incoming.method, url: incoming.url, headers: incoming.headers, body })
      respond(incoming, answer, body)
    })
  }
  plain = createHttp(onRequest)
  secure = createHttps(
    { SNICallback: (name, done) => done(null, authority.contextFor(name === '' ? 'good.test' : name)) },
    onRequest,
  )
  for (const server of [plain, secure])
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(async () => {
  await proxy.close()
  for (const server of [plain, secure] as unknown as import('node:http').Server[]) {
    server.closeAllConnections()
    server.close()
  }
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port

async function start(options: Partial<ProxyOptions> = {}): Promise<void> {
  proxy = await startProxy({
    socket: join(temporaryDirectory(), 's'),
    allowHosts: [`good.test:${portOf(plain)}`, `good.test:${portOf(secure)}`, `other.test:${portOf(secure)}`],
    checkHost: async () => ({ address: '127.0.0.1' }),
    certificates: authority.certificate,
    onRequest: (one) => requests.push(one),
    ...options,
  })
}

/** A connection through the proxy, after the answer to CONNECT. */
function tunnelTo(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { address } = proxy
    if (!('socket' in address)) return reject(new Error('the proxy has no socket'))
    request({ socketPath: address.socket, method: 'CONNECT', path: `${host}:${port}` })
      .on('connect', (answer, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        if (answer.statusCode === 200) resolve(socket)
        else reject(new Error(String(answer.statusCode)))
      })
      .on('error', reject)
      .end()
  })
}

async function secureTunnel(host: string, servername = host): Promise<TLSSocket> {
  const socket = await tunnelTo(host, portOf(secure))
  const ca = [authority.certificate, proxy.certificate ?? '']
  return new Promise((resolve, reject) => {
    const client = connectTls({ socket, servername, ca }, () => resolve(client))
    client.on('error', reject)
    client.on('close', () => reject(new Error('closed')))
  })
}

/** Everything that comes until the other end closes. */
function talk(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve) => {
    let answer = ''
    socket.setEncoding('latin1').on('data', (part: string) => {
      answer += part
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', () => undefined)
    socket.write(text)
  })
}

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nhost: good.test:${portOf(secure)}\r\n${headers}connection: close\r\n\r\n`
}

function post(path: string, body: string, headers = ''): string {
  return `POST ${path} HTTP/1.1\r\nhost: good.test:${portOf(secure)}\r\ncontent-length: ${body.length}\r\n${headers}connection: close\r\n\r\n${body}`
}

describe('a read-only host', () => {
  it('allows GET over TLS and denies POST, with a certificate of the proxy', async () => {
    await start({ readOnly: true })
    const client = await secureTunnel('good.test')
    expect(client.getPeerCertificate().subjectaltname).toBe('DNS:good.test')
    expect(client.getPeerCertificate().issuer.CN).toContain('Capstan sandbox')
    expect(await talk(client, get('/a?b=c'))).toMatch(/^HTTP\/1.1 200[\s\S]*hello$/)
    expect(await talk(await secureTunnel('good.test'), post('/change', 'x=1'))).toMatch(
      /^HTTP\/1.1 403[\s\S]*read-only/,
    )
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['GET /a?b=c'])
    await proxy.close()
    expect(requests).toEqual([
      expect.objectContaining({
        method: 'GET',
        scheme: 'https',
        host: 'good.test',
        port: portOf(secure),
        verdict: 'allowed',
        status: 200,
        bytesDown: 5,
        rule: `good.test:${portOf(secure)}`,
      }),
      expect.objectContaining({ method: 'POST', verdict: 'refused', code: 'read_only', rule: 'readOnly' }),
    ])
    expect(JSON.stringify(requests)).not.toContain('/a')
  })

  it.each([
    ['a body', 'content-length: 3\r\n', 'abc'],
    ['a body in chunks', 'transfer-encoding: chunked\r\n', '3\r\nabc\r\n0\r\n\r\n'],
    ['another method in a header', 'X-HTTP-Method-Override: DELETE\r\n', ''],
    ['another method in a header that CGI reads as the same', 'X_HTTP_Method_Override: DELETE\r\n', ''],
  ])('denies a GET with %s', async (_name, headers, body) => {
    await start({ readOnly: ['good.test'] })
    const text = `${get('/', headers)}${body}`
    expect(await talk(await secureTunnel('good.test'), text)).toMatch(/^HTTP\/1.1 403/)
    expect(seen).toEqual([])
  })

  it('allows git-upload-pack where gitFetch says so, and git-receive-pack never', async () => {
    const fetchType = 'content-type: application/x-git-upload-pack-request\r\n'
    await start({ readOnly: true })
    expect(
      await talk(await secureTunnel('good.test'), post('/r.git/git-upload-pack', 'x', fetchType)),
    ).toMatch(/ 403 /)
    await proxy.close()
    await start({ readOnly: true, gitFetch: true })
    expect(
      await talk(await secureTunnel('good.test'), post('/r.git/git-upload-pack', 'x', fetchType)),
    ).toMatch(/ 200 /)
    expect(await talk(await secureTunnel('good.test'), post('/r.git/git-upload-pack', 'x'))).toMatch(/ 403 /)
    expect(
      await talk(await secureTunnel('good.test'), post('/r.git/git-receive-pack', 'x', fetchType)),
    ).toMatch(/ 403 /)
    expect(requests.map(({ verdict, rule }) => [verdict, rule])).toContainEqual(['allowed', 'gitFetch'])
  })

  it('does not intercept the TLS of other hosts', async () => {
    await start({ readOnly: ['good.test'] })
    const client = await secureTunnel('other.test')
    const issuer = new X509Certificate(authority.certificate)
    expect(client.getPeerX509Certificate()?.checkIssued(issuer)).toBe(true)
    const own = post('/', 'x').replaceAll('good.test', 'other.test')
    expect(await talk(client, own)).toMatch(/ 200 /)
    await proxy.close()
    expect(requests).toEqual([
      expect.objectContaining({
        method: 'CONNECT',
        scheme: 'tunnel',
        host: 'other.test',
        verdict: 'allowed',
      }),
    ])
  })
})

describe('a secret for one host', () => {
  const secrets = (): ProxyOptions['secrets'] => [
    { host: `good.test:${portOf(secure)}`, header: 'Authorization', value: secret },
  ]

  it('is added to requests over TLS in place of the command’s value, and to no other host', async () => {
    await start({ secrets: secrets() })
    await talk(await secureTunnel('good.test'), get('/', 'authorization: Bearer mine\r\n'))
    await talk(await secureTunnel('other.test'), get('/').replaceAll('good.test', 'other.test'))
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([secret, undefined])
    await proxy.close()
    expect(requests[0]?.secretHeader).toBe('authorization')
    expect(JSON.stringify(requests)).not.toContain('t0ken')
  })

  it('is not sent over plain http, unless the entry says so', async () => {
    const entry = { host: `good.test:${portOf(plain)}`, header: 'x-key', value: secret }
    const text = get('/').replaceAll(String(portOf(secure)), String(portOf(plain)))
    await start({ secrets: [entry] })
    await talk(await tunnelTo('good.test', portOf(plain)), text)
    await proxy.close()
    await start({ secrets: [{ ...entry, plainHttp: true }] })
    await talk(await tunnelTo('good.test', portOf(plain)), text)
    expect(seen.map(({ headers }) => headers['x-key'])).toEqual([undefined, secret])
  })

  it('is not returned to the command: a server that echoes the request shows stars', async () => {
    respond = (incoming, answer) => {
      answer.setHeader('x-echo', String(incoming.headers.authorization))
      const text = JSON.stringify(incoming.headers)
      // In pieces, so that the secret is spread over several reads.
      const cut = text.indexOf('t0ken') + 3
      answer.write(text.slice(0, cut), () => setImmediate(() => answer.end(text.slice(cut))))
    }
    await start({ secrets: secrets() })
    const answer = await talk(
      await secureTunnel('good.test'),
      get('/', 'accept-encoding: gzip\r\nrange: bytes=0-9\r\n'),
    )
    expect(answer).toMatch(/^HTTP\/1.1 200/)
    expect(answer).not.toContain('t0ken')
    expect(answer).toContain('*'.repeat(20))
    expect(seen[0]?.headers).toMatchObject({ 'accept-encoding': 'identity' })
    expect(seen[0]?.headers.range).toBeUndefined()
  })

  it.each([
    ['content-encoding', 'gzip'],
    ['Content-Encoding', 'identity, br'],
    ['transfer-encoding', 'gzip, chunked'],
  ])('is not returned in an answer that is compressed without a request (%s: %s)', async (name, value) => {
    respond = (incoming, answer) => {
      const body = gzipSync(String(incoming.headers.authorization)).toString('latin1')
      incoming.socket.end(
        `HTTP/1.1 200 OK\r\n${name}: ${value}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
        'latin1',
      )
      answer.detachSocket(incoming.socket)
    }
    await start({ secrets: secrets() })
    const answer = await talk(await secureTunnel('good.test'), get('/'))
    expect(answer).toMatch(/^HTTP\/1.1 502[\s\S]*compressed/)
    expect(answer).not.toContain('\x1f\x8b')
  })

  it('delays no part of a stream that cannot be the start of a secret', async () => {
    const first = 'data: one\n\n'
    let finish: () => void = () => undefined
    respond = (_incoming, answer) => {
      answer.write(first)
      finish = () => answer.end('data: two\n\n')
    }
    await start({ secrets: secrets() })
    const client = await secureTunnel('good.test')
    let text = ''
    const arrived = new Promise<void>((resolve) =>
      client.on('data', (part) => {
        text += part
        if (text.includes(first)) resolve()
      }),
    )
    const whole = talk(client, get('/'))
    await arrived
    finish()
    expect(await whole).toContain('data: two')
  })

  it('does not appear in the message when its source fails', async () => {
    const value = (): string => {
      throw new Error(`cannot unlock ${secret}`)
    }
    await start({ secrets: [{ host: `good.test:${portOf(secure)}`, header: 'x-key', value }] })
    const answer = await talk(await secureTunnel('good.test'), get('/'))
    expect(answer).toMatch(/^HTTP\/1.1 502/)
    expect(answer + proxy.refused().join()).not.toContain('t0ken')
    expect(seen).toEqual([])
  })

  it.each([
    [{ host: '*.good.test' }, 'does not name one host'],
    [{ host: 'https://good.test' }, 'does not name one host'],
    [{ header: 'Host' }, 'cannot set the header'],
    [{ header: 'a b' }, 'cannot set the header'],
    [{ value: `${secret}\r\nx: y` }, 'no header can have'],
  ])('rejects the entry %#', async (wrong, why) => {
    const entry = { host: 'good.test', header: 'x-key', value: secret, ...wrong }
    const failure = startProxy({
      allowHosts: ['good.test'],
      checkHost: async () => ({ address: '127.0.0.1' }),
      secrets: [entry],
    })
    await expect(failure).rejects.toThrow(why)
    await expect(failure).rejects.not.toThrow('t0ken')
    await start()
  })
})

describe('the protocol of a connection', () => {
  it.each([
    ['inspected', { readOnly: true }],
    ['not inspected', {}],
  ])('must be TLS for the judged host, when the host is %s', async (_name, options) => {
    await start(options)
    await expect(secureTunnel('good.test', 'other.test')).rejects.toThrow()
    expect(requests).toEqual([expect.objectContaining({ verdict: 'refused', code: 'server_name_mismatch' })])
    expect(proxy.refused().join()).toContain('it asks for other.test')
    expect(seen).toEqual([])
  })

  it('is rejected as TLS that names no server', async () => {
    await start()
    await expect(secureTunnel('good.test', '')).rejects.toThrow()
    expect(requests).toEqual([expect.objectContaining({ code: 'server_name_mismatch' })])
  })

  it.each([
    ['over TLS', 'https', { readOnly: true }],
    ['in a plain connection', 'http', {}],
  ])('is rejected with a request for another host %s', async (_name, scheme, options) => {
    await start(options)
    const text = get('/').replace('good.test', 'evil.test')
    const client =
      scheme === 'https' ? await secureTunnel('good.test') : await tunnelTo('good.test', portOf(plain))
    expect(await talk(client, text)).toMatch(/^HTTP\/1.1 421/)
    expect(requests).toContainEqual(expect.objectContaining({ code: 'host_mismatch', verdict: 'refused' }))
    expect(seen).toEqual([])
  })

  it('is rejected when it is another one and the port is not named, and allowed when it is', async () => {
    const echo = (await import('node:net')).createServer((socket) => {
      socket.write('server speaks first\n')
      socket.pipe(socket)
    })
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve))
    await start({ allowHosts: [`good.test:${portOf(echo)}`] })
    const client = await tunnelTo('good.test', portOf(echo))
    const first = await new Promise<string>((resolve) =>
      client.once('data', (bytes) => resolve(String(bytes))),
    )
    expect(first).toBe('server speaks first\n')
    client.write('SSH-2.0-x\n')
    expect(await new Promise((resolve) => client.once('data', (bytes) => resolve(String(bytes))))).toBe(
      'SSH-2.0-x\n',
    )
    client.destroy()
    await proxy.close()
    await start({ allowHosts: [`good.test:${portOf(echo)}`], readOnly: true })
    expect(await talk(await tunnelTo('good.test', portOf(echo)), 'SSH-2.0-x\n')).toBe('')
    expect(requests.at(-1)).toMatchObject({ verdict: 'refused', code: 'protocol_refused' })
    echo.close()
  })

  it('is rejected as a WebSocket, and other upgrades are not passed on', async () => {
    await start({ readOnly: true })
    const upgrade = (name: string): string => `connection: upgrade\r\nupgrade: ${name}\r\n`
    expect(await talk(await secureTunnel('good.test'), get('/', upgrade('websocket')))).toMatch(/ 403 /)
    expect(await talk(await secureTunnel('good.test'), get('/', upgrade('h2c')))).toMatch(/ 200 /)
    expect(seen.map(({ headers }) => headers.upgrade)).toEqual([undefined])
  })
})

describe('the limits of a connection', () => {
  it('end a connection that sends more than the command is allowed to', async () => {
    await start({ limits: { maxUploadBytes: 1_000 } })
    const text = post('/', 'x'.repeat(5_000)).replaceAll(String(portOf(secure)), String(portOf(plain)))
    await talk(await tunnelTo('good.test', portOf(plain)), text)
    await proxy.close()
    expect(requests).toEqual([expect.objectContaining({ verdict: 'refused', code: 'limit_reached' })])
  })

  it('end a connection that receives more than the command is allowed to', async () => {
    respond = (_incoming, answer) => answer.end('y'.repeat(100_000))
    // The handshake alone takes more than 1,000 bytes with the key exchange of newer versions of Node.
    await start({ limits: { maxDownloadBytes: 10_000 } })
    await talk(await secureTunnel('good.test'), get('/'))
    await proxy.close()
    expect(requests).toEqual([expect.objectContaining({ verdict: 'refused', code: 'limit_reached' })])
  })

  it.each([['idleMs'], ['maxMs']])('end a silent connection after %s', async (name) => {
    await start({ limits: { [name]: 500 } })
    expect(await talk(await tunnelTo('good.test', portOf(secure)), '')).toBe('')
  })

  it('apply to concurrent requests, also those of one connection', async () => {
    respond = () => undefined
    await start({ readOnly: true, limits: { maxConnections: 3 } })
    const client = await secureTunnel('good.test')
    client.on('error', () => undefined)
    const one = get('/').replace('connection: close\r\n', '')
    client.write(one.repeat(6))
    await expect.poll(() => requests.length, { timeout: 60_000 }).toBe(3)
    expect(requests.every(({ code }) => code === 'limit_reached')).toBe(true)
    client.destroy()
  })

  it('reject headers above 32 KiB', async () => {
    await start({ readOnly: true })
    const client = await secureTunnel('good.test')
    expect(await talk(client, get('/', `x-long: ${'x'.repeat(40_000)}\r\n`))).not.toContain(' 200 ')
    expect(seen).toEqual([])
  })
})

describe('a request that parsers could read in two ways', () => {
  const through = async (text: string): Promise<string> => talk(await secureTunnel('good.test'), text)

  it.each([
    ['two lengths', 'content-length: 3\r\ncontent-length: 4\r\n'],
    ['a length and chunks', 'content-length: 3\r\ntransfer-encoding: chunked\r\n'],
    ['an unknown coding', 'transfer-encoding: xchunked\r\n'],
    ['chunks that are not last', 'transfer-encoding: chunked, identity\r\n'],
    ['a line that is folded', 'x: a\r\n transfer-encoding: chunked\r\n'],
    ['a space before the colon', 'transfer-encoding : chunked\r\n'],
    ['a negative length', 'content-length: -1\r\n'],
    ['two hosts', 'host: evil.test\r\n'],
  ])('is rejected or has one meaning: %s', async (_name, headers) => {
    const owner = [{ host: `good.test:${portOf(secure)}`, header: 'x-key', value: secret }]
    await start({ secrets: owner })
    const smuggled = 'POST /smuggled HTTP/1.1\r\nhost: good.test\r\ncontent-length: 0\r\n\r\n'
    const start1 = `POST /first HTTP/1.1\r\nhost: good.test:${portOf(secure)}\r\n${headers}connection: close\r\n\r\n`
    await through(`${start1}0\r\n\r\n${smuggled}`)
    expect(seen.map(({ url }) => url)).not.toContain('/smuggled')
    for (const { headers: passed } of seen) expect(passed.host).toBe(`good.test:${portOf(secure)}`)
  })

  it.each(['content-length', 'close, Content-Length, transfer-encoding'])(
    'sends the body of a GET as a body when the connection has the options %s',
    async (options) => {
      await start()
      const body = 'POST /smuggled HTTP/1.1\r\nhost: good.test\r\ncontent-length: 0\r\n\r\n'
      const head = `GET /first HTTP/1.1\r\nhost: good.test:${portOf(plain)}\r\nconnection: ${options}\r\ncontent-length: ${body.length}\r\n`
      const client = await tunnelTo('good.test', portOf(plain))
      const last = `GET /last HTTP/1.1\r\nhost: good.test:${portOf(plain)}\r\nconnection: close\r\n\r\n`
      await talk(client, `${head}\r\n${body}${options.includes('close') ? '' : last}`)
      expect(seen[0]).toMatchObject({ url: '/first', body })
      expect(seen.map(({ url }) => url)).not.toContain('/smuggled')
    },
  )

  it('sends the body of a GET in chunks as a body', async () => {
    const owner = [{ host: `good.test:${portOf(secure)}`, header: 'x-key', value: secret }]
    await start({ secrets: owner })
    const body = 'POST /smuggled HTTP/1.1\r\nhost: good.test\r\ncontent-length: 0\r\n\r\n'
    await through(
      `${get('/first', 'transfer-encoding: chunked\r\n')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    )
    expect(seen.map(({ url }) => url)).toEqual(['/first'])
    expect(seen[0]?.body).toBe(body)
  })
})

describe('an answer that Node cannot send on', () => {
  it.each(['000', '099'])('with the status %s ends its request, and not the process', async (status) => {
    respond = (incoming, answer) => {
      incoming.socket.end(`HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`)
      answer.detachSocket(incoming.socket)
    }
    await start({ readOnly: true })
    expect(await talk(await secureTunnel('good.test'), get('/'))).toMatch(/^HTTP\/1.1 502[\s\S]*status/)
    respond = (_incoming, answer) => answer.end('hello')
    expect(await talk(await secureTunnel('good.test'), get('/'))).toMatch(/^HTTP\/1.1 200[\s\S]*hello$/)
  })
})
