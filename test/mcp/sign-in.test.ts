import { describe, expect, it, vi } from 'vitest'
import { openSession, whenDone } from '../contract/open-session.js'
import { type Behave, type HttpServer, startHttp } from './http-server.js'

describe('SEC-183: signing in', () => {
  type Kept = Map<string, string>
  const storeOf = (kept: Kept) => ({
    load: (key: string) => kept.get(key),
    save: (key: string, value: string) => void kept.set(key, value),
    remove: (key: string) => void kept.delete(key),
  })

  /** A server that wants a token, and an authorization server next to it. */
  async function guarded(
    behave: Behave = () => false,
  ): Promise<{ server: HttpServer; refreshed: () => number }> {
    let refreshed = 0
    let valid = 'token-1'
    let server: HttpServer | undefined
    const json = (response: Parameters<Behave>[2], body: object, status = 200): true => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return true
    }
    server = await startHttp((rpc, request, response) => {
      if (behave(rpc, request, response)) return true
      const origin = server?.origin ?? ''
      const url = new URL(request.url ?? '/', origin)
      if (url.pathname.startsWith('/.well-known/oauth-protected-resource'))
        return json(response, { resource: `${origin}/mcp`, authorization_servers: [origin] })
      if (url.pathname.startsWith('/.well-known/'))
        return json(response, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        })
      if (url.pathname === '/register')
        return json(response, { client_id: 'me', redirect_uris: ['http://127.0.0.1/callback'] }, 201)
      if (url.pathname === '/token') {
        if (server?.seen.filter((one) => one.url === '/token').length !== 1) {
          refreshed++
          valid = `token-${refreshed + 1}`
        }
        return json(response, {
          access_token: valid,
          token_type: 'Bearer',
          refresh_token: 'r-1',
          expires_in: 3_600,
        })
      }
      if (rpc === undefined) return false
      if (request.headers.authorization === `Bearer ${valid}`) return false
      response
        .writeHead(401, {
          'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
        })
        .end()
      return true
    })
    whenDone(server.close)
    return { server, refreshed: () => refreshed }
  }

  it('sends the user to the address, checks the response, and saves the tokens where the host says', async () => {
    const { server } = await guarded()
    const kept: Kept = new Map()
    const asked: string[] = []
    const authorize = async ({ url }: { url: string }): Promise<string> => {
      asked.push(url)
      const { searchParams } = new URL(url)
      expect(searchParams.get('code_challenge_method')).toBe('S256')
      return `http://127.0.0.1/callback?code=c-1&state=${searchParams.get('state')}`
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(kept), authorize } } })
    expect(await session.addMcp({ name: 'web', url: server.url, oauth: {} })).toBe(1)
    expect((await session.tool('mcp__web__echo', { message: 'in' })).output).toBe('Echo: in')
    expect(asked).toHaveLength(1)
    const [[key, value] = ['', '']] = kept
    expect(key).toContain('web http://127.0.0.1:')
    expect(value).toContain('token-1')

    const { session: later } = await openSession([], { mcp: { signIn: { store: storeOf(kept) } } })
    await later.addMcp({ name: 'web', url: server.url, oauth: {} })
    expect((await later.tool('mcp__web__echo', { message: 'again' })).output).toBe('Echo: again')
  })

  it.each([
    [
      'the answer belongs to another attempt',
      async () => 'http://127.0.0.1/callback?code=c-1&state=other',
      'another attempt',
    ],
    [
      'the person says no',
      async ({ url }: { url: string }) =>
        `http://127.0.0.1/callback?error=denied&state=${new URL(url).searchParams.get('state')}`,
      'refused',
    ],
    ['no user is there', undefined, 'no authorize handler'],
  ])('fails when %s', async (_, authorize, words) => {
    const { server } = await guarded()
    const signIn = { store: storeOf(new Map()), ...(authorize !== undefined && { authorize }) }
    const { session } = await openSession([], { mcp: { signIn } })
    await expect(session.addMcp({ name: 'web', url: server.url, oauth: {} })).rejects.toThrow(words)
  })

  it('sends an existing token unchanged, and does not show a wrong one', async () => {
    const { server } = await guarded()
    const { session } = await openSession([])
    await session.addMcp({ name: 'web', url: server.url, oauth: { accessToken: 'token-1' } })
    expect((await session.tool('mcp__web__echo', { message: 'in' })).output).toBe('Echo: in')
    const wrong = session.addMcp({ name: 'no', url: server.url, oauth: { accessToken: 'wrong-token' } })
    await expect(wrong).rejects.toThrow('mcp server no is unavailable: authentication failed')
  })

  const yes = async ({ url }: { url: string }): Promise<string> =>
    `http://127.0.0.1/callback?code=c-1&state=${new URL(url).searchParams.get('state')}`

  it('takes as long as the user needs: the start time limit begins again', async () => {
    const { server } = await guarded()
    const authorize = async (request: { url: string }): Promise<string> => {
      await new Promise((resolve) => setTimeout(resolve, 1_200))
      return yes(request)
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(new Map()), authorize } } })
    const add = session.addMcp({ name: 'web', url: server.url, oauth: {}, startTimeoutMs: 1_000 })
    expect(await add).toBe(1)
  })

  it('ends with the session, also when the user never returns', async () => {
    const { server } = await guarded()
    let tell: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      tell = resolve
    })
    const authorize = (): Promise<string> => {
      tell()
      return new Promise(() => undefined)
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(new Map()), authorize } } })
    const add = session.addMcp({ name: 'web', url: server.url, oauth: {} })
    const failed = expect(add).rejects.toThrow('cancelled')
    await asked
    await session.close()
    await failed
  })

  it('registers again when the server has forgotten the client', async () => {
    const kept: Kept = new Map()
    let forgotten = false
    const { server } = await guarded((_, request, response) => {
      if (!forgotten) return false
      if (request.url === '/mcp' && request.headers.authorization !== 'Bearer token-new') {
        response.writeHead(401).end()
        return true
      }
      if (request.url !== '/token') return false
      const again = server.seen.filter(({ url }) => url === '/register').length === 2
      response.writeHead(again ? 200 : 401, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify(
          again ? { access_token: 'token-new', token_type: 'Bearer' } : { error: 'invalid_client' },
        ),
      )
      return true
    })
    const signIn = { store: storeOf(kept), authorize: yes }
    const { session } = await openSession([], { mcp: { signIn } })
    await session.addMcp({ name: 'web', url: server.url, oauth: {} })
    forgotten = true
    const { session: later } = await openSession([], { mcp: { signIn } })
    await later.addMcp({ name: 'web', url: server.url, oauth: {} }).catch((error: Error) => error.message)
    expect(server.seen.filter(({ url }) => url === '/register')).toHaveLength(2)
    expect([...kept.values()].join()).toContain('token-new')
  })

  it('sends the code to the server that the user signed in at, also if another is named meanwhile', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    whenDone(async () => warned.mockRestore())
    let turned = false
    const { server } = await guarded((_, request, response) => {
      const other = `${server.origin}/other`
      const metadata = request.url?.startsWith('/.well-known/oauth-protected-resource')
        ? { resource: server.url, authorization_servers: [other] }
        : {
            issuer: other,
            authorization_endpoint: `${other}/authorize`,
            token_endpoint: `${other}/token`,
            response_types_supported: ['code'],
          }
      if (!turned || !request.url?.startsWith('/.well-known/')) return false
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata))
      return true
    })
    const authorize = (request: { url: string }): Promise<string> => {
      turned = true
      return yes(request)
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(new Map()), authorize } } })
    expect(await session.addMcp({ name: 'web', url: server.url, oauth: {} })).toBe(1)
    expect(server.seen.map(({ url }) => url)).toContain('/token')
    expect(server.seen.map(({ url }) => url)).not.toContain('/other/token')
    expect(warned, "a library must not write to the host's terminal").not.toHaveBeenCalled()
  })

  it('asks the user again when a call needs more scopes than they approved', async () => {
    let calls = 0
    const { server } = await guarded((rpc, _, response) => {
      if (rpc?.method !== 'tools/call' || ++calls !== 1) return false
      response
        .writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mcp:write"' })
        .end()
      return true
    })
    const asked: (string | null)[] = []
    const authorize = (request: { url: string }): Promise<string> => {
      asked.push(new URL(request.url).searchParams.get('scope'))
      return yes(request)
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(new Map()), authorize } } })
    await session.addMcp({ name: 'web', url: server.url, oauth: {} })
    expect((await session.tool('mcp__web__echo', { message: 'in' })).output).toBe('Echo: in')
    expect(asked).toEqual([null, 'mcp:write'])
  })

  it('uses the configured addresses, and asks the server for no others', async () => {
    const bodies: (string | undefined)[] = []
    const { server } = await guarded((_, request, response) => {
      if (request.url?.startsWith('/.well-known/')) {
        response.writeHead(404).end()
        return true
      }
      if (request.url !== '/odd/token') return false
      bodies.push(request.headers.authorization)
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ access_token: 'token-1', token_type: 'Bearer' }))
      return true
    })
    const asked: string[] = []
    const authorize = (request: { url: string }): Promise<string> => {
      asked.push(request.url)
      return yes(request)
    }
    const { session } = await openSession([], { mcp: { signIn: { store: storeOf(new Map()), authorize } } })
    const oauth = {
      authUrl: `${server.origin}/odd/authorize`,
      tokenUrl: `${server.origin}/odd/token`,
      clientId: 'me',
      clientSecret: 'hush',
    }
    expect(await session.addMcp({ name: 'web', url: server.url, oauth })).toBe(1)
    expect(asked[0]).toContain('/odd/authorize?')
    expect(bodies).toHaveLength(1)
    expect(server.seen.some(({ url }) => url === '/token' || url.includes('authorization-server'))).toBe(
      false,
    )
  })

  it('shows a configured secret only to the sign-in that it was first used with', async () => {
    let turned = false
    const { server } = await guarded((rpc, request, response) => {
      if (!turned) return false
      const other = `${server.origin}/other`
      if (rpc !== undefined) response.writeHead(401).end()
      else if (request.url?.startsWith('/.well-known/oauth-protected-resource'))
        response.end(JSON.stringify({ resource: server.url, authorization_servers: [other] }))
      else if (request.url?.startsWith('/.well-known/'))
        response.end(
          JSON.stringify({
            issuer: other,
            authorization_endpoint: `${other}/authorize`,
            token_endpoint: `${other}/token`,
            registration_endpoint: `${other}/register`,
            response_types_supported: ['code'],
            code_challenge_methods_supported: ['S256'],
          }),
        )
      else if (request.url === '/other/register')
        response
          .writeHead(201)
          .end(JSON.stringify({ client_id: 'x', redirect_uris: ['http://127.0.0.1/callback'] }))
      else return false
      return true
    })
    const signIn = { store: storeOf(new Map()), authorize: yes }
    const oauth = { clientId: 'me', clientSecret: 'hush' }
    const { session } = await openSession([], { mcp: { signIn } })
    expect(await session.addMcp({ name: 'web', url: server.url, oauth })).toBe(1)
    turned = true
    const { session: later } = await openSession([], { mcp: { signIn } })
    await expect(later.addMcp({ name: 'web', url: server.url, oauth })).rejects.toThrow('unavailable')
    expect(server.seen.map(({ url }) => url)).not.toContain('/other/token')
  })
})
