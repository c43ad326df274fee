/**
 * FT-11: what a provider can do wrong before it streams, seen from a session: 43 cases over real HTTP on loopback.
 * Retries are bounded and jittered, every retry is an event, the wait is never longer than configured, and the key
 * reaches only the server it is for.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ofType } from '../contract/open-session.js'
import {
  callChunk,
  chunk,
  done,
  expectNoKey,
  expectWellFormed,
  modelAt,
  ok,
  outcomeOf,
  rawServer,
  sessionWith,
  whole,
} from './support.js'

type Refusal = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

/** Refuses so often, and then answers. */
async function refuse(refusal: Refusal, times = Number.POSITIVE_INFINITY) {
  const server = await rawServer((response, number) => {
    const { status, headers = {}, body = '' } = refusal
    if (number > times) ok(response, whole('At last.'))
    else response.writeHead(status, headers).end(body)
  })
  const { session } = await sessionWith(modelAt(server.url))
  return { server, session }
}

const longest = 60

describe('FT-11: a provider that is busy or broken', () => {
  it.each<[string, Refusal]>([
    ['429 with Retry-After in seconds', { status: 429, headers: { 'retry-after': '1' } }],
    [
      '429 with Retry-After as a date',
      { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 2099 00:00:00 GMT' } },
    ],
    [
      '429 with Retry-After in the past',
      { status: 429, headers: { 'retry-after': 'Thu, 01 Jan 1998 00:00:00 GMT' } },
    ],
    ['429 without Retry-After', { status: 429 }],
    ['429 with a negative Retry-After', { status: 429, headers: { 'retry-after': '-5' } }],
    ['429 with Retry-After 1e9', { status: 429, headers: { 'retry-after': '1e9' } }],
    ['429 with Retry-After NaN', { status: 429, headers: { 'retry-after': 'NaN' } }],
    ['429 with Retry-After Infinity', { status: 429, headers: { 'retry-after': 'Infinity' } }],
    ['429 with retry-after-ms', { status: 429, headers: { 'retry-after-ms': '1e12' } }],
    ['500', { status: 500 }],
    ['500 with a web page', { status: 500, body: '<html><title>Oops</title></html>' }],
    ['502', { status: 502 }],
    ['503 with Retry-After', { status: 503, headers: { 'retry-after': '100' } }],
    ['529', { status: 529, body: '{"error":{"type":"overloaded_error","message":"Overloaded"}}' }],
    ['408', { status: 408 }],
  ])('%s is retried, reported each time, and fails after three attempts', async (_, refusal) => {
    const { server, session } = await refuse(refusal)
    const { error, events } = await outcomeOf(session)
    expect(error?.code).toMatch(/^model_(?:rate_limited|server_error)$/)
    const retries = ofType(events, 'model_retry')
    expect(retries.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, refusal.status],
      [2, refusal.status],
    ])
    expect(server.requests()).toBe(3)
    for (const { delayMs } of retries) {
      expect(delayMs).toBeGreaterThanOrEqual(0)
      expect(delayMs).toBeLessThanOrEqual(longest)
    }
    expect(events.at(-1)).toMatchObject({ type: 'error', code: error?.code })
    expectNoKey(error, error?.message, events)
    expectWellFormed(session)
  })

  it('that recovers is used again in the same run, and the session continues', async () => {
    const { server, session } = await refuse({ status: 503 }, 2)
    const { result, events } = await outcomeOf(session)
    expect(result?.text).toBe('At last.')
    expect(ofType(events, 'model_retry')).toHaveLength(2)
    expect((await outcomeOf(session)).result?.text).toBe('At last.')
    expect(server.requests()).toBe(4)
  })

  it('is retried after a random part of the delay, not at the same time as other clients', async () => {
    const server = await rawServer((response) => response.writeHead(503).end())
    const delays: number[] = []
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        const { session } = await sessionWith(
          modelAt(server.url, { retry: { baseDelayMs: 100, maxDelayMs: 100, maxAttempts: 3 } }),
        )
        const { events } = await outcomeOf(session)
        delays.push(...ofType(events, 'model_retry').map(({ delayMs }) => delayMs))
      }),
    )
    expect(delays).toHaveLength(24)
    expect(Math.max(...delays)).toBeLessThanOrEqual(100)
    // 24 draws from 75 to 100: three different ones at least, or the odds of one in 10^30.
    expect(new Set(delays).size).toBeGreaterThan(3)
  })

  it('that requests a delay of an hour does not exceed the time limit of the run', async () => {
    const server = await rawServer((response) => response.writeHead(429, { 'retry-after': '3600' }).end())
    const { session } = await sessionWith(modelAt(server.url, { retry: {} }), { maxExecutionTimeMs: 200 })
    const { error, events } = await outcomeOf(session)
    expect(error?.code).toBe('run_timeout')
    expect(ofType(events, 'model_retry')[0]?.delayMs).toBe(300_000)
    expect(server.requests()).toBe(1)
  })

  it('ends a cancelled delay at once', async () => {
    const server = await rawServer((response) => response.writeHead(429, { 'retry-after': '30' }).end())
    const { session } = await sessionWith(modelAt(server.url, { retry: {} }))
    const stream = await session.stream('Go.')
    const seen: string[] = []
    for (;;) {
      const { value, done: over } = await stream.next()
      if (over) break
      seen.push(value.type)
      if (value.type === 'model_retry') {
        session.cancel()
      }
    }
    expect(seen.at(-1)).toBe('agent_cancelled')
  })
})

describe('FT-11: a provider that refuses', () => {
  it.each<[string, Refusal, string]>([
    ['400', { status: 400, body: '{"error":{"message":"no"}}' }, 'model_request_refused'],
    [
      '401 that quotes the key',
      { status: 401, body: `{"error":{"message":"bad sk-fault-test-0123456789"}}` },
      'model_auth',
    ],
    ['403', { status: 403 }, 'model_auth'],
    ['404', { status: 404 }, 'model_unavailable'],
    ['413', { status: 413 }, 'model_context_overflow'],
    ['418 with 5 MB of text', { status: 418, body: 'x'.repeat(5_000_000) }, 'model_request_refused'],
  ])('%s ends the run at once', async (_, refusal, code) => {
    const { server, session } = await refuse(refusal, 1)
    const { error, events } = await outcomeOf(session)
    expect(error?.code).toBe(code)
    expect(error?.message.length).toBeLessThan(600)
    expect(ofType(events, 'model_retry')).toEqual([])
    expectNoKey(error?.message, error?.cause, events)
    expect(server.requests()).toBe(1)
    expect((await outcomeOf(session)).result?.text).toBe('At last.')
  })

  it('with 401 in the middle of a run keeps what was done before', async () => {
    const server = await rawServer((response, number) => {
      if (number === 1) ok(response, `${callChunk('todo', '{"todos":[]}')}${chunk({}, 'tool_calls')}${done}`)
      else if (number === 2) response.writeHead(401).end()
      else ok(response, whole('Back.'))
    })
    const { session } = await sessionWith(modelAt(server.url))
    const { error } = await outcomeOf(session)
    expect(error?.code).toBe('model_auth')
    expect(session.history().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expectWellFormed(session)
    expect((await outcomeOf(session)).result?.text).toBe('Back.')
  })

  it.each([301, 302, 303, 307, 308])(
    'by a %i to another host is not followed: the key is not sent there',
    async (status) => {
      const thief = await rawServer((response) => ok(response, whole('Thanks for the key.')))
      const { server, session } = await refuse({
        status,
        headers: { location: `${thief.url.replace('127.0.0.1', 'localhost')}/v1/chat/completions` },
      })
      const { error } = await outcomeOf(session)
      expect(error?.code).toBe('model_request_refused')
      expect(server.headers[0]?.authorization).toBe('Bearer sk-fault-test-0123456789')
      expect(thief.requests()).toBe(0)
    },
  )

  it.each(['messages', 'responses', 'google'] as const)(
    'by a redirect is not followed in the %s protocol either',
    async (api) => {
      const thief = await rawServer((response) => response.end('{}'))
      const server = await rawServer((response) =>
        response.writeHead(307, { location: `${thief.url}/stolen` }).end(),
      )
      const { session } = await sessionWith(modelAt(server.url, { api, provider: 'acme' }))
      const { thrown } = await outcomeOf(session)
      expect(thrown).toBeDefined()
      expect(server.requests()).toBeGreaterThan(0)
      expect(thief.requests()).toBe(0)
    },
  )
})

describe('FT-11: a provider that cannot be reached', () => {
  it.each<[string, (port: number) => string]>([
    ['no server listens', (port) => `http://127.0.0.1:${port}`],
    ['the name does not resolve', () => 'http://unknown.invalid'],
  ])('%s: reported at once', async (_, urlFor) => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const { session } = await sessionWith(modelAt(urlFor(port)))
    const { error, events } = await outcomeOf(session)
    expect(error?.code).toBe('model_unreachable')
    expect(ofType(events, 'model_retry')).toEqual([])
    expectNoKey(error, error?.message, error?.cause)
  })

  it('no TLS where it is expected: reported at once', async () => {
    const server = await rawServer((response) => response.end())
    const { session } = await sessionWith(modelAt(server.url.replace('http:', 'https:')))
    const { error } = await outcomeOf(session)
    expect(error?.code).toBe('model_unreachable')
    expect(server.requests()).toBe(0)
  })

  it.each<[string, Record<string, string>, string, string | undefined]>([
    ['a web page', { 'content-type': 'text/html' }, '<!doctype html><title>Login</title>', undefined],
    ['a web page that says it is events', { 'content-type': 'text/event-stream' }, '<html>', undefined],
    ['plain text', { 'content-type': 'text/plain' }, 'hello', undefined],
    ['nothing', { 'content-type': 'application/json' }, '', undefined],
    ['an answer with the wrong content type', { 'content-type': 'image/png' }, whole('Right.'), 'Right.'],
    ['an answer without a content type', {}, whole('Right.'), 'Right.'],
  ])('200 with %s', async (_, headers, body, text) => {
    const server = await rawServer((response) => ok(response, body, headers))
    const { session } = await sessionWith(modelAt(server.url))
    const { result, error } = await outcomeOf(session)
    if (text === undefined) expect(error?.code).toBe('model_bad_response')
    else expect(result?.text).toBe(text)
    expect(server.requests()).toBeLessThanOrEqual(3)
  })
})
