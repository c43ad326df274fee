import { request as httpRequest } from 'node:http'
import { describe, expect, it, vi } from 'vitest'
import { readActions } from '../../src/server/inspector/read-actions.js'
import { scriptedModel } from '../../src/testing/index.js'
import {
  csrfName,
  exchange,
  fromPage,
  newCode,
  operationsOf,
  signIn,
  type Visit,
} from './inspector-support.js'
import { type Started, startServer } from './support.js'

const start = (): Promise<Started> =>
  startServer({ inspector: true, session: { model: scriptedModel(['Land in sight!']) } })

describe('the sign-in of a browser', () => {
  it('exchanges a code for a cookie that scripts cannot read, and that the API accepts with the CSRF header', async () => {
    const started = await start()
    const { cookie, csrf, setCookie } = await signIn(started)
    expect(setCookie).toMatch(/; Path=\/v1; Max-Age=\d+; HttpOnly; SameSite=Strict$/)
    const headers = fromPage(started.url, { cookie, [csrfName]: csrf })
    const answer = await fetch(`${started.url}/v1/inspector`, { headers })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ workspaces: [started.workspace] })
    const made = await fetch(`${started.url}/v1/sessions`, { method: 'POST', headers, body: '{}' })
    expect(made.status).toBe(201)
  })

  it('accepts a code once', async () => {
    const started = await start()
    const code = await newCode(started)
    expect((await exchange(started.url, code)).status).toBe(200)
    const second = await exchange(started.url, code)
    expect(second.status).toBe(401)
    expect(second.headers.get('set-cookie')).toBeNull()
    expect(await second.json()).toMatchObject({ code: 'sign_in_code_invalid' })
  })

  it('accepts no code after 60 seconds, and no cookie after 12 hours', async () => {
    const started = await start()
    const [late, code] = [await newCode(started), await newCode(started)]
    const { cookie, csrf } = await signIn(started, code)
    const headers = fromPage(started.url, { cookie, [csrfName]: csrf })
    const now = Date.now()
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => now + 60_001)
    try {
      expect((await exchange(started.url, late)).status).toBe(401)
      expect((await fetch(`${started.url}/v1/inspector`, { headers })).status).toBe(200)
      clock.mockImplementation(() => now + 12 * 3_600_000 + 1)
      expect((await fetch(`${started.url}/v1/inspector`, { headers })).status).toBe(401)
    } finally {
      clock.mockRestore()
    }
  })

  it('refuses the cookie without the CSRF header, and with a wrong one', async () => {
    const started = await start()
    const [one, other] = [await signIn(started), await signIn(started)]
    const status = async (more: Record<string, string>): Promise<number> =>
      (await fetch(`${started.url}/v1/sessions`, { headers: fromPage(started.url, more) })).status
    expect(await status({ cookie: one.cookie })).toBe(401)
    expect(await status({ cookie: one.cookie, [csrfName]: 'guess' })).toBe(401)
    expect(await status({ cookie: one.cookie, [csrfName]: other.csrf })).toBe(401)
    expect(await status({ [csrfName]: one.csrf })).toBe(401)
    expect(await status({ cookie: one.cookie, [csrfName]: one.csrf })).toBe(200)
  })

  it('finds the right cookie when another program of this machine has added one with the same name', async () => {
    const started = await start()
    const { cookie, csrf } = await signIn(started)
    const [name] = cookie.split('=')
    const headers = fromPage(started.url, { cookie: `${name}=e30.bad; ${cookie}`, [csrfName]: csrf })
    expect((await fetch(`${started.url}/v1/sessions`, { headers })).status).toBe(200)
  })

  it('refuses a cookie whose content was changed', async () => {
    const started = await start()
    const { cookie, csrf } = await signIn(started)
    const [name, value = ''] = cookie.split('=')
    const [content = '', mac] = value.split('.')
    const data = JSON.parse(Buffer.from(content, 'base64url').toString())
    const forged = Buffer.from(JSON.stringify({ ...data, principal: { id: 'admin' } })).toString('base64url')
    const headers = fromPage(started.url, { cookie: `${name}=${forged}.${mac}`, [csrfName]: csrf })
    expect((await fetch(`${started.url}/v1/sessions`, { headers })).status).toBe(401)
  })

  it.each([
    ['another port of this machine', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }, 403],
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }, 403],
    ['a page without an origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
    ['a browser that names only the site', { 'sec-fetch-site': 'same-site' }, 401],
  ] as const)('refuses requests from %s, and signs no browser in for them', async (_, from, refused) => {
    const started = await start()
    const { cookie, csrf } = await signIn(started)
    const headers = { 'content-type': 'application/json', ...from }
    const read = await fetch(`${started.url}/v1/sessions`, {
      headers: { ...headers, cookie, [csrfName]: csrf },
    })
    expect(read.status).toBe(refused)
    const other = await exchange(started.url, await newCode(started), headers)
    expect(other.status).toBe(403)
    expect(other.headers.get('set-cookie')).toBeNull()
  })

  it('gives an allowed origin of another host no access to the cookie', async () => {
    const origin = 'https://app.example'
    const started = await startServer({ inspector: true, allowedOrigins: [origin] })
    const { cookie, csrf } = await signIn(started)
    const headers = fromPage(origin, { cookie, [csrfName]: csrf, 'sec-fetch-site': 'cross-site' })
    expect((await fetch(`${started.url}/v1/sessions`, { headers })).status).toBe(401)
    expect((await exchange(started.url, await newCode(started), headers)).status).toBe(403)
  })

  it('answers for no host name that a DNS rebinding attack could use', async () => {
    const started = await start()
    const { cookie, csrf } = await signIn(started)
    const { port } = new URL(started.url)
    for (const path of ['/inspect/', '/v1/sessions'])
      expect(await statusFor(port, path, { host: `evil.example:${port}`, cookie, [csrfName]: csrf })).toBe(
        421,
      )
  })

  it('gives the cookie of one server no meaning on another', async () => {
    const [one, other] = [await start(), await startServer({ inspector: true, token: 'another-token-0001' })]
    const { cookie, csrf } = await signIn(one)
    const [, value] = cookie.split('=')
    const name = `capstan_inspector_${new URL(other.url).port}`
    const headers = fromPage(other.url, { cookie: `${name}=${value}`, [csrfName]: csrf })
    expect((await fetch(`${other.url}/v1/sessions`, { headers })).status).toBe(401)
  })

  it('lets a page stay signed in when the server restarts, and signs it out permanently', async () => {
    const first = await start()
    const { cookie, csrf } = await signIn(first)
    const [, value] = cookie.split('=')
    await first.stop()
    const second = await start()
    const name = `capstan_inspector_${new URL(second.url).port}`
    const headers = fromPage(second.url, { cookie: `${name}=${value}`, [csrfName]: csrf })
    const url = `${second.url}/v1/inspector`
    expect((await fetch(url, { headers })).status).toBe(200)
    const left = await fetch(`${url}/sign-out`, { method: 'POST', headers })
    expect(left.headers.get('set-cookie')).toContain('Max-Age=0')
    expect((await fetch(url, { headers })).status).toBe(401)
  })

  it('marks the cookie as secure when the page was loaded over TLS, also behind a proxy', async () => {
    const started = await startServer({ inspector: true, allowedHosts: ['agents.example'] })
    const cookieFrom = async (origin: string, host: string, more: Record<string, string> = {}) => {
      const body = JSON.stringify({ code: await newCode(started) })
      const headers = { ...fromPage(origin, more), host }
      const response = await started.server(
        new Request(`http://${host}/v1/inspector/sign-in`, { method: 'POST', headers, body }),
      )
      expect(response.status).toBe(200)
      return response.headers.get('set-cookie')
    }
    expect(await cookieFrom('https://agents.example', 'agents.example')).toMatch(
      /^capstan_inspector_web=.*; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect(await cookieFrom('http://agents.example', 'agents.example')).not.toContain('Secure')
    // Headers that a client can invent change nothing.
    const forged = { 'x-forwarded-proto': 'https', forwarded: 'proto=https' }
    expect(await cookieFrom('http://agents.example', 'agents.example', forged)).not.toContain('Secure')
  })

  it('lets no caller displace the codes of another, and no guess use one up', async () => {
    const [one, other] = ['token-of-the-first-caller', 'token-of-the-second-caller']
    const started = await startServer({
      inspector: true,
      token: [
        { token: one, id: 'one' },
        { token: other, id: 'other' },
      ],
      limits: { maxRequestsPerMinute: 10_000 },
    })
    const codeOf = async (token: string): Promise<string> =>
      (await started.call('POST', '/v1/inspector/codes', undefined, { authorization: `Bearer ${token}` }))
        .body.code
    const code = await codeOf(one)
    const own = [await codeOf(other)]
    for (let count = 0; count < 50; count++) own.push(await codeOf(other))
    for (let count = 0; count < 50; count++)
      expect((await exchange(started.url, own[count]?.replace(/.$/, '~') ?? '')).status).toBe(401)
    expect((await exchange(started.url, own[0] ?? '')).status).toBe(401)
    expect((await exchange(started.url, own.at(-1) ?? '')).status).toBe(200)
    expect((await exchange(started.url, code)).status).toBe(200)
  })

  it('is off unless the host enables it', async () => {
    const started = await startServer()
    expect((await fetch(`${started.url}/inspect/`)).status).toBe(404)
    expect((await started.call('POST', '/v1/inspector/codes')).status).toBe(404)
    expect((await exchange(started.url, 'x')).status).toBe(404)
  })

  it('gives no code without credentials', async () => {
    const { url } = await start()
    expect((await fetch(`${url}/v1/inspector/codes`, { method: 'POST' })).status).toBe(401)
  })
})

describe('a read-only link to one session', () => {
  it('shows that session, changes nothing, and ends when it is revoked', async () => {
    const started = await start()
    const { call, url } = started
    const own = await call('POST', '/v1/sessions', {})
    const path = `/v1/sessions/${own.body.sessionId}`
    await call('POST', `${path}/runs`, { prompt: 'Look.' })
    const link = await call('POST', `${path}/links`, { minutes: 5 })
    const code = String(link.body.path).split('#code=')[1] ?? ''
    const [reader, second] = [await signIn(started, code), await signIn(started, code)]
    const as = async ({ cookie, csrf }: Visit, method: string, target: string, body?: unknown) => {
      const headers = fromPage(url, { cookie, [csrfName]: csrf })
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return (await fetch(`${url}${target}`, { method, headers, ...(text !== undefined && { body: text }) }))
        .status
    }
    expect(await as(reader, 'GET', path)).toBe(200)
    expect(await as(reader, 'GET', `${path}/runs`)).toBe(200)
    expect(await as(second, 'GET', `${path}/usage`)).toBe(200)
    for (const [method, target, body] of [
      ['GET', '/v1/sessions'],
      ['GET', '/v1/events'],
      ['GET', `${path}/export`],
      ['POST', `${path}/runs`, { prompt: 'Do it.' }],
      ['POST', `${path}/approvals/call-1`, { decision: 'once' }],
      ['POST', `${path}/undo`, {}],
      ['POST', `${path}/permissions/explain`, { toolName: 'read' }],
      ['POST', `${path}/links`, { minutes: 5 }],
      ['PATCH', path, { title: 'Mine' }],
      ['DELETE', path],
      ['POST', '/v1/inspector/codes'],
    ] as const)
      expect([method, target, await as(reader, method, target, body)]).toEqual([method, target, 403])
    // Every operation that is not reading, as the server itself lists them.
    const refused = (await operationsOf(started, own.body.sessionId)).filter(
      ({ operationId }) => !readActions.has(operationId) && !openToReaders.includes(operationId),
    )
    expect(refused.length).toBeGreaterThan(30)
    for (const { method, path: target, operationId, body } of refused)
      expect([operationId, await as(reader, method, target, body)]).toEqual([operationId, 403])
    expect((await call('GET', path)).status).toBe(200)
    expect((await call('DELETE', `${path}/links/${link.body.linkId}`)).status).toBe(204)
    expect(await as(reader, 'GET', path)).toBe(401)
    expect(await as(second, 'GET', path)).toBe(401)
    expect((await exchange(url, code)).status).toBe(401)
  })
})

/** What is not a business of a session: who the reader is, and whether the server is there. */
const openToReaders = ['getInspector', 'signIn', 'signOut', 'getHealth', 'getReadiness', 'getOpenApi']

/** A request with a Host header of its own, which `fetch` does not send. */
function statusFor(port: string, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest({ host: '127.0.0.1', port, path, headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end()
  })
}
