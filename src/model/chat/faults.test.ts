import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { overlappingTests } from '../../../test/support/overlapping-tests.js'
import { ModelError } from '../errors.js'
import type { ModelCall, ModelEvent, ModelFacts } from '../model.js'
import { type ChatModelOptions, createChatModel } from './chat-model.js'

const facts: ModelFacts = {
  contextTokens: 1000,
  tools: true,
  images: true,
  documents: true,
  reasoning: false,
  temperature: true,
  structuredOutput: true,
}
const key = 'sk-very-secret-key'
const closers: (() => unknown)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

type Handler = (response: ServerResponse, number: number) => void
type Served = { readonly baseUrl: string; requests(): number; readonly gone: Promise<void> }

/** A server that handles each request as the test says, and reports when a client disconnects early. */
async function serve(handler: Handler): Promise<Served> {
  let requests = 0
  let left = (): void => undefined
  const gone = new Promise<void>((resolve) => {
    left = resolve
  })
  const server = createServer((request, response) => {
    const number = ++requests
    response.on('close', () => !response.writableFinished && left())
    request.resume().on('end', () => handler(response, number))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    server.closeAllConnections()
    server.close()
    return once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { baseUrl: `http://127.0.0.1:${port}`, requests: () => requests, gone }
}

async function tell(baseUrl: string, call: Partial<ModelCall> = {}, options: Partial<ChatModelOptions> = {}) {
  const said: ModelEvent[] = []
  const slept: number[] = []
  const model = createChatModel({
    provider: 'acme',
    id: 'm1',
    baseUrl,
    apiKey: key,
    facts,
    retry: { random: () => 0.5, sleep: async (ms) => void slept.push(ms) },
    ...options,
  })
  const answer = await model
    .answer(
      { chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], documents: [], tools: [] },
      { signal: new AbortController().signal, on: (event) => said.push(event), ...call },
    )
    .catch((error: unknown) => error)
  const error = answer instanceof ModelError ? answer : undefined
  return {
    answer,
    error,
    said,
    slept,
    text: said.map((event) => (event.type === 'text' ? event.text : '')).join(''),
  }
}

const data = (content: string): string => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`
const stop = `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: 'stop' }] })}\n\n`
const sse = { 'content-type': 'text/event-stream' }
const whole = (text: string): string => `${data(text)}${stop}data: [DONE]\n\n`

/** Each piece in a separate packet. */
async function pieces(response: ServerResponse, ...parts: (string | Uint8Array)[]): Promise<void> {
  response.writeHead(200, sse)
  for (const part of parts) {
    await new Promise((resolve) => response.write(part, resolve))
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('a stream that is accepted', () => {
  const text = 'grün 😀 “x”'
  const bytes = Buffer.from(whole(text))
  it.each<[string, (string | Uint8Array)[]]>([
    ['byte by byte', [...bytes].map((byte) => Uint8Array.of(byte))],
    ['without a space after the colon', [whole(text).replaceAll('data: ', 'data:')]],
    ['with carriage returns', [whole(text).replaceAll('\n', '\r\n')]],
    ['with one line break between events', [whole(text).replaceAll('\n\n', '\n')]],
    ['with a byte order mark', [`\ufeff${whole(text)}`]],
    ['without [DONE]', [data(text), stop]],
    ['without a blank line at the end', [data(text), stop.trimEnd()]],
    ['with [DONE] and no reason', [data(text), 'data: [DONE]\n\n']],
    [
      'with comments, heartbeats and other fields',
      [': hi\n\n', 'retry: 5\nid: 1\n\n', 'data: ping\n\n', whole(text)],
    ],
    ['with events after [DONE]', [whole(text), data('more')]],
    [
      'with usage and no reason',
      [data(text), 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'],
    ],
  ])('%s', async (_, parts) => {
    const { baseUrl } = await serve(async (response) => {
      await pieces(response, ...parts)
      response.end()
    })
    const result = await tell(baseUrl)
    expect(result.answer).toMatchObject({ text, finish: 'stop' })
    expect(result.text).toBe(text)
  })

  it('although the server sends everything and never closes the connection', async () => {
    const { baseUrl, gone } = await serve((response) => pieces(response, whole('all')))
    expect((await tell(baseUrl)).answer).toMatchObject({ text: 'all' })
    await gone
  })
})

describe('a stream that breaks', () => {
  it.each<[string, string, boolean]>([
    ['in the middle of the answer', data('half'), true],
    ['before the first word', ': hello\n\n', false],
    ['with nothing but [DONE]', 'data: [DONE]\n\n', false],
  ])('%s is not an answer', async (_, body, emitted) => {
    const { baseUrl, requests } = await serve((response) => response.writeHead(200, sse).end(body))
    const { error } = await tell(baseUrl, { maxAttempts: 2 })
    expect(error).toMatchObject({ code: 'model_bad_response', emitted })
    expect(requests()).toBe(emitted ? 1 : 2)
  })

  it('by a cut connection is retried when nothing was emitted', async () => {
    const { baseUrl, requests } = await serve(async (response, number) => {
      if (number > 1) return void response.writeHead(200, sse).end(whole('there'))
      await pieces(response, ': hello\n\n')
      response.destroy()
    })
    const { answer, said } = await tell(baseUrl)
    expect(answer).toMatchObject({ text: 'there' })
    expect(requests()).toBe(2)
    expect(said[0]).toMatchObject({ type: 'retry', attempt: 1, delayMs: 875 })
  })

  it('by a cut connection fails at once when something was emitted', async () => {
    const { baseUrl, requests } = await serve(async (response) => {
      await pieces(response, data('half'))
      response.destroy()
    })
    const { error } = await tell(baseUrl)
    expect(error).toMatchObject({ code: 'model_unreachable', emitted: true, retryable: true })
    expect(requests()).toBe(1)
  })

  it('with an error object names the error', async () => {
    const body = `${data('half')}data: {"error":{"message":"Overloaded ${key}","code":503}}\n\n`
    const { baseUrl, requests } = await serve((response) => response.writeHead(200, sse).end(body))
    const { error } = await tell(baseUrl)
    expect(error).toMatchObject({ code: 'model_server_error', emitted: true, status: 503 })
    expect(error?.message).toContain('Overloaded [key]')
    expect(requests()).toBe(1)
  })

  it('with an error event names the error', async () => {
    const { baseUrl } = await serve((response) =>
      response.writeHead(200, sse).end('event: error\ndata: {"message":"out of luck"}\n\n'),
    )
    const { error } = await tell(baseUrl)
    expect(error).toMatchObject({ code: 'model_request_refused' })
    expect(error?.message).toContain('out of luck')
  })

  it('with an event that is not JSON is a bad response', async () => {
    const { baseUrl } = await serve((response) => response.writeHead(200, sse).end('data: {"choices":[\n\n'))
    expect((await tell(baseUrl, { maxAttempts: 1 })).error).toMatchObject({ code: 'model_bad_response' })
  })

  it.each([
    ['a web page', '<!doctype html><title>Welcome</title>', 'model_bad_response', 'web page'],
    [
      'an error object',
      '{"error":{"message":"nope","type":"invalid_request_error"}}',
      'model_request_refused',
      'nope',
    ],
    ['nothing', '', 'model_bad_response', 'empty'],
  ])('because it is %s says so', async (_, body, code, words) => {
    const { baseUrl } = await serve((response) => response.writeHead(200, sse).end(body))
    const { error } = await tell(baseUrl)
    expect(error?.code).toBe(code)
    expect(error?.message).toContain(words)
  })
})

// The limits are long enough for a busy machine, on which the first byte can arrive late.
describe('silence', () => {
  const it = overlappingTests()

  it('is measured by the model’s output, not by heartbeats or empty deltas', async () => {
    const beats: ReturnType<typeof setInterval>[] = []
    closers.push(() => beats.map((beat) => clearInterval(beat)))
    const { baseUrl, requests } = await serve((response) => {
      response.writeHead(200, sse)
      beats.push(setInterval(() => response.write(`: beat\n\n${data('')}`), 5))
    })
    const { error } = await tell(baseUrl, { idleTimeoutMs: 1_000, maxAttempts: 2 })
    expect(error).toMatchObject({ code: 'model_stalled', emitted: false, retryable: true })
    expect(requests()).toBe(2)
  })

  it('after the first output ends the request, and the connection with it', async () => {
    const { baseUrl, requests, gone } = await serve((response) => void pieces(response, data('half')))
    const { error } = await tell(baseUrl, { idleTimeoutMs: 2_000 })
    expect(error).toMatchObject({ code: 'model_stalled', emitted: true })
    expect(requests()).toBe(1)
    await gone
  })

  it('does not count while the reader is slow', async () => {
    const { baseUrl } = await serve(async (response) => {
      await pieces(response, data('one'))
      await new Promise((resolve) => setTimeout(resolve, 30))
      response.end(whole('two'))
    })
    let asked = 0
    const drain = (): Promise<void> | undefined =>
      ++asked === 1 ? new Promise((resolve) => setTimeout(resolve, 1_500)) : undefined
    const { answer } = await tell(baseUrl, { idleTimeoutMs: 1_000, drain })
    expect(answer).toMatchObject({ text: 'onetwo' })
  })

  it('and output alike end with the time limit of the attempt', async () => {
    let timer: ReturnType<typeof setInterval> | undefined
    closers.push(() => clearInterval(timer))
    const { baseUrl } = await serve((response) => {
      response.writeHead(200, sse)
      timer = setInterval(() => response.write(data('x')), 5)
    })
    const { error } = await tell(baseUrl, { timeoutMs: 1_000 })
    expect(error).toMatchObject({ code: 'model_timeout', emitted: true })
  })
})

describe('an abort', () => {
  const abortable = (): { controller: AbortController; call: Partial<ModelCall> } => {
    const controller = new AbortController()
    return { controller, call: { signal: controller.signal } }
  }

  it('before the request sends nothing', async () => {
    const { baseUrl, requests } = await serve((response) => response.end())
    const { controller, call } = abortable()
    controller.abort('why')
    expect((await tell(baseUrl, call)).answer).toBe('why')
    expect(requests()).toBe(0)
  })

  it('in the middle of the answer rejects with its reason and closes the connection', async () => {
    const { baseUrl, gone } = await serve((response) => void pieces(response, data('half')))
    const { controller, call } = abortable()
    const reason = new Error('enough')
    const { answer } = await tell(baseUrl, { ...call, on: () => controller.abort(reason) })
    expect(answer).toBe(reason)
    await gone
  })

  it('while the reader is slow rejects with its reason', async () => {
    const { baseUrl, gone } = await serve((response) => void pieces(response, data('half')))
    const { controller, call } = abortable()
    const drain = (): Promise<void> => {
      setTimeout(() => controller.abort('enough'), 5)
      return new Promise(() => undefined)
    }
    expect((await tell(baseUrl, { ...call, drain })).answer).toBe('enough')
    await gone
  })

  it('during the delay before a retry ends the delay', async () => {
    const { baseUrl, requests } = await serve((response) => response.writeHead(503).end())
    const { controller, call } = abortable()
    const { answer } = await tell(
      baseUrl,
      { ...call, on: () => setImmediate(() => controller.abort('enough')) },
      { retry: { baseDelayMs: 60_000, maxDelayMs: 60_000, random: () => 1 } },
    )
    expect(answer).toBe('enough')
    expect(requests()).toBe(1)
  })

  it('and an error of the listener are passed on unchanged, with nothing left open', async () => {
    const { baseUrl, requests, gone } = await serve((response) => void pieces(response, data('half')))
    const failure = new Error('listener')
    const on = (): void => {
      throw failure
    }
    expect((await tell(baseUrl, { on })).answer).toBe(failure)
    expect(requests()).toBe(1)
    await gone
  })
})

describe('a refusal', () => {
  const refuse = (status: number, body: string, headers: Record<string, string> = {}) =>
    serve((response) => response.writeHead(status, headers).end(body))

  it.each<[number, string, string, string[]]>([
    [
      401,
      `{"error":{"message":"Incorrect API key provided: ${key}."}}`,
      'model_auth',
      ['acme', 'was rejected', '[key]'],
    ],
    [403, 'Forbidden', 'model_auth', ['acme', 'Forbidden']],
    [
      404,
      '{"error":{"message":"no such model"}}',
      'model_unavailable',
      ['acme/m1', '127.0.0.1', 'no such model'],
    ],
    [402, '{"error":"pay first"}', 'model_rate_limited', ['no credit', 'pay first']],
    [
      429,
      '{"error":{"code":"insufficient_quota","message":"You exceeded"}}',
      'model_rate_limited',
      ['no credit'],
    ],
    [
      400,
      '{"error":{"code":"context_length_exceeded","message":"This model\'s maximum context length is 1000 tokens"}}',
      'model_context_overflow',
      ['longer than its context window', '1000 tokens'],
    ],
    [400, '{"error":{"message":"bad schema"}}', 'model_request_refused', ['HTTP 400', 'bad schema']],
    [422, '{"message":{"detail":[{"msg":"Extra inputs"}]}}', 'model_request_refused', ['Extra inputs']],
    [404, '<html><head><title>Not here</title></head>', 'model_unavailable', ['Not here']],
    [400, 'x'.repeat(5000), 'model_request_refused', ['x'.repeat(300)]],
  ])('with status %i and %s is %s, reported at once', async (status, body, code, words) => {
    const { baseUrl, requests } = await refuse(status, body)
    const { error } = await tell(baseUrl)
    expect(error).toMatchObject({ code, status, emitted: false })
    for (const word of words) expect(error?.message).toContain(word)
    expect(error?.message).not.toContain('secret')
    expect(error?.message.length).toBeLessThan(500)
    expect(requests()).toBe(1)
  })

  it('without a key says that it is missing', async () => {
    const { baseUrl } = await refuse(401, '')
    expect((await tell(baseUrl, {}, { apiKey: '' })).error?.message).toContain('is missing')
  })

  it.each([408, 409, 425, 429, 500, 502, 503, 529])(
    'with status %i is retried for more than a minute',
    async (status) => {
      const { baseUrl, requests } = await refuse(status, '')
      const { error, said, slept } = await tell(baseUrl)
      expect(error).toMatchObject({ status, retryable: true })
      expect(requests()).toBe(8)
      expect(slept).toEqual([875, 1750, 3500, 7000, 14_000, 26_250, 26_250])
      expect(said).toMatchObject([1, 2, 3, 4, 5, 6, 7].map((attempt) => ({ type: 'retry', attempt, status })))
    },
  )

  it.each([
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': '3600' }, 300_000],
    [{ 'retry-after': new Date(100_000).toUTCString() }, 10_000],
    [{ 'retry-after': new Date(1000).toUTCString() }, 875],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after': 'soon' }, 875],
  ])('that requests a delay of %o is retried after %i ms', async (headers, delay) => {
    const { baseUrl } = await refuse(429, '', headers)
    const { slept } = await tell(baseUrl, { maxAttempts: 2 }, { now: () => 90_000 })
    expect(slept).toEqual([delay])
  })

  it('of stream_options leads to requests without it from then on', async () => {
    const { baseUrl, requests } = await serve((response, number) => {
      if (number === 1)
        response.writeHead(422).end('{"detail":"stream_options: extra inputs are not permitted"}')
      else response.writeHead(200, sse).end(whole('ok'))
    })
    const { answer, slept } = await tell(baseUrl)
    expect(answer).toMatchObject({ text: 'ok' })
    expect([requests(), slept]).toEqual([2, []])
  })

  it('by a redirect is reported, not followed', async () => {
    const { baseUrl, requests } = await refuse(307, '', { location: 'http://127.0.0.1:1/elsewhere?k=1' })
    const { error } = await tell(baseUrl)
    expect(error).toMatchObject({ code: 'model_request_refused', status: 307 })
    expect(error?.message).toContain('redirects to http://127.0.0.1:1:')
    expect(requests()).toBe(1)
  })
})

describe('a server that cannot be reached', () => {
  it('is reported at once, without a retry', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const { error, slept } = await tell(`http://127.0.0.1:${port}`)
    expect(error).toMatchObject({ code: 'model_unreachable', retryable: false })
    expect(error?.message).toContain(`127.0.0.1:${port}`)
    expect(error?.message).toContain('ECONNREFUSED')
    expect(slept).toEqual([])
  })

  it('because it has no TLS is reported at once', async () => {
    const { baseUrl } = await serve((response) => response.end())
    const { error, slept } = await tell(baseUrl.replace('http:', 'https:'))
    expect(error).toMatchObject({ code: 'model_unreachable', retryable: false })
    expect(slept).toEqual([])
  })

  it('because its address contains a password is reported without the password', async () => {
    const { error } = await tell('http://someone:hunter22@127.0.0.1:1')
    expect(error?.code).toBe('model_unreachable')
    expect(error?.message).not.toMatch(/hunter22|someone/)
    expect(error?.cause).toBeUndefined()
  })

  it('because the key cannot be a header is reported without the key', async () => {
    const { error } = await tell('http://127.0.0.1:1', {}, { apiKey: 'sk-abc\ndef-ghi' })
    expect(error?.code).toBe('model_unreachable')
    expect(`${error?.message} ${String(error?.cause)}`).not.toMatch(/abc|ghi/)
  })
})
