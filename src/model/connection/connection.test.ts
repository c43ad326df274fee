import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'
import { inspect } from 'node:util'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { sharedDirectory, temporaryDirectory } from '../../../test/support/temporary-directory.js'
import {
  listenUntilDone as listen,
  listenSecurely,
  proxyPassword as password,
  startProxy,
  writeCertificate,
} from '../../../test/support/tunnel.js'
import { ModelError } from '../errors.js'
import type { ModelAnswer, ModelEvent } from '../model.js'
import { createModel, type ModelConfig } from '../provider.js'

const waitLimit = { timeout: 60_000 }
const directory = sharedDirectory()
let caFile = ''

beforeAll(() => {
  caFile = writeCertificate(directory)
})

const secureServer = (handler: RequestListener): Promise<number> => listenSecurely(directory, handler)

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const done = `${chunk({ content: 'Ahoy.' })}${chunk({}, 'stop')}data: [DONE]\n\n`
const answers: RequestListener = (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(done)
}

function ask(
  config: Partial<ModelConfig> & Pick<ModelConfig, 'baseUrl'>,
  on: (event: ModelEvent) => void = () => undefined,
  signal = new AbortController().signal,
): Promise<ModelAnswer> {
  const retry = { baseDelayMs: 1, sleep: async () => undefined }
  return createModel({ provider: 'openai', id: 'm', apiKey: 'key-1', caFile, retry, ...config }).answer(
    {
      chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Hello.' }] }],
      documents: [],
      tools: [],
    },
    { signal, on },
  )
}

async function failure(answer: Promise<ModelAnswer>): Promise<ModelError> {
  const error: unknown = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof ModelError)) throw new Error(`no ModelError: ${inspect(error)}`)
  const shown = `${inspect(error, { depth: 9, showHidden: true })}${error.stack}`
  expect(shown).not.toContain(password)
  expect(shown).not.toContain(encodeURIComponent(password))
  expect(shown).not.toContain(Buffer.from(`user:${password}`).toString('base64'))
  return error
}

/** Records the options of every TLS context that this process creates until the test is over. */
function watchContexts(): tls.SecureContextOptions[] {
  const made: tls.SecureContextOptions[] = []
  const { createSecureContext } = tls
  const replace = (create: typeof createSecureContext): void => {
    tls.createSecureContext = create
    syncBuiltinESMExports()
  }
  replace((options) => {
    made.push(options ?? {})
    return createSecureContext(options)
  })
  onTestFinished(() => replace(createSecureContext))
  return made
}

describe('requests through a proxy', { timeout: 120_000 }, () => {
  it('are sent through a tunnel to the host, with the credentials of the proxy and not those of the provider', async () => {
    const seen: IncomingMessage['headers'][] = []
    const port = await secureServer((request, response) => {
      seen.push(request.headers)
      answers(request, response)
    })
    const proxy = await startProxy()
    vi.stubEnv('HTTPS_PROXY', proxy.url)
    onTestFinished(() => void vi.unstubAllEnvs())
    const model = createModel({
      provider: 'openai',
      id: 'm',
      apiKey: 'key-1',
      caFile,
      baseUrl: `https://model.example:${port}`,
    })
    const request = { chatHistory: [], documents: [], tools: [] }
    const call = { signal: new AbortController().signal, on: () => undefined }
    for (const _ of [1, 2, 3]) {
      const { text } = await model.answer(request, call)
      expect(text).toBe('Ahoy.')
    }
    expect(proxy.asked[0]).toEqual({
      line: `CONNECT model.example:${port}`,
      authorization: `Basic ${Buffer.from(`user:${password}`).toString('base64')}`,
    })
    expect(seen).toHaveLength(3)
    expect(seen[0]).toMatchObject({ authorization: 'Bearer key-1', host: `model.example:${port}` })
    expect(seen[0]).not.toHaveProperty('proxy-authorization')
  })

  it('stream the answer, and an abort closes the tunnel', async () => {
    let open: ServerResponse | undefined
    const port = await secureServer((request, response) => {
      request.resume()
      open = response
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'First.' }))
    })
    const proxy = await startProxy()
    const stop = new AbortController()
    const heard: ModelEvent[] = []
    const answer = ask(
      { baseUrl: `https://model.example:${port}`, proxy: proxy.url },
      (event) => heard.push(event),
      stop.signal,
    )
    answer.catch(() => undefined)
    await vi.waitFor(() => expect(JSON.stringify(heard)).toContain('First.'), waitLimit)
    expect(open?.writableEnded).toBe(false)
    stop.abort()
    await expect(answer).rejects.toThrow()
    await vi.waitFor(() => expect(proxy.sockets[0]?.destroyed).toBe(true), waitLimit)
  })

  it('end with an abort while the proxy does not answer', async () => {
    const proxy = await startProxy('hang')
    const stop = new AbortController()
    const answer = ask({ baseUrl: 'https://model.example', proxy: proxy.url }, () => undefined, stop.signal)
    answer.catch(() => undefined)
    await vi.waitFor(() => expect(proxy.asked).toHaveLength(1), waitLimit)
    stop.abort()
    await expect(answer).rejects.toThrow()
    await vi.waitFor(() => expect(proxy.sockets[0]?.destroyed).toBe(true), waitLimit)
  })

  it('work for the library of a provider', async () => {
    const types = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          model: 'm',
          role: 'assistant',
          content: [],
          usage: { input_tokens: 1, output_tokens: 1 },
        },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Ahoy.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    const body = types.map((each) => `event: ${each.type}\ndata: ${JSON.stringify(each)}\n\n`).join('')
    const port = await secureServer((request, response) => {
      request.resume()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(body)
    })
    const proxy = await startProxy()
    const place = { baseUrl: `https://model.example:${port}`, proxy: proxy.url }
    const { text } = await ask({ provider: 'anthropic', ...place })
    expect(text).toBe('Ahoy.')
    expect(proxy.asked.map(({ line }) => line)).toEqual([`CONNECT model.example:${port}`])
  })

  it('to an http address are sent to the proxy itself', async () => {
    const port = await listen(createServer(answers))
    const proxy = await startProxy()
    const { text } = await ask({ baseUrl: `http://model.example:${port}`, proxy: proxy.url })
    expect(text).toBe('Ahoy.')
    expect(proxy.asked.map(({ line }) => line)).toEqual([
      `POST http://model.example:${port}/v1/chat/completions`,
    ])
  })

  it('follow no redirect', async () => {
    const port = await secureServer((request, response) => {
      request.resume()
      response.writeHead(307, { location: 'https://other.example/' }).end()
    })
    const proxy = await startProxy()
    await failure(ask({ baseUrl: `https://model.example:${port}`, proxy: proxy.url }))
    expect(proxy.asked).toHaveLength(1)
  })

  it('are retried when the proxy fails for a while, and not when it refuses', async () => {
    const port = await secureServer(answers)
    const baseUrl = `https://model.example:${port}`
    const failing = await startProxy(503)
    await ask({ baseUrl, proxy: failing.url })
    expect(failing.asked).toHaveLength(2)
    const refusing = await startProxy(407)
    const error = await failure(ask({ baseUrl, proxy: refusing.url }))
    expect(error).toMatchObject({ code: 'model_unreachable', message: expect.stringContaining('407') })
    expect(refusing.asked).toHaveLength(1)
  })

  it('fail without showing the credentials when no proxy listens', async () => {
    const closed = createServer()
    await new Promise<void>((listening) => closed.listen(0, '127.0.0.1', listening))
    const { port } = closed.address() as AddressInfo
    await new Promise((end) => closed.close(end))
    const proxy = `http://user:${encodeURIComponent(password)}@127.0.0.1:${port}`
    for (const baseUrl of ['https://model.example', 'http://model.example']) {
      const error = await failure(ask({ baseUrl, proxy }))
      expect(error).toMatchObject({
        code: 'model_unreachable',
        message: expect.stringContaining(String(port)),
      })
    }
  })
})

describe('the certificate of a provider', { timeout: 120_000 }, () => {
  it('is accepted when caFile has its authority, and refused otherwise', async () => {
    const port = await secureServer(answers)
    const proxy = await startProxy()
    const place = { baseUrl: `https://model.example:${port}`, proxy: proxy.url }
    expect((await ask(place)).text).toBe('Ahoy.')
    const { caFile: _, ...untrusting } = { caFile, ...place }
    const plain = createModel({ provider: 'openai', id: 'm', apiKey: 'key-1', ...untrusting })
    const call = { signal: new AbortController().signal, on: () => undefined }
    const error = await failure(plain.answer({ chatHistory: [], documents: [], tools: [] }, call))
    expect(error).toMatchObject({
      code: 'model_unreachable',
      message: expect.stringMatching(/SELF_SIGNED.*not trusted.*set ca_file/),
    })
  })

  it('must be of the host, through a tunnel and without one', async () => {
    const port = await secureServer(answers)
    const proxy = await startProxy()
    for (const place of [
      { baseUrl: `https://other.example:${port}`, proxy: proxy.url },
      { baseUrl: `https://127.0.0.1:${port}` },
      { baseUrl: `https://127.0.0.1:${port}`, proxy: proxy.url },
    ]) {
      const error = await failure(ask(place))
      expect(error).toMatchObject({ code: 'model_unreachable', message: expect.stringContaining('ALTNAME') })
    }
  })

  it('is checked with certificates that are parsed once for all connections', async () => {
    const made = watchContexts()
    const port = await secureServer((request, response) => {
      response.setHeader('connection', 'close')
      answers(request, response)
    })
    const proxy = await startProxy()
    const own = join(await temporaryDirectory(), 'own.pem')
    await writeFile(own, `${await readFile(caFile, 'utf8')}\n`)
    for (const _ of [1, 2, 3]) {
      const tunnelled = { baseUrl: `https://model.example:${port}`, proxy: proxy.url, caFile: own }
      expect((await ask(tunnelled)).text).toBe('Ahoy.')
      await failure(ask({ baseUrl: `https://127.0.0.1:${port}`, caFile: own }))
    }
    expect(made.filter(({ ca }) => ca !== undefined)).toHaveLength(1)
  })

  it('cannot be checked with a file that is missing or is not a certificate', async () => {
    const empty = await temporaryDirectory()
    const port = await secureServer(answers)
    for (const path of [join(empty, 'missing.pem'), join(directory, 'key')]) {
      const error = await failure(ask({ baseUrl: `https://127.0.0.1:${port}`, caFile: path }))
      expect(error).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining(path) })
    }
  })
})
