import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { HttpPeer } from './http-peer.js'
import { type AhpOptions, HttpTransport } from './transport.js'

type Handler = (body: { id?: string }, request: IncomingMessage, response: ServerResponse) => void

async function serve(handler: Handler, options: AhpOptions = {}, token?: string) {
  const bodies: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) text += chunk
    bodies.push(text)
    headers.push(request.headers)
    handler(JSON.parse(text), request, response)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ahp`
  const peer = await HttpPeer.open(new HttpTransport(url, token, options))
  onTestFinished(() => peer.close())
  return { peer, bodies, headers, server }
}

const ask = { timeoutMs: 60_000 }
const answer = (response: ServerResponse, fields: object): void => {
  response.end(JSON.stringify({ jsonrpc: '2.0', ...fields }))
}

describe('HttpPeer', () => {
  it('sends each request with the token, and returns its result', async () => {
    const { peer, bodies, headers } = await serve(
      ({ id }, _, response) => answer(response, { id, result: 'fine' }),
      {},
      'secret-token',
    )
    expect(await peer.request('ahp/event', { n: 1 }, ask)).toBe('fine')
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
      jsonrpc: '2.0',
      method: 'ahp/event',
      params: { n: 1 },
    })
    expect(headers[0]).toMatchObject({
      authorization: 'Bearer secret-token',
      'content-type': 'application/json',
    })
  })

  it('counts a request as sent when its connection is cut and the second attempt finds no server', async () => {
    const { peer, bodies, server } = await serve((_, request) => {
      server.close()
      request.socket.destroy()
    })
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ code: 'supervision_lost' })
    expect(bodies).toHaveLength(1)
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: 'supervision_unavailable',
    })
  })

  it('accepts an empty answer to a notice, and not to a request', async () => {
    const { peer } = await serve((_, __, response) => response.writeHead(204).end())
    await peer.notify('ahp/event', {})
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: 'supervision_protocol',
      message: 'it answered with HTTP 204',
    })
    expect(peer.gone).toBeUndefined()
  })

  it.each([
    [401, 'supervision_refused', 'it did not accept the token (HTTP 401)'],
    [403, 'supervision_refused', 'it did not accept the token (HTTP 403)'],
    [500, 'supervision_protocol', 'it answered with HTTP 500'],
  ])('rejects an answer with HTTP status %i', async (status, code, message) => {
    const { peer } = await serve((_, __, response) => response.writeHead(status).end('{}'))
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ code, message })
  })

  it('follows no redirect, so that neither request nor token goes elsewhere', async () => {
    const { peer, bodies } = await serve((_, request, response) =>
      response.writeHead(307, { location: `http://${request.headers.host}/elsewhere` }).end(),
    )
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ name: 'SupervisionError' })
    expect(bodies).toHaveLength(1)
  })

  it.each([
    ['another question', { id: 'other', result: 1 }],
    ['nothing', { method: 'ahp/hello' }],
  ])('rejects an answer to %s', async (_, fields) => {
    const { peer } = await serve((__, ___, response) => answer(response, fields))
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: 'supervision_protocol',
      message: 'it answered another question than it was asked',
    })
  })

  it('rejects with the message of an error, also one without an id', async () => {
    const { peer } = await serve((_, __, response) =>
      answer(response, { id: null, error: { message: 'no' } }),
    )
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ code: 'supervision_refused' })
  })

  it('rejects an answer that is late, and one that is no longer expected', async () => {
    const controller = new AbortController()
    const { peer } = await serve(() => controller.abort())
    await expect(peer.request('ahp/event', {}, { timeoutMs: 30 })).rejects.toMatchObject({
      code: 'supervision_timeout',
    })
    const late = new AbortController()
    const asked = peer.request('ahp/event', {}, { ...ask, signal: late.signal })
    late.abort()
    await expect(asked).rejects.toMatchObject({ code: 'supervision_aborted' })
  })

  it('sends a request again when its connection was cut, and is disconnected when that is cut too', async () => {
    let cuts = 0
    const { peer, bodies } = await serve(({ id }, request, response) => {
      if (cuts++ === 0) request.socket.destroy()
      else answer(response, { id, result: 'after all' })
    })
    expect(await peer.request('ahp/event', {}, ask)).toBe('after all')
    expect(bodies).toHaveLength(2)
    const dead = await serve((_, request) => request.socket.destroy())
    await expect(dead.peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ code: 'supervision_lost' })
    expect(dead.bodies).toHaveLength(2)
    await expect(dead.peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: 'supervision_unavailable',
    })
    expect(dead.bodies).toHaveLength(2)
  })

  it('is disconnected when no server listens at its address', async () => {
    const { peer, server } = await serve(() => undefined)
    await new Promise((closed) => server.close(closed))
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({
      code: expect.stringMatching(/^supervision_(unavailable|lost)$/),
    })
    expect(peer.gone).toBeDefined()
  })

  it('sends no message that is too long, and reads no answer that is', async () => {
    const { peer, bodies } = await serve(
      ({ id }, _, response) => answer(response, { id, result: 'x'.repeat(5_000) }),
      { maxMessageBytes: 1_024 },
    )
    await expect(peer.request('ahp/event', { text: 'x'.repeat(2_000) }, ask)).rejects.toThrow(
      'maxMessageBytes is 1024',
    )
    expect(bodies).toEqual([])
    await expect(peer.request('ahp/event', {}, ask)).rejects.toMatchObject({ name: 'SupervisionError' })
    expect(bodies).toHaveLength(1)
  })

  it('rejects pending requests when it is closed', async () => {
    const { peer, bodies } = await serve(() => undefined)
    const asked = peer.request('ahp/event', {}, ask)
    const ended = expect(asked).rejects.toMatchObject({ code: 'supervision_lost' })
    await expect.poll(() => bodies).toHaveLength(1)
    await peer.close()
    await ended
    expect(peer.gone).toBe('it was disconnected')
  })
})
