import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createGuardedStream } from './guarded-stream.js'

const open: (() => void)[] = []
afterEach(() => {
  for (const close of open.splice(0)) close()
})

async function serve(listener: RequestListener): Promise<{ url: string; connections(): number }> {
  let connections = 0
  const server = createServer(listener)
    .on('connection', () => connections++)
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connections: () => connections,
  }
}

function guarded(url: string, maxBytes = 1_000) {
  const net = createGuardedStream({
    allowPrivate: [new URL(url).host],
    maxBytes,
    permitHost: (host, port) => (`${host}:${port}` === new URL(url).host ? undefined : 'not granted'),
  })
  open.push(() => net.close())
  return net
}

describe('a guarded stream', () => {
  it('is read as it arrives, over a connection that stays open', async () => {
    const { url, connections } = await serve((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b' })
      response.write('data: one\n\n')
      setTimeout(() => response.end('data: two\n\n'), 20)
    })
    const net = guarded(url)
    for (let at = 0; at < 3; at++) {
      const response = await net.fetch(url, { method: 'POST', body: '{}' })
      expect(response.headers.get('set-cookie')).toBeNull()
      expect(await response.text()).toBe('data: one\n\ndata: two\n\n')
    }
    expect(connections()).toBe(1)
  })

  it('can have any length, in events of a limited length', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let at = 0; at < 50; at++) response.write(`data: ${'x'.repeat(500)}\n\n`)
      response.end()
    })
    expect((await (await guarded(url, 100_000).fetch(url)).text()).length).toBe(50 * 508)
  })

  it.each([
    ['an event', 'text/event-stream'],
    ['any other body', 'application/json'],
  ])('ends where %s is too long', async (_, type) => {
    const { url } = await serve((__, response) => {
      response.writeHead(200, { 'content-type': type })
      response.end('x'.repeat(5_000))
    })
    const response = await guarded(url).fetch(url)
    await expect(response.text()).rejects.toThrow()
  })

  it('follows no redirect, and connects to no denied host', async () => {
    const { url } = await serve((_, response) =>
      response.writeHead(307, { location: 'http://169.254.169.254/' }).end(),
    )
    const net = guarded(url)
    expect((await net.fetch(url)).status).toBe(307)
    await expect(net.fetch('http://127.0.0.1:1/')).rejects.toThrow(/refused/)
    await expect(net.fetch('http://169.254.169.254/')).rejects.toThrow(/refused/)
    await expect(net.fetch('file:///etc/passwd')).rejects.toThrow('Only http and https')
  })

  it('accepts no encoding, and stops when it is aborted', async () => {
    const { url } = await serve((request, response) => {
      if (request.url === '/hang') return
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')
    })
    const net = guarded(url)
    await expect(net.fetch(url)).rejects.toThrow('encoding "gzip"')
    const stop = AbortSignal.timeout(50)
    await expect(net.fetch(`${url}hang`, { signal: stop })).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})
