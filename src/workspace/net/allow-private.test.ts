import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { privateAccess } from './allow-private.js'
import { createGuardedFetch } from './guarded-fetch.js'

describe('privateAccess', () => {
  it.each([
    [['search.lan'], 'search.lan', 80, true],
    [['search.lan'], 'search.lan', 8888, true],
    [['Search.LAN.'], 'search.lan', 80, true],
    [['search.lan:8888'], 'search.lan', 8888, true],
    [['search.lan:8888'], 'search.lan', 80, false],
    [['search.lan:80'], 'search.lan', 80, true],
    [['search.lan:8888'], 'search.lan', undefined, false],
    [['search.lan'], 'x.search.lan', 80, false],
    [['search.lan'], 'lan', 80, false],
    [['::1'], '::1', 80, true],
    [['[::1]:8888'], '::1', 8888, true],
    [['[::1]:8888'], '::1', 80, false],
    [['127.1'], '127.0.0.1', 80, true],
    [['127.0.0.1'], '127.0.0.2', 80, false],
    [[], '127.0.0.1', 80, false],
  ])('%j and %s:%s: %s', (entries, host, port, allowPrivate) => {
    expect(privateAccess(entries)(host, port)).toEqual({ allowPrivate })
  })

  it.each([true, false])('reads %s as every host', (allowPrivate) => {
    expect(privateAccess(allowPrivate)('any.host', 1)).toEqual({ allowPrivate })
  })

  it.each([['*'], ['*.lan'], ['http://search.lan/'], ['a b'], ['u@h'], [''], ['h:99999']])(
    'rejects the entry %j',
    (entry) => {
      expect(() => privateAccess([entry])).toThrow(/allowPrivate lists hosts/)
    },
  )
})

describe('a fetch with access to one private host', () => {
  const server = createServer((request, response) => {
    if (request.url === '/away') {
      const { port } = server.address() as AddressInfo
      response.writeHead(302, { location: `http://127.0.0.2:${port}/` }).end()
    } else response.end('here')
  })
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, resolve)))
  afterAll(() => new Promise<void>((resolve) => void server.close(() => resolve())))
  const port = (): number => (server.address() as AddressInfo).port
  const net = (allowPrivate: readonly string[]) =>
    createGuardedFetch({ permitHost: () => undefined, allowPrivate })
  const refused = { name: 'NetError', code: 'net_refused' }

  it('connects to it', async () => {
    const { body } = await net([`127.0.0.1:${port()}`]).fetch(`http://127.0.0.1:${port()}/`)
    expect(new TextDecoder().decode(body)).toBe('here')
  })

  it('connects to it by name only when that name is listed', async () => {
    const { status } = await net([`localhost:${port()}`]).fetch(`http://localhost:${port()}/`)
    expect(status).toBe(200)
    await expect(net(['127.0.0.1']).fetch(`http://localhost:${port()}/`)).rejects.toMatchObject(refused)
  })

  it('connects to no other port, address, or redirect target', async () => {
    await expect(net(['127.0.0.1:1']).fetch(`http://127.0.0.1:${port()}/`)).rejects.toMatchObject(refused)
    await expect(net(['127.0.0.1']).fetch(`http://127.0.0.2:${port()}/`)).rejects.toMatchObject(refused)
    await expect(net(['127.0.0.1']).fetch(`http://127.0.0.1:${port()}/away`)).rejects.toMatchObject(refused)
  })

  it('connects to no metadata service, listed or not (SEC-156)', async () => {
    const listed = net(['169.254.169.254', 'metadata.google.internal'])
    await expect(listed.fetch('http://169.254.169.254/')).rejects.toMatchObject(refused)
    await expect(listed.fetch('http://metadata.google.internal/')).rejects.toMatchObject(refused)
  })
})
