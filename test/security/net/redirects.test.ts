import type { IncomingHttpHeaders } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { fetchOnFakeInternet, type Running, serve } from './fake-internet.js'

let running: Running[] = []
afterEach(async () => {
  await Promise.all(running.map((each) => each.close()))
  running = []
})

/** Redirects `/` to the given place; anything else answers with what it was sent. */
async function redirecting(status: number, to: (port: number) => string): Promise<Running> {
  const server = await serve((request, response) => {
    if (request.url === '/') {
      response.writeHead(status, { location: to(server.port) }).end()
      return
    }
    let body = ''
    request.on('data', (piece: Buffer) => {
      body += piece.toString()
    })
    request.on('end', () => {
      response.end(JSON.stringify({ method: request.method, headers: request.headers, body }))
    })
  })
  running.push(server)
  return server
}

type Echo = { method: string; headers: IncomingHttpHeaders; body: string }
const echoOf = (bytes: Uint8Array): Echo => JSON.parse(Buffer.from(bytes).toString()) as Echo

describe('SEC-161: redirects', () => {
  it.each([
    ['http://127.0.0.1/'],
    ['http://[::1]/'],
    ['http://169.254.169.254/latest/'],
    ['http://10.0.0.1/'],
    ['http://2130706433/'],
    ['//localhost/'],
    ['file:///etc/passwd'],
    ['gopher://good.example/'],
    ['http://user@good.example/'],
    ['data:text/html,x'],
  ])('does not follow a redirect to %s', async (location) => {
    const server = await redirecting(302, () => location)
    const net = fetchOnFakeInternet()
    await expect(net.fetch(`http://start.example:${server.port}/`)).rejects.toMatchObject({
      code: 'net_refused',
    })
    expect(server.connections()).toBe(1)
  })

  it('checks the permit for every hop', async () => {
    const server = await redirecting(302, (port) => `http://evil.example:${port}/x`)
    const net = fetchOnFakeInternet({
      permitHost: (host) => (host === 'start.example' ? undefined : `${host} is not granted`),
    })
    await expect(net.fetch(`http://start.example:${server.port}/`)).rejects.toThrow(
      'evil.example is not granted',
    )
    expect(server.connections()).toBe(1)
  })

  it('ends a loop after five redirects', async () => {
    const server = await redirecting(302, () => '/')
    const net = fetchOnFakeInternet()
    await expect(net.fetch(`http://start.example:${server.port}/`)).rejects.toThrow('More than 5 redirects')
    expect(server.connections()).toBe(6)
  })

  it('follows a chain of five, and reports where the answer came from', async () => {
    const server = await serve((request, response) => {
      const step = Number(request.url?.slice(1))
      if (step === 5) response.end('there')
      else response.writeHead(301, { location: `/${step + 1}` }).end()
    })
    running.push(server)
    const response = await fetchOnFakeInternet().fetch(`http://start.example:${server.port}/0`)
    expect(Buffer.from(response.body).toString()).toBe('there')
    expect(response.url).toBe(`http://start.example:${server.port}/5`)
  })

  it('drops credentials for another host, and keeps them for the same', async () => {
    const away = await redirecting(302, (port) => `http://other.example:${port}/x`)
    const stay = await redirecting(302, () => '/x')
    const headers = { Authorization: 'Bearer s', Cookie: 'a=1', 'X-Api-Key': 's', Accept: 'text/html' }
    const net = fetchOnFakeInternet()
    const left = echoOf((await net.fetch(`http://start.example:${away.port}/`, { headers })).body)
    expect(left.headers).not.toHaveProperty('authorization')
    expect(left.headers).not.toHaveProperty('cookie')
    expect(left.headers).not.toHaveProperty('x-api-key')
    expect(left.headers.accept).toBe('text/html')
    expect(left.headers.host).toBe(`other.example:${away.port}`)
    const stayed = echoOf((await net.fetch(`http://start.example:${stay.port}/`, { headers })).body)
    expect(stayed.headers.authorization).toBe('Bearer s')
  })

  it('sends a body again only to the same origin', async () => {
    const same = await redirecting(307, () => '/x')
    const away = await redirecting(307, (port) => `http://other.example:${port}/x`)
    const net = fetchOnFakeInternet()
    const post = { method: 'POST', body: 'payload' }
    expect(echoOf((await net.fetch(`http://start.example:${same.port}/`, post)).body)).toMatchObject({
      method: 'POST',
      body: 'payload',
    })
    await expect(net.fetch(`http://start.example:${away.port}/`, post)).rejects.toThrow('another origin')
    expect(away.connections()).toBe(1)
  })

  it('does not read the body of a redirect, however long', async () => {
    const server = await serve((request, response) => {
      if (request.url !== '/') {
        response.end('there')
        return
      }
      // It never ends: reading it, even a part of a given size, would last until the time limit.
      response.writeHead(302, { location: '/x' }).write('x')
    })
    running.push(server)
    const response = await fetchOnFakeInternet().fetch(`http://start.example:${server.port}/`)
    expect(Buffer.from(response.body).toString()).toBe('there')
  })
})
