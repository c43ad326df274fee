import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { type FilteringProxy, type ProxyOptions, startProxy } from './proxy.js'

let place: string
let target: Server
let port: number
let proxy: FilteringProxy
let checked: string[]
let seen: { host: string | undefined; path: string | undefined; hop: unknown }[]

beforeEach(async () => {
  place = temporaryDirectory()
  seen = []
  checked = []
  target = createServer((incoming, answer) => {
    seen.push({
      host: incoming.headers.host,
      path: incoming.url,
      hop: incoming.headers['proxy-authorization'] ?? incoming.headers['x-hop'],
    })
    answer.end(`hello from ${incoming.url}`)
  })
  await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
  port = (target.address() as AddressInfo).port
})
afterEach(async () => {
  await proxy.close()
  target.closeAllConnections()
  target.close()
})

async function start(options: Partial<ProxyOptions> = {}): Promise<void> {
  proxy = await startProxy({
    socket: join(place, 's'),
    allowHosts: [`good.test:${port}`, `private.test:${port}`],
    checkHost: async (host) => {
      checked.push(host)
      if (host === 'private.test') throw new Error('its address is private')
      return { address: '127.0.0.1' }
    },
    ...options,
  })
}

function ask(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(join(place, 's'), () => socket.write(text))
    socket.setEncoding('latin1').on('data', (part: string) => {
      answer += part
      if (answer.includes('Established\r\n\r\n') && !answer.includes('hello')) {
        socket.write(`GET /through HTTP/1.1\r\nhost: good.test\r\nconnection: close\r\n\r\n`)
      }
    })
    socket.on('close', () => resolve(answer)).on('error', reject)
  })
}

describe('the filtering proxy', () => {
  it('tunnels to an allowed host, at the address that was checked', async () => {
    await start()
    expect(await ask(`CONNECT good.test:${port} HTTP/1.1\r\nhost: good.test\r\n\r\n`)).toMatch(
      /hello from \/through/,
    )
    expect(checked).toEqual(['good.test'])
    expect(proxy.refused()).toEqual([])
  })

  it('forwards plain requests with the name that was allowed, without the headers for the proxy', async () => {
    await start()
    const answer = await ask(
      `GET http://good.test:${port}/a?b HTTP/1.1\r\nhost: other.test\r\nproxy-authorization: secret\r\nx-hop: 1\r\nconnection: close, x-hop\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 200/)
    expect(seen).toEqual([{ host: `good.test:${port}`, path: '/a?b', hop: undefined }])
  })

  it.each([
    ['a host that is not allowed', 'CONNECT evil.test:443 HTTP/1.1\r\n\r\n', /not among the allowed hosts/],
    ['a port that is not allowed', 'CONNECT good.test:22 HTTP/1.1\r\n\r\n', /not among the allowed hosts/],
    ['a name that ends like an allowed one', 'CONNECT notgood.test:443 HTTP/1.1\r\n\r\n', /not among/],
    ['an address', 'CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n', /not among/],
    [
      'a plain request elsewhere',
      'GET http://evil.test/ HTTP/1.1\r\nhost: good.test\r\nconnection: close\r\n\r\n',
      /not among/,
    ],
  ])('refuses %s, and reports it', async (_name, request, why) => {
    await start()
    expect(await ask(request)).toMatch(/^HTTP\/1.1 403/)
    expect(proxy.refused()).toEqual([expect.stringMatching(why)])
    expect(checked).toEqual([])
  })

  it('refuses an allowed name whose address is not allowed', async () => {
    await start()
    expect(await ask(`CONNECT private.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(/403.*its address is private/s)
    expect(seen).toEqual([])
  })

  it.each([
    'CONNECT good.test\0.evil.test:443 HTTP/1.1\r\n\r\n',
    'CONNECT user@good.test:443 HTTP/1.1\r\n\r\n',
    'CONNECT good.test:443:1 HTTP/1.1\r\n\r\n',
    'CONNECT good.test:99999 HTTP/1.1\r\n\r\n',
    'GET /only/a/path HTTP/1.1\r\nhost: good.test\r\nconnection: close\r\n\r\n',
    'GET http://user@good.test/ HTTP/1.1\r\nhost: good.test\r\nconnection: close\r\n\r\n',
    'GET ftp://good.test/ HTTP/1.1\r\nhost: good.test\r\nconnection: close\r\n\r\n',
    'nonsense\r\n\r\n',
  ])('rejects %j as a request', async (request) => {
    await start()
    expect(await ask(request)).not.toMatch(/^HTTP\/1.1 200/)
    expect(checked).toEqual([])
    expect(seen).toEqual([])
  })

  it('allows nothing when the list is empty', async () => {
    await start({ allowHosts: [] })
    expect(await ask(`CONNECT good.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 403/)
  })

  it('ends open tunnels when it is closed', async () => {
    await start()
    const ended = new Promise<void>((resolve) => {
      const socket = connect(join(place, 's'), () =>
        socket.write(`CONNECT good.test:${port} HTTP/1.1\r\n\r\n`),
      )
      socket.on('data', () => void proxy.close())
      socket.on('close', () => resolve())
    })
    await ended
  })
})
