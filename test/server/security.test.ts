import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { type ServerProcess, spawnServer } from './process.js'
import { directory, headers, startServer } from './support.js'

const token = 'token-of-the-security-tests'
let started: ServerProcess
let cwd: string

beforeAll(async () => {
  cwd = mkdtempSync(join(tmpdir(), 'capstan-security-'))
  started = await spawnServer(['--model', 'offline', '--store', 'sessions'], {
    cwd,
    env: { CAPSTAN_SERVER_TOKEN: token },
  })
})
afterAll(async () => {
  started.child.kill('SIGKILL')
  await started.ended
  rmSync(cwd, { recursive: true, force: true })
})

type Sent = { readonly status: number; readonly body: string; readonly headers: Record<string, unknown> }

/** A request with headers that `fetch` does not allow. */
function send(
  method: string,
  path: string,
  given: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Sent> {
  const { port } = new URL(started.url)
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path, headers: given }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += String(data)
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends bytes as they are, and reads until the connection is closed. */
function sendRaw(bytes: string): Promise<string> {
  const { port } = new URL(started.url)
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('data', (data) => {
      text += String(data)
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
    socket.write(bytes)
  })
}

const auth = { authorization: `Bearer ${token}` }
const codeOf = ({ body }: Sent): unknown => JSON.parse(body).code

describe('the server, from outside its process', () => {
  it.each([
    ['no token', {}],
    ['a wrong token', { authorization: `Bearer ${token}x` }],
    ['another scheme', { authorization: `Basic ${token}` }],
    ['a token in the URL', {}],
  ])('answers 401 on loopback with %s', async (name, given) => {
    const path = name === 'a token in the URL' ? `/v1/sessions?token=${token}` : '/v1/sessions'
    const answer = await send('GET', path, given)
    expect(answer.status).toBe(401)
    expect(codeOf(answer)).toBe('unauthorized')
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.headers['www-authenticate']).toBe('Bearer')
  })

  it.each([
    'evil.example',
    'evil.example:4747',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
  ])('answers 421 for the host %s, before it checks the token', async (host) => {
    const answer = await send('GET', '/v1/sessions', { ...auth, host })
    expect(answer.status).toBe(421)
    expect(codeOf(answer)).toBe('host_not_allowed')
    expect((await send('GET', '/healthz', { host })).status).toBe(421)
  })

  it('answers for localhost and loopback addresses', async () => {
    const { port } = new URL(started.url)
    for (const host of ['localhost', `localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
      expect((await send('GET', '/v1/sessions', { ...auth, host })).status).toBe(200)
  })

  it.each(['https://evil.example', 'null', 'http://localhost:1', 'http://127.0.0.1.evil.example'])(
    'answers 403 to a page of the origin %s and sends no CORS headers',
    async (origin) => {
      const answer = await send('GET', '/v1/sessions', { ...auth, origin })
      expect(answer.status).toBe(403)
      expect(codeOf(answer)).toBe('origin_not_allowed')
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      const asked = await send('OPTIONS', '/v1/sessions', { origin, 'access-control-request-method': 'POST' })
      expect(asked.status).toBe(403)
      expect(asked.headers['access-control-allow-origin']).toBeUndefined()
    },
  )

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
  ])('answers 415 to a body of the type %s', async (type) => {
    const answer = await send('POST', '/v1/sessions', { ...auth, 'content-type': type }, '{}')
    expect(answer.status).toBe(415)
    expect(codeOf(answer)).toBe('unsupported_media_type')
  })

  it('answers 413 to a body that is too large, declared or not', async () => {
    const type = { ...auth, 'content-type': 'application/json' }
    const large = JSON.stringify({ title: 'x'.repeat(17 * 1024 * 1024) })
    for (const length of [{ 'content-length': String(large.length) }, { 'transfer-encoding': 'chunked' }]) {
      const answer = await send('POST', '/v1/sessions', { ...type, ...length }, large)
      expect(answer.status).toBe(413)
      expect(codeOf(answer)).toBe('body_too_large')
    }
  })

  it.each([
    ['a header', '/v1/sessions', { 'x-large': 'x'.repeat(20_000) }],
    [
      'many headers',
      '/v1/sessions',
      Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x-${at}`, 'x'.repeat(64)])),
    ],
    ['an address', `/v1/sessions?cursor=${'x'.repeat(20_000)}`, {}],
  ])('answers 431 to %s that is too large', async (_, path, given: Record<string, string>) => {
    const answer = await send('GET', path, { ...auth, ...given })
    expect(answer.status).toBe(431)
    expect(codeOf(answer)).toBe('headers_too_large')
  })

  it.each([
    ['two hosts', 'GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nHost: evil.example', 400],
    ['no host', 'GET /v1/sessions HTTP/1.1', 400],
    ['a host with a trailing dot', 'GET /v1/sessions HTTP/1.1\r\nHost: localhost.', 421],
    ['a host with user information', 'GET /v1/sessions HTTP/1.1\r\nHost: localhost@evil.example', 400],
    ['an IPv4 address in a short form', 'GET /v1/sessions HTTP/1.1\r\nHost: 127.1', 421],
    ['another IPv6 address', 'GET /v1/sessions HTTP/1.1\r\nHost: [::2]', 421],
    ['a target with another host', 'GET http://evil.example/v1/sessions HTTP/1.1\r\nHost: localhost', 400],
    [
      'a target and a host of another name',
      'GET http://evil.example/v1/sessions HTTP/1.1\r\nHost: evil.example',
      421,
    ],
    ['a target without a path', 'OPTIONS * HTTP/1.1\r\nHost: localhost', 400],
    ['a path with two slashes', 'GET //evil.example/v1/sessions HTTP/1.1\r\nHost: localhost', 404],
    ['a path with dots', 'GET /v1/sessions/../../healthz HTTP/1.1\r\nHost: localhost', 200],
    [
      'a length and chunks',
      'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked',
      400,
    ],
    [
      'an encoding after chunks',
      'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked, identity',
      400,
    ],
    [
      'two lengths',
      'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3',
      400,
    ],
    ['a zero byte in a header', 'GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b', 400],
    [
      'two origins',
      'GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example',
      403,
    ],
    ['an absolute target of its own', 'GET http://LOCALHOST/v1/sessions HTTP/1.1\r\nHost: localhost', 200],
  ])('answers a request with %s correctly', async (_, head, status) => {
    expect(await sendRaw(`${head}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`)).toContain(
      `HTTP/1.1 ${status} `,
    )
  })

  it('answers 401 to two credentials, and 415 to two types', async () => {
    const head = 'POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2'
    const own = `Authorization: Bearer ${token}`
    const twice = await sendRaw(`${head}\r\n${own}\r\nAuthorization: Bearer other\r\n\r\n{}`)
    // The parser keeps the first of two such headers: the second changes nothing, and is no way in by itself.
    expect(twice).toMatch(/^HTTP\/1.1 (401|415) /)
    const reversed = await sendRaw(`${head}\r\nAuthorization: Bearer other\r\n${own}\r\n\r\n{}`)
    expect(reversed).toContain('HTTP/1.1 401 ')
    const types = 'Content-Type: application/json\r\nContent-Type: text/plain'
    expect(await sendRaw(`${head}\r\n${own}\r\n${types}\r\n\r\n{}`)).toContain('HTTP/1.1 415 ')
  })

  it.each(['-1', 'NaN', '1e3', '0x10', '9007199254740993', '1.5', ' 1'])(
    'answers 400 to a stream from the number %j',
    async (from) => {
      const json = { ...auth, 'content-type': 'application/json' }
      const { sessionId } = JSON.parse((await send('POST', '/v1/sessions', json, '{}')).body)
      const started = await send('POST', `/v1/sessions/${sessionId}/runs`, json, '{"prompt":"Hi."}')
      const path = `/v1/sessions/${sessionId}/runs/${JSON.parse(started.body).runId}/events`
      expect((await send('GET', `${path}?from=${encodeURIComponent(from)}`, auth)).status).toBe(400)
      if (from.trim() === from)
        expect((await send('GET', path, { ...auth, 'last-event-id': from })).status).toBe(400)
      expect((await send('GET', `/v1/events?from=${encodeURIComponent(`${from}&a`)}`, auth)).status).toBe(400)
    },
  )

  it.each([
    ['POST', '/v1/sessions', '{"unknown":1}'],
    ['POST', '/v1/sessions', '{"options":{"sandbox":"off"}}'],
    ['POST', '/v1/sessions', '{"options":{"env":{"A":"b"}}}'],
    ['POST', '/v1/sessions', '{"options":{"roots":["/"]}}'],
    ['POST', '/v1/sessions', '{"options":{"permissionPolicy":{"allow":["bash"]}}}'],
    ['POST', '/v1/sessions', '[]'],
    ['POST', '/v1/sessions', '{'],
  ])('answers 400 to %s %s %s', async (method, path, body) => {
    const answer = await send(method, path, { ...auth, 'content-type': 'application/json' }, body)
    expect(answer.status).toBe(400)
    expect(answer.headers['content-type']).toBe('application/problem+json')
  })

  it.each(['/', '/etc', '..', '../..', '/tmp'])('opens no session on the workspace %s', async (workspace) => {
    const body = JSON.stringify({ workspace })
    const answer = await send('POST', '/v1/sessions', { ...auth, 'content-type': 'application/json' }, body)
    expect(answer.status).toBe(403)
    expect(codeOf(answer)).toBe('workspace_not_allowed')
  })

  it.each(['..%2F..%2Fetc', '%00', 'nothing', '%ff'])('finds no session with the id %s', async (id) => {
    expect((await send('GET', `/v1/sessions/${id}`, auth)).status).toBe(404)
  })
})

describe('a client that sends its headers slowly', () => {
  it('is disconnected at its time limit, and others are answered meanwhile', async () => {
    const { url, http } = await startServer()
    const isAnswered = async (): Promise<boolean> => {
      const { status } = await fetch(`${url}/healthz`, { headers: { connection: 'close' } })
      return status === 200
    }
    const slow = Array.from({ length: 50 }, () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.on('error', () => undefined)
      socket.resume()
      socket.write('GET /v1/sessions HTTP/1.1\r\nHost: localhost\r\n')
      return socket
    })
    const closed = Promise.all(slow.map((socket) => once(socket, 'close')))
    expect(await isAnswered()).toBe(true)
    const limit = http.headersTimeout
    expect(limit).toBe(10_000)
    // The limit, shortened for the test while only these clients send headers.
    http.headersTimeout = 500
    await closed
    http.headersTimeout = limit
    expect(await isAnswered()).toBe(true)
  })
})

describe('a client that sends its body slowly', () => {
  it('gets 408 at its time limit, and uses no memory afterwards', async () => {
    const { url, http } = await startServer()
    // The limit of 60 s, shortened for the test once the server has the headers. Node uses the smaller one of its two
    // limits for headers, and the larger one for requests.
    http.once('request', () => {
      http.headersTimeout = 400
      http.requestTimeout = 500
    })
    const slow = connect(Number(new URL(url).port), '127.0.0.1')
    const closed = once(slow, 'close')
    let text = ''
    slow.on('data', (data) => {
      text += String(data)
    })
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${headers.authorization}`
    slow.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"title":`)
    await closed
    expect(text).toContain('HTTP/1.1 408 ')
    expect(text).toContain('"code":"request_timeout"')
    await vi.waitFor(
      async () =>
        expect(await new Promise((resolve) => http.getConnections((_, count) => resolve(count)))).toBe(0),
      { timeout: 60_000 },
    )
  })
})

describe('principals', () => {
  const tokens = [
    { token: 'token-of-tenant-one-01', id: 'ann', tenantId: 'one' },
    { token: 'token-of-tenant-two-02', id: 'bob', tenantId: 'two' },
  ]
  /** What each route needs to come as far as the session, by the last part of its path. */
  const bodies: Record<string, object> = {
    runs: { prompt: 'x' },
    messages: { text: 'x' },
    steer: { text: 'x' },
    '{callId}': { decision: 'once' },
    '{questionId}': { answers: [] },
    rewind: { messageId: 'x' },
    explain: { toolName: 'read' },
    '{toolName}': { args: {} },
    'side-questions': { question: 'x' },
    objects: { prompt: 'x', schema: {} },
    links: { minutes: 1 },
  }
  const as = (at: number) => ({ authorization: `Bearer ${tokens[at]?.token}` })

  it('do not see the sessions of another tenant, by any route', async () => {
    const { call, server } = await startServer({
      token: tokens,
      session: { model: scriptedModel(['Hello.']) },
    })
    const { sessionId } = (await call('POST', '/v1/sessions', { title: 'Mine' }, as(0))).body
    await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Hi.' }, as(0))
    expect((await call('GET', '/v1/sessions', undefined, as(0))).body.sessions).toHaveLength(1)
    expect((await call('GET', '/v1/sessions', undefined, as(1))).body.sessions).toEqual([])
    const [{ runId }] = (await call('GET', `/v1/sessions/${sessionId}/runs`, undefined, as(0))).body.runs
    const answers: unknown[] = []
    // Every route answers for a session of another tenant as it does for one that is not there.
    for (const [path, methods] of Object.entries(server.openapi['paths'] as Record<string, object>))
      for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
        if (!path.includes('{sessionId}')) continue
        const [own, none] = ['other', sessionId].map((id) =>
          path
            .replace('{sessionId}', id)
            .replace('{runId}', runId)
            .replace(/\{\w+\}/, 'x'),
        )
        const body = method === 'GET' ? undefined : (bodies[path.split('/').at(-1) ?? ''] ?? {})
        const first = await call(method, own ?? '', body, as(1))
        const second = await call(method, none ?? '', body, as(1))
        expect([path, second.status, second.body]).toEqual([path, 404, first.body])
        answers.push(second.body.code)
      }
    expect(new Set(answers)).toEqual(new Set(['session_not_found']))
    expect(answers.length).toBeGreaterThan(25)
    expect((await call('GET', `/v1/sessions/${sessionId}`, undefined, as(0))).body.title).toBe('Mine')
    const chat = {
      id: sessionId,
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }],
    }
    expect((await call('POST', '/v1/chat', chat, as(1))).status).toBe(404)
    expect((await call('GET', `/v1/chat/${sessionId}/stream`, undefined, as(1))).status).toBe(204)
    const agUi = { threadId: sessionId, runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Hi.' }] }
    expect((await call('POST', '/v1/ag-ui', agUi, as(1))).status).toBe(404)
  })

  it('are found by the hook of the host, and limited by its authorize', async () => {
    const seen: string[] = []
    const { call } = await startServer({
      authenticate: (request) => {
        const id = /session=(\w+)/.exec(request.headers.get('cookie') ?? '')?.[1]
        return id === undefined ? undefined : { id }
      },
      authorize: ({ id }, action, session) => {
        seen.push(`${id} ${action} ${session === undefined ? '-' : 'session'}`)
        return action !== 'startRun' && action !== 'widenMode'
      },
    })
    expect((await call('GET', '/v1/sessions')).status).toBe(401)
    const cookie = { cookie: 'session=ann' }
    const { sessionId } = (await call('POST', '/v1/sessions', {}, cookie)).body
    expect(await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'x' }, cookie)).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    })
    expect((await call('PATCH', `/v1/sessions/${sessionId}`, { mode: 'full' }, cookie)).status).toBe(403)
    expect((await call('PATCH', `/v1/sessions/${sessionId}`, { mode: 'plan' }, cookie)).status).toBe(200)
    expect(seen).toContain('ann startRun session')
  })

  it('cannot see or start what the hook refuses, by lists, dialects and the stream of all sessions', async () => {
    const { call, url } = await startServer({
      token: tokens.map((one) => ({ ...one, tenantId: 'same' })),
      session: { model: scriptedModel(Array.from({ length: 9 }, () => 'A secret.')) },
      // Each principal has its own sessions; the second starts nothing at all.
      authorize: ({ id }, action, session) =>
        (session === undefined || session.principal === id) && (id === 'ann' || action !== 'startRun'),
    })
    const { sessionId } = (await call('POST', '/v1/sessions', {}, as(0))).body
    expect((await call('GET', '/v1/sessions', undefined, as(0))).body.sessions).toHaveLength(1)
    expect((await call('GET', '/v1/sessions', undefined, as(1))).body.sessions).toEqual([])
    const leaving = new AbortController()
    const [own, other] = await Promise.all(
      [0, 1].map((at) => fetch(`${url}/v1/events`, { headers: as(at), signal: leaving.signal })),
    )
    const path = `/v1/sessions/${sessionId}`
    const { runId } = (await call('POST', `${path}/runs`, { prompt: 'Hi.' }, as(0))).body
    let seen = ''
    const decoder = new TextDecoder()
    for await (const chunk of own?.body ?? []) {
      seen += decoder.decode(chunk)
      if (seen.includes('agent_end')) break
    }
    expect((await call('GET', `${path}/runs/${runId}`, undefined, as(1))).status).toBe(403)
    const reader = other?.body?.getReader()
    // What was sent to the other reader by now: the opening, and no event.
    expect(decoder.decode((await reader?.read())?.value)).toBe(': open\n\n')
    const next = reader?.read().catch(() => undefined)
    const second = await Promise.race([next, call('GET', '/healthz')])
    expect(second).toMatchObject({ status: 200 })
    leaving.abort()
    const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }], content: 'Hi.' }
    expect((await call('POST', '/v1/chat', { id: 'c', messages: [message] }, as(1))).status).toBe(403)
    const agUi = { threadId: 't', runId: 'r', messages: [message] }
    expect((await call('POST', '/v1/ag-ui', agUi, as(1))).status).toBe(403)
  })

  it('have their own limits of rate and streams', async () => {
    const { call, url } = await startServer({
      token: tokens,
      limits: { maxRequestsPerMinute: 5, maxStreams: 1, maxRuns: 1 },
    })
    const statuses = []
    for (let count = 0; count < 7; count++)
      statuses.push((await call('GET', '/v1/sessions', undefined, as(0))).status)
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0)
    const limited = await call('GET', '/v1/sessions', undefined, as(0))
    if (limited.status === 429) expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await call('GET', '/v1/sessions', undefined, as(1))).status).toBe(200)
    const leaving = new AbortController()
    const open = await fetch(`${url}/v1/events`, { headers: as(1), signal: leaving.signal })
    expect(open.status).toBe(200)
    expect((await call('GET', '/v1/events', undefined, as(1))).status).toBe(429)
    leaving.abort()
  })

  it('of an allowed origin get CORS headers, and no other origin does', async () => {
    const { url } = await startServer({ allowedOrigins: ['https://app.example'] })
    const asked = await fetch(`${url}/v1/sessions`, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe('https://app.example')
    const got = await fetch(`${url}/v1/sessions`, { headers: { ...headers, origin: 'https://app.example' } })
    expect(got.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(
      (await fetch(`${url}/v1/sessions`, { headers: { ...headers, origin: 'https://evil.example' } })).status,
    ).toBe(403)
  })

  it('need a token or a hook: a server without either is not created', async () => {
    await expect(startServer({ token: [] })).rejects.toThrow('needs a token')
    await expect(startServer({ token: 'short' })).rejects.toThrow('at least 16 characters')
  })

  it('cannot call a tool directly that the host has not enabled by name', async () => {
    const workspaces = [directory()]
    const { call } = await startServer({ workspaces, hostTools: ['glob'] })
    const { sessionId } = (await call('POST', '/v1/sessions', {})).body
    const tools = `/v1/sessions/${sessionId}/tools`
    expect((await call('POST', `${tools}/glob`, { args: { pattern: '*' } })).status).toBe(200)
    expect((await call('POST', `${tools}/bash`, { args: { command: 'id' } })).body.code).toBe(
      'host_tool_disabled',
    )
    expect((await call('POST', `/v1/sessions/${sessionId}/verify`, {})).body.code).toBe('host_tool_disabled')
  })
})
