import { afterEach, describe, expect, it } from 'vitest'
import { createGuardedFetch } from '../../../src/workspace/net/index.js'
import {
  fetchOnFakeInternet,
  otherPublicAddress,
  publicAddress,
  type Running,
  serve,
} from './fake-internet.js'

let running: Running[] = []
afterEach(async () => {
  await Promise.all(running.map((each) => each.close()))
  running = []
})
async function canary(): Promise<Running> {
  const server = await serve((_request, response) => response.end('canary'))
  running.push(server)
  return server
}

const refused = { name: 'NetError', code: 'net_refused' }

describe('SEC-153, SEC-154, SEC-155: this machine under any name', () => {
  it.each([
    ['127.0.0.1'],
    ['localhost'],
    ['localhost.'],
    ['x.localhost'],
    ['[::1]'],
    ['[::]'],
    ['0'],
    ['0.0.0.0'],
    ['2130706433'],
    ['0x7f000001'],
    ['0177.0.0.1'],
    ['127.1'],
    ['①②⑦.⓪.⓪.①'],
    ['127.0.0.1.'],
    ['169。254。169。254'],
    ['[::ffff:127.0.0.1]'],
    ['[64:ff9b::7f00:1]'],
    ['[2002:7f00:1::]'],
    ['[::127.0.0.1]'],
    ['[fe80::1]'],
    ['[fc00::1]'],
  ])('refuses http://%s with a server listening there', async (host) => {
    const server = await canary()
    const net = createGuardedFetch({ permitHost: () => undefined })
    await expect(net.fetch(`http://${host}:${server.port}/`)).rejects.toMatchObject(refused)
    expect(server.connections()).toBe(0)
  })
})

describe('SEC-156: metadata services', () => {
  it.each([
    ['169.254.169.254'],
    ['metadata.google.internal'],
    ['METADATA.google.internal.'],
    ['100.100.100.200'],
    ['[fd00:ec2::254]'],
  ])('refuses %s also when private addresses are allowed', async (host) => {
    const net = fetchOnFakeInternet({ allowPrivate: true })
    await expect(net.fetch(`http://${host}/latest/meta-data/`)).rejects.toMatchObject(refused)
    expect(net.dialled).toEqual([])
  })

  it('refuses a name that resolves to one, also when private addresses are allowed', async () => {
    const resolver = async () => [{ address: '169.254.169.254', family: 4 }]
    const net = fetchOnFakeInternet({ allowPrivate: true, resolver })
    await expect(net.fetch('http://harmless.example/')).rejects.toMatchObject(refused)
  })
})

describe('SEC-158, SEC-159, SEC-160: what a name resolves to', () => {
  it('refuses a public name with a loopback address', async () => {
    const net = fetchOnFakeInternet({ resolver: async () => [{ address: '127.0.0.1', family: 4 }] })
    await expect(net.fetch('http://localtest.example/')).rejects.toThrow('127.0.0.1 is a loopback address')
    expect(net.dialled).toEqual([])
  })

  it('connects to the checked address, even if the resolver returns another one later', async () => {
    const server = await canary()
    let asked = 0
    const net = fetchOnFakeInternet({
      resolver: async () => [{ address: asked++ === 0 ? publicAddress : '127.0.0.1', family: 4 }],
    })
    const response = await net.fetch(`http://rebind.example:${server.port}/`)
    expect(response.status).toBe(200)
    expect(asked).toBe(1)
    expect(net.dialled).toEqual([publicAddress])
    await expect(net.fetch(`http://rebind.example:${server.port}/`)).rejects.toMatchObject(refused)
    expect(server.connections()).toBe(1)
  })

  it('resolves again on every hop, and refuses the hop that became private', async () => {
    let asked = 0
    const server = await serve((_request, response) => response.writeHead(302, { location: '/again' }).end())
    running.push(server)
    const net = fetchOnFakeInternet({
      resolver: async () => [{ address: asked++ === 0 ? publicAddress : '10.0.0.1', family: 4 }],
    })
    await expect(net.fetch(`http://rebind.example:${server.port}/`)).rejects.toThrow('10.0.0.1 is a private')
    expect(server.connections()).toBe(1)
  })

  it.each([
    [[publicAddress, '192.168.0.1']],
    [['::1', publicAddress]],
    [[publicAddress, otherPublicAddress, '0.0.0.0']],
  ])('refuses a name with the addresses %j', async (addresses) => {
    const net = fetchOnFakeInternet({
      resolver: async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    })
    await expect(net.fetch('http://many.example/')).rejects.toMatchObject(refused)
    expect(net.dialled).toEqual([])
  })

  it('refuses a value that is not an address at all', async () => {
    const net = fetchOnFakeInternet({ resolver: async () => [{ address: 'localhost', family: 4 }] })
    await expect(net.fetch('http://odd.example/')).rejects.toMatchObject(refused)
  })

  it('reports when a name has no address or cannot be resolved', async () => {
    const none = fetchOnFakeInternet({ resolver: async () => [] })
    await expect(none.fetch('http://none.example/')).rejects.toMatchObject({ code: 'net_unresolved' })
    const failing = fetchOnFakeInternet({ resolver: () => Promise.reject(new Error('SERVFAIL')) })
    await expect(failing.fetch('http://none.example/')).rejects.toMatchObject({ code: 'net_unresolved' })
  })
})

describe('SEC-162, SEC-163, SEC-165: how a URL is parsed', () => {
  it.each([
    ['http://good@169.254.169.254/'],
    ['http://169.254.169.254#@good/'],
    ['http://user:secret@good.example/'],
    ['file:///etc/passwd'],
    ['gopher://good.example/'],
    ['ftp://good.example/'],
    ['data:text/plain,x'],
    ['javascript:alert(1)'],
    ['ws://good.example/'],
    ['blob:http://good.example/x'],
  ])('refuses %s', async (url) => {
    const net = fetchOnFakeInternet()
    await expect(net.fetch(url)).rejects.toMatchObject(refused)
    expect(net.dialled).toEqual([])
  })

  it.each([
    ['http://good\u0000.example/'],
    ['http://good%00.example/'],
    ['http://a b/'],
    ['not a url'],
    ['//good.example/'],
    [''],
    [`http://good.example/${'a'.repeat(20_000)}`],
  ])('rejects %j as an invalid request', async (url) => {
    await expect(fetchOnFakeInternet().fetch(url)).rejects.toMatchObject({ code: 'net_request_invalid' })
  })

  it('does not repeat a password from a URL in its message', async () => {
    const error = await fetchOnFakeInternet()
      .fetch('http://user:hunter2@good.example/?token=hunter2')
      .catch((thrown: unknown) => thrown)
    expect(String(error)).not.toContain('hunter2')
  })

  it('checks the permit for the parsed host: backslash, case and trailing dot do not disguise it', async () => {
    const asked: string[] = []
    const net = fetchOnFakeInternet({
      permitHost(host, port) {
        asked.push(`${host}:${port}`)
        return 'not granted'
      },
    })
    for (const url of [
      'http://good\\@evil/',
      'http://EVIL.example./',
      'https://evil.example',
      'http://[2606:4700::1]:81/',
      'http://1.1',
    ]) {
      await expect(net.fetch(url)).rejects.toThrow('not granted')
    }
    expect(asked).toEqual(['good:80', 'evil.example:80', 'evil.example:443', '2606:4700::1:81', '1.0.0.1:80'])
    expect(net.dialled).toEqual([])
  })
})
