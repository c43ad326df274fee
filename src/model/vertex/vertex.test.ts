import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { ModelError } from '../errors.js'
import type { ModelAnswer } from '../model.js'
import { createModel, type ModelConfig } from '../provider.js'
import { vertexEndpoint } from './vertex-endpoint.js'

type Seen = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: string }
type Google = { readonly url: string; readonly seen: Seen[]; readonly tokens: URLSearchParams[] }

/** Google on loopback: an endpoint for tokens, and a model that streams. */
async function startGoogle(token: (count: number) => { status?: number; body: unknown }): Promise<Google> {
  const seen: Seen[] = []
  const tokens: URLSearchParams[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    if (request.url === '/token') {
      tokens.push(new URLSearchParams(body))
      const reply = token(tokens.length)
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(reply.body))
      return
    }
    seen.push({ path: request.url ?? '', headers: request.headers, body })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const candidate = { content: { role: 'model', parts: [{ text: 'Ahoy.' }] }, finishReason: 'STOP' }
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 }
    response.end(`data: ${JSON.stringify({ candidates: [candidate], usageMetadata })}\n\n`)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, tokens }
}

function asking(config: Partial<ModelConfig>): () => Promise<ModelAnswer> {
  const retry = { baseDelayMs: 1, sleep: async () => undefined }
  const model = createModel({ provider: 'vertex', id: 'gemini-2.5-flash', retry, ...config })
  return () =>
    model.answer(
      { chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }], documents: [], tools: [] },
      { signal: new AbortController().signal, on: () => undefined },
    )
}

async function failure(answer: Promise<ModelAnswer>, ...hidden: readonly string[]): Promise<ModelError> {
  const error: unknown = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ModelError)) throw new Error(`no ModelError: ${inspect(error)}`)
  const shown = `${inspect(error, { depth: 9, showHidden: true })}${error.stack}`
  for (const secret of hidden) expect(shown).not.toContain(secret)
  return error
}

async function credentials(content: object | string): Promise<string> {
  const path = join(await temporaryDirectory(), 'credentials.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const account = (url: string) => ({
  type: 'service_account',
  client_email: 'robot@project.test',
  private_key: privateKey,
  private_key_id: 'k1',
  token_uri: `${url}/token`,
})
const unused = () => ({ status: 500, body: {} })
const timeout = 120_000

describe('a model of Vertex AI', { timeout }, () => {
  it('is called at the path of its project and location with the access token', async () => {
    const google = await startGoogle(unused)
    const vertex = { project: 'my-project', location: 'europe-west1' }
    const answer = await asking({ baseUrl: google.url, accessToken: 'token-1', vertex })()
    expect(answer).toMatchObject({ text: 'Ahoy.', usage: { totalTokens: 5 } })
    expect(google.seen[0]).toMatchObject({
      path: '/v1/projects/my-project/locations/europe-west1/publishers/google/models/gemini-2.5-flash:streamGenerateContent?alt=sse',
      headers: { authorization: 'Bearer token-1' },
    })
    expect(google.seen[0]?.headers).not.toHaveProperty('x-goog-api-key')
    expect(JSON.parse(google.seen[0]?.body ?? '')).toMatchObject({ contents: [{ role: 'user' }] })
  })

  it.each([
    [
      { project: 'p', location: 'us-east5' },
      'https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/google',
    ],
    [{ project: 'p' }, 'https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google'],
    [{ project: 'p', location: 'evil.test/' }, undefined],
    [{ project: '../x' }, undefined],
    [{}, undefined],
  ])('with %j has the address %s', (access, expected) => {
    expect(vertexEndpoint(access, undefined)).toBe(expected)
  })

  it('without a project or without credentials fails with the names of the settings', async () => {
    const noProject = await failure(asking({ accessToken: 'token-1' })(), 'token-1')
    expect(noProject).toMatchObject({ code: 'model_unavailable' })
    expect(noProject.message).toContain('GOOGLE_CLOUD_PROJECT')
    const noToken = await failure(asking({ vertex: { project: 'p' } })())
    expect(noToken).toMatchObject({ code: 'model_auth' })
    expect(noToken.message).toContain('GOOGLE_APPLICATION_CREDENTIALS')
  })
})

describe('the token of a credentials file', { timeout }, () => {
  it('of a service account is exchanged for a signed request, and used until it expires', async () => {
    const google = await startGoogle((count) => ({
      body: { access_token: `token-${count}`, expires_in: count === 1 ? 100 : 3600 },
    }))
    const credentialsFile = await credentials(account(google.url))
    const ask = asking({ baseUrl: google.url, vertex: { project: 'p', credentialsFile } })
    for (const _ of [1, 2, 3]) await ask()
    // The first is over in less time than a request may need.
    expect(google.seen.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-2',
      'Bearer token-2',
    ])
    const [form] = google.tokens
    expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    const [head = '', claims = '', signature = ''] = form?.get('assertion')?.split('.') ?? []
    const decoded = [head, claims].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
    expect(decoded).toMatchObject([
      { alg: 'RS256', kid: 'k1' },
      {
        iss: 'robot@project.test',
        aud: `${google.url}/token`,
        scope: 'https://www.googleapis.com/auth/cloud-platform',
      },
    ])
    const text = Buffer.from(`${head}.${claims}`)
    const key = createPublicKey(publicKey)
    expect(verify('RSA-SHA256', text, key, Buffer.from(signature, 'base64url'))).toBe(true)
  })

  it('is fetched once for requests at the same time', async () => {
    const google = await startGoogle(() => ({ body: { access_token: 'token-1', expires_in: 3600 } }))
    const credentialsFile = await credentials(account(google.url))
    const ask = asking({ baseUrl: google.url, vertex: { project: 'p', credentialsFile } })
    await Promise.all([ask(), ask(), ask()])
    expect(google.tokens).toHaveLength(1)
  })

  it('of a user is exchanged for the refresh token', async () => {
    const google = await startGoogle(() => ({ body: { access_token: 'token-1', expires_in: 3600 } }))
    const user = { client_id: 'c', client_secret: 'cs-hidden', refresh_token: 'rt-hidden' }
    const credentialsFile = await credentials({
      type: 'authorized_user',
      ...user,
      token_uri: `${google.url}/token`,
    })
    await asking({ baseUrl: google.url, vertex: { project: 'p', credentialsFile } })()
    expect(Object.fromEntries(google.tokens[0] ?? [])).toEqual({ grant_type: 'refresh_token', ...user })
    expect(google.seen[0]?.headers.authorization).toBe('Bearer token-1')
  })

  it('is requested again after a failure of the server, and not after a refusal, whose error shows no secret', async () => {
    const secret = 'rt-hidden'
    const google = await startGoogle((count) => ({
      status: count === 1 ? 503 : 400,
      body: { error: 'invalid_grant', error_description: `bad ${secret}` },
    }))
    const user = {
      type: 'authorized_user',
      client_id: 'c',
      client_secret: 'cs-hidden',
      refresh_token: secret,
    }
    const credentialsFile = await credentials({ ...user, token_uri: `${google.url}/token` })
    const ask = asking({ baseUrl: google.url, vertex: { project: 'p', credentialsFile } })
    const error = await failure(ask(), secret, 'cs-hidden')
    expect(error).toMatchObject({ code: 'model_auth', status: 400 })
    expect(error.message).toContain('invalid_grant')
    expect(google.tokens).toHaveLength(2)
    expect(google.seen).toHaveLength(0)
  })

  it.each([
    ['is not JSON', 'hidden-word {'],
    ['has a private_key', { ...account('http://127.0.0.1:1'), private_key: 'hidden-word' }],
    ['has no client_email', { ...account('http://127.0.0.1:1'), client_email: '' }],
    ['token_uri', { ...account('http://127.0.0.1:1'), token_uri: 'http://hidden-word.test/token' }],
    ['has a type other than', { type: 'external_account', secret: 'hidden-word' }],
  ])('cannot be read from a file that %s', async (problem, content) => {
    const credentialsFile = await credentials(content)
    const google = await startGoogle(unused)
    const ask = asking({ baseUrl: google.url, vertex: { project: 'p', credentialsFile } })
    const error = await failure(ask(), 'hidden-word', 'PRIVATE KEY')
    expect(error).toMatchObject({ code: 'model_auth', message: expect.stringContaining(problem) })
    expect(error.message).toContain(credentialsFile)
  })
})
