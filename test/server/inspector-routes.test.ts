import { describe, expect, it } from 'vitest'
import { scriptedModel } from '../../src/testing/index.js'
import { asVisitor, csrfName, fromPage, operationsOf, type Sent, signIn } from './inspector-support.js'
import { type Started, startServer } from './support.js'

/** Open without credentials, so that load balancers and browsers can begin. */
const isPublic = new Set(['getHealth', 'getReadiness', 'signIn'])

describe('every route of a server with the inspector', () => {
  it('refuses a browser without a valid cookie, CSRF header and origin, and is never cached', async () => {
    const started = await start()
    const { url, call } = started
    const { sessionId } = (await call('POST', '/v1/sessions', { title: 'Own' })).body
    const [visit, ended] = [await signIn(started), await signIn(started)]
    const signedOut = await send(
      url,
      { method: 'POST', path: '/v1/inspector/sign-out' },
      asVisitor(url, ended),
    )
    expect([signedOut.status, signedOut.headers.get('cache-control')]).toEqual([204, 'no-store'])
    const { cookie, csrf } = visit
    const callers: readonly [string, Record<string, string>, number][] = [
      ['no cookie', fromPage(url), 401],
      ['no cookie, with the header', fromPage(url, { [csrfName]: csrf }), 401],
      ['no CSRF header', fromPage(url, { cookie }), 401],
      ['a cookie that was signed out', asVisitor(url, ended), 401],
      ['another origin', { ...asVisitor(url, visit), origin: 'https://evil.example' }, 403],
      ['another site', { ...asVisitor(url, visit), 'sec-fetch-site': 'cross-site' }, 401],
      ['another port', { ...asVisitor(url, visit), origin: 'http://127.0.0.1:1' }, 403],
    ]
    const operations = (await operationsOf(started, sessionId)).filter(
      ({ operationId }) => !isPublic.has(operationId),
    )
    expect(operations.length).toBeGreaterThan(50)
    for (const operation of operations)
      for (const [who, headers, status] of callers) {
        const response = await send(url, operation, headers)
        const found = [operation.operationId, who, response.status, response.headers.get('cache-control')]
        expect(found).toEqual([operation.operationId, who, status, 'no-store'])
        expect(response.headers.get('x-content-type-options')).toBe('nosniff')
        expect(response.headers.get('set-cookie')).toBeNull()
      }
    expect((await call('GET', `/v1/sessions/${sessionId}`)).body.title).toBe('Own')
  })

  it('answers a link to another session like one to an unknown session, and opens neither', async () => {
    const started = await start()
    const { url, call } = started
    const [own, other] = [await call('POST', '/v1/sessions', {}), await call('POST', '/v1/sessions', {})]
    const reader = asVisitor(url, await readerOf(started, own.body.sessionId))
    const there = await operationsOf(started, other.body.sessionId)
    const missing = await operationsOf(started, 'no-such-session')
    for (const [at, operation] of there.entries()) {
      const twin = missing[at]
      if (!operation.template.includes('{sessionId}') || twin === undefined) continue
      const [one, two] = [await send(url, operation, reader), await send(url, twin, reader)]
      expect([operation.operationId, one.status, await one.text()]).toEqual([
        operation.operationId,
        404,
        await two.text(),
      ])
    }
    expect(
      (await send(url, { method: 'GET', path: `/v1/sessions/${own.body.sessionId}` }, reader)).status,
    ).toBe(200)
  })

  it('gives a signed-in browser no further codes', async () => {
    const started = await start()
    const headers = asVisitor(started.url, await signIn(started))
    const response = await send(started.url, { method: 'POST', path: '/v1/inspector/codes' }, headers)
    expect([response.status, await response.json()]).toMatchObject([403, { code: 'forbidden' }])
  })
})

describe('an event stream of a browser', () => {
  it.each([
    {
      how: 'is signed out',
      end: async ({ url }: Started, _: string, headers: Record<string, string>) =>
        void (await send(url, { method: 'POST', path: '/v1/inspector/sign-out' }, headers)),
    },
    {
      how: 'has a link that is revoked',
      end: async ({ call }: Started, path: string) => {
        const [link] = (await call('GET', `${path}/links`)).body.links
        await call('DELETE', `${path}/links/${link.linkId}`)
      },
    },
  ])('ends when the browser $how, and shows nothing that happens afterwards', async ({ end }) => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const started = await startServer({
      inspector: true,
      limits: { heartbeatMs: 50 },
      session: {
        model: scriptedModel(async (_, n) => {
          if (n > 0) await released
          return n > 0
            ? 'A secret of the afternoon.'
            : { text: 'A word of the morning.', toolCalls: [{ name: 'glob', args: { pattern: '*' } }] }
        }),
      },
    })
    const { url, call } = started
    const path = `/v1/sessions/${(await call('POST', '/v1/sessions', {})).body.sessionId}`
    const { runId } = (await call('POST', `${path}/runs`, { prompt: 'Look.' })).body
    const headers = asVisitor(url, await readerOf(started, path.split('/').at(-1) ?? ''))
    const stream = await send(url, { method: 'GET', path: `${path}/runs/${runId}/events` }, headers)
    expect(stream.headers.get('cache-control')).toContain('no-store')
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('tool_end')) seen += (await reader?.read())?.value ?? ''
    expect(seen).toContain('morning')
    await end(started, path, headers)
    release()
    // The stream of a caller with a token continues.
    const whole = await fetch(`${url}${path}/runs/${runId}/events`, { headers: tokenHeaders })
    expect(await whole.text()).toContain('afternoon')
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true }
      if (done) break
      seen += value
    }
    expect(seen).not.toContain('afternoon')
  })
})

const start = (): Promise<Started> =>
  startServer({
    inspector: true,
    limits: { maxRequestsPerMinute: 1_000_000 },
    session: { model: scriptedModel(['Land in sight!']) },
  })

const tokenHeaders = { authorization: 'Bearer token-of-the-tests-0001' }

/** Opens a link for reading a session. */
async function readerOf(started: Started, sessionId: string) {
  const link = await started.call('POST', `/v1/sessions/${sessionId}/links`, { minutes: 5 })
  return signIn(started, String(link.body.path).split('#code=')[1] ?? '')
}

function send(
  url: string,
  { method, path, body }: Pick<Sent, 'method' | 'path'> & { readonly body?: string | undefined },
  headers: Record<string, string>,
): Promise<Response> {
  return fetch(`${url}${path}`, { method, headers, ...(body !== undefined && { body }) })
}
