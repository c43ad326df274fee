import { readdir, readFile } from 'node:fs/promises'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { overlappingTests } from '../../../test/support/overlapping-tests.js'
import type { ServedStep } from '../../testing/model-server/served-step.js'
import { type ModelServer, startModelServer } from '../../testing/model-server/start-model-server.js'
import type { CompletionRequest, Message } from '../../tool/completion.js'
import { ModelError } from '../errors.js'
import type { Model, ModelAnswer, ModelCall, ModelEvent } from '../model.js'
import { type AiSdkKind, type AiSdkModelOptions, createAiSdkModel } from './create-ai-sdk-model.js'

const kinds: readonly AiSdkKind[] = ['anthropic', 'google', 'openai-responses']
const ids: Readonly<Record<AiSdkKind, string>> = {
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-3-pro',
  'openai-responses': 'gpt-5',
}
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let server: ModelServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

async function open(
  kind: AiSdkKind,
  script: readonly (ServedStep | string)[],
  options: Partial<AiSdkModelOptions> = {},
): Promise<Model> {
  server = await startModelServer(script)
  return modelAt(server, kind, options)
}

function modelAt({ url }: ModelServer, kind: AiSdkKind, options: Partial<AiSdkModelOptions> = {}): Model {
  const baseUrl = `${url}/${kind === 'google' ? 'v1beta' : 'v1'}`
  return createAiSdkModel({
    provider: kind,
    kind,
    id: ids[kind],
    apiKey: 'secret-key-12345',
    baseUrl,
    retry: { baseDelayMs: 1 },
    ...options,
  })
}

type Heard = { answer: ModelAnswer; events: ModelEvent[] }

async function ask(
  model: Model,
  request: Partial<CompletionRequest> = {},
  call: Partial<ModelCall> = {},
): Promise<Heard> {
  const events: ModelEvent[] = []
  const answer = await model.answer(
    { chatHistory: [said('hi')], documents: [], tools: [], ...request },
    { signal: new AbortController().signal, on: (event) => void events.push(event), ...call },
  )
  return { answer, events }
}

function said(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] }
}

function bodyOf(n: number): string {
  return JSON.stringify(server?.requests[n]?.body)
}

const read = {
  name: 'read',
  description: 'Reads.',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
}

describe('silence, in spite of heartbeats,', () => {
  const it = overlappingTests()

  for (const kind of kinds)
    it(`times out on the ${kind} wire`, async () => {
      const silent = await startModelServer([{ text: 'a b c', stall: 4, stallHeartbeatMs: 10 }])
      onTestFinished(() => silent.close())
      const asking = ask(modelAt(silent, kind), {}, { idleTimeoutMs: 1_000, maxAttempts: 1 })
      await expect(asking).rejects.toMatchObject({ code: 'model_stalled' })
      expect(await silent.requests[0]?.ended).toBe('left')
    })
})

describe.each(kinds)('the %s wire', (kind) => {
  it('streams text, with usage and the reason for the end', async () => {
    const usage = { inputTokens: 100, outputTokens: 12, cachedInputTokens: 40, reasoningTokens: 3 }
    const model = await open(kind, [{ text: 'Hello there ☃', usage }])
    const { answer, events } = await ask(model, { instructions: 'Be brief.', maxTokens: 50 })
    expect(events).toEqual(['Hello ', 'there ', '☃'].map((text) => ({ type: 'text', text })))
    expect(answer).toMatchObject({
      text: 'Hello there ☃',
      content: [{ type: 'text', text: 'Hello there ☃' }],
      finish: 'stop',
      usage: { inputTokens: 100, outputTokens: 12, totalTokens: 112, cachedInputTokens: 40 },
    })
    expect(answer.response.id).toBeTruthy()
    expect(answer.response.firstTokenMs).toBeGreaterThan(0)
    expect(bodyOf(0)).toContain('Be brief.')
    expect(bodyOf(0)).toMatch(/"(max_tokens|maxOutputTokens|max_output_tokens)":50/)
  })

  it('returns tool calls, several in one answer, and sends their results back', async () => {
    const toolCalls = [
      { name: 'read', args: { path: 'a.txt' }, id: 'toolu_1' },
      { name: 'read', args: { path: 'b.txt' }, id: 'toolu_2' },
    ]
    const model = await open(kind, [{ text: 'Looking.', toolCalls }, 'Done.'])
    const { answer, events } = await ask(model, { tools: [read], toolChoice: 'auto' })
    expect(answer.finish).toBe('tool_calls')
    expect(answer.toolCalls.map(({ name, input }) => [name, JSON.parse(input)])).toEqual([
      ['read', { path: 'a.txt' }],
      ['read', { path: 'b.txt' }],
    ])
    const [first, second] = answer.toolCalls.map(({ id }) => id)
    expect(new Set([first, second]).size).toBe(2)
    const pieces = events.filter((event) => event.type === 'tool_input' && event.id === second)
    expect(pieces.map((event) => (event.type === 'tool_input' ? event.text : '')).join('')).toBe(
      '{"path":"b.txt"}',
    )
    const results: Message = {
      role: 'tool',
      content: [
        { type: 'tool_result', id: first ?? '', toolName: 'read', content: [{ type: 'text', text: 'AAA' }] },
        {
          type: 'tool_result',
          id: second ?? '',
          content: [{ type: 'text', text: 'no such file' }],
          isError: true,
        },
      ],
    }
    await ask(model, {
      tools: [read],
      chatHistory: [said('hi'), { role: 'assistant', content: answer.content }, results],
    })
    expect(bodyOf(1)).toContain('AAA')
    expect(bodyOf(1)).toContain('no such file')
    expect(bodyOf(1)).toContain('a.txt')
    expect(bodyOf(1)).toContain('Reads.')
  })

  it('shows images of the user and of tools, and documents', async () => {
    const model = await open(kind, ['Seen.'])
    await ask(model, {
      documents: [{ id: 'notes', text: 'context of the user' }],
      chatHistory: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', data: pixel, mediaType: 'image/png' },
            { type: 'document', data: 'JVBERi0=', mediaType: 'application/pdf', name: 'a.pdf' },
            { type: 'document', data: 'plain words', mediaType: 'text/plain', name: 'a.txt' },
          ],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool_call', id: 'c:1', function: { name: 'shot', arguments: {} } }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool_result',
              id: 'c:1',
              toolName: 'shot',
              content: [
                { type: 'text', text: 'the screen' },
                { type: 'image', data: `data:image/jpeg;base64,${pixel}` },
              ],
            },
          ],
        },
      ],
    })
    const body = bodyOf(0)
    expect(body.split(pixel)).toHaveLength(3)
    expect(body).toContain('image/jpeg')
    expect(body).toContain('JVBERi0=')
    expect(body).toContain('plain words')
    expect(body).toContain('context of the user')
    expect(body).toContain('the screen')
    expect(body).not.toContain('c:1')
  })

  it.runIf(kind === 'google')('takes audio and video', async () => {
    const model = await open(kind, ['Heard.'], { facts: { audio: true, video: true } })
    const content = ['audio/mpeg', 'video/mp4'].map((mediaType) => {
      return { type: 'document' as const, data: 'aGk=', mediaType, name: 'a' }
    })
    await ask(model, { chatHistory: [{ role: 'user', content }] })
    for (const type of ['audio/mpeg', 'video/mp4'])
      expect(bodyOf(0)).toContain(JSON.stringify({ mimeType: type, data: 'aGk=' }).slice(1, -1))
  })

  it('returns reasoning, and sends it back only to the same provider', async () => {
    const script = [
      {
        reasoning: 'let me see',
        signature: 'SIGNED',
        text: 'Yes.',
        toolCalls: [{ name: 'read', args: {}, signature: 'CALLSIG' }],
      },
      'Again.',
      'Other.',
    ]
    const model = await open(kind, script)
    const { answer, events } = await ask(model, { tools: [read], additionalParams: { thinkingBudget: 5000 } })
    const thought = events.flatMap((event) => (event.type === 'reasoning' ? [event.text] : [])).join('')
    expect(thought).toBe('let me see')
    expect(bodyOf(0)).toMatch(/"budget_tokens":5000|"thinkingBudget":5000|"effort":"medium"/)
    const [call] = answer.toolCalls
    const chatHistory: Message[] = [
      said('hi'),
      { role: 'assistant', content: answer.content },
      {
        role: 'tool',
        content: [{ type: 'tool_result', id: call?.id ?? '', content: [{ type: 'text', text: 'r' }] }],
      },
    ]
    await ask(model, { tools: [read], chatHistory, additionalParams: { thinkingBudget: 5000 } })
    expect(bodyOf(1)).toContain(kind === 'google' ? 'CALLSIG' : 'SIGNED')
    expect(bodyOf(1)).toContain('let me see')

    const other = kinds.find((each) => each !== kind) ?? 'google'
    const stranger = createAiSdkModel({
      provider: other,
      kind: other,
      id: ids[other],
      apiKey: 'k',
      baseUrl: `${server?.url}/${other === 'google' ? 'v1beta' : 'v1'}`,
    })
    await ask(stranger, { tools: [read], chatHistory })
    expect(bodyOf(2)).not.toContain('SIG')
    expect(bodyOf(2)).not.toContain('let me see')
  })

  it.each([
    ['length', 'length'],
    ['content_filter', 'content_filter'],
  ] as const)('reports why it ended: %s', async (finish, expected) => {
    const { answer } = await ask(await open(kind, [{ text: 'a', finish }]))
    expect(answer.finish).toBe(expected)
  })

  it('fails at once when the key is rejected, without showing it', async () => {
    const model = await open(kind, [{ status: 401, message: 'bad key secret-key-12345' }])
    const error = await ask(model).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ code: 'model_auth', status: 401, retryable: false })
    expect(String(error)).not.toContain('secret-key')
    expect(server?.requests).toHaveLength(1)
  })

  it('waits as requested and retries after 429 and 500', async () => {
    const model = await open(kind, [
      { status: 429, headers: { 'retry-after-ms': '7' }, message: 'slow' },
      { status: 500, message: 'oops' },
      'Finally.',
    ])
    const { answer, events } = await ask(model)
    expect(answer.text).toBe('Finally.')
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'retry', attempt: 1, delayMs: 7, status: 429 },
      { type: 'retry', attempt: 2, status: 500 },
    ])
    expect(server?.requests).toHaveLength(3)
  })

  it('fails after the configured number of attempts', async () => {
    const model = await open(kind, [{ status: 500 }, { status: 500 }, 'never'])
    await expect(ask(model, {}, { maxAttempts: 2 })).rejects.toMatchObject({ code: 'model_server_error' })
    expect(server?.requests).toHaveLength(2)
  })

  it('retries when the stream begins with an error', async () => {
    const streamError = {
      type: kind === 'google' ? 'UNAVAILABLE' : kind === 'anthropic' ? 'overloaded_error' : 'server_error',
      message: 'busy',
    }
    const { answer, events } = await ask(await open(kind, [{ streamError }, 'Now.']))
    expect(answer.text).toBe('Now.')
    expect(events[0]).toMatchObject({ type: 'retry' })
  })

  it('never retries after part of the answer was emitted', async () => {
    const streamError = { type: kind === 'google' ? 'UNAVAILABLE' : 'overloaded_error', message: 'busy' }
    const model = await open(kind, [{ text: 'So far', streamError }, 'never'])
    await expect(ask(model)).rejects.toMatchObject({ emitted: true })
    expect(server?.requests).toHaveLength(1)
  })

  it('reports that an answer was cut off', async () => {
    const model = await open(kind, [{ text: 'So far', done: false }])
    await expect(ask(model)).rejects.toMatchObject({ code: 'model_bad_response', emitted: true })
    await server?.close()
    const dropped = await open(kind, [{ text: 'So far and on and on', dropAfterBytes: 700 }])
    await expect(ask(dropped, {}, { maxAttempts: 1 })).rejects.toBeInstanceOf(ModelError)
  })

  it('ends with the reason of an abort, and closes the connection', async () => {
    const model = await open(kind, [{ text: 'a b c', stall: 5 }])
    const controller = new AbortController()
    const reason = new Error('enough')
    const on = (event: ModelEvent): void => {
      if (event.type === 'text') controller.abort(reason)
    }
    await expect(ask(model, {}, { signal: controller.signal, on })).rejects.toBe(reason)
    expect(await server?.requests[0]?.ended).toBe('left')
  })

  it('sends the session id in the configured header, and other headers', async () => {
    const model = await open(kind, ['a'], { sessionIdHeader: 'x-session', headers: { 'x-team': 'blue' } })
    await ask(model, {}, { sessionId: 's1' })
    expect(server?.requests[0]?.headers).toMatchObject({ 'x-session': 's1', 'x-team': 'blue' })
  })

  it.each(['', '/', '/v1', '/proxy'])('accepts a base URL with and without its version: %j', async (path) => {
    const version = kind === 'google' ? 'v1beta' : 'v1'
    server = await startModelServer(['ok'])
    const baseUrl = server.url + path.replace('v1', version)
    const model = createAiSdkModel({ provider: kind, kind, id: ids[kind], apiKey: 'k', baseUrl })
    expect((await ask(model)).answer.text).toBe('ok')
    expect(server.requests[0]?.path).toMatch(new RegExp(`^(/proxy)?/${version}/[^/]`))
  })

  it('follows no redirect', async () => {
    const model = await open(kind, [{ status: 307, headers: { location: '/v1/elsewhere' }, body: '' }])
    await expect(ask(model)).rejects.toBeInstanceOf(ModelError)
    expect(server?.requests).toHaveLength(1)
  })

  it('enforces a schema', async () => {
    const model = await open(kind, ['{"a":1}'])
    const outputSchema = {
      type: 'object',
      properties: { a: { type: 'number' } },
      required: ['a'],
      additionalProperties: false,
    }
    expect((await ask(model, { outputSchema })).answer.text).toBe('{"a":1}')
    expect(bodyOf(0)).toContain('"a":{"type":"number"}')
  })
})

describe('an Anthropic request', () => {
  it('marks at most four places for the cache: tools, system, the end, and the end before', async () => {
    const usage = { inputTokens: 50, outputTokens: 2, cachedInputTokens: 30, cacheWriteTokens: 15 }
    const model = await open('anthropic', [{ text: 'ok', usage }])
    const rounds: Message[] = [1, 2, 3].flatMap((n): Message[] => [
      said(`question ${n}`),
      { role: 'assistant', content: [{ type: 'text', text: `answer ${n}` }] },
    ])
    const { answer } = await ask(model, {
      instructions: 'Be brief.',
      tools: [read, { ...read, name: 'write' }],
      chatHistory: [...rounds, said('last question')],
    })
    expect(answer.usage).toMatchObject({ inputTokens: 50, cachedInputTokens: 30, cacheWriteTokens: 15 })
    expect(server?.requests[0]?.body).toMatchObject({
      system: [{ text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'read' }, { name: 'write', cache_control: { type: 'ephemeral' } }],
    })
    expect(bodyOf(0).match(/cache_control/g)).toHaveLength(4)
    expect(bodyOf(0)).toMatch(/question 3","cache_control"/)
    expect(bodyOf(0)).toMatch(/last question","cache_control"/)
  })
})

describe('an Anthropic answer', () => {
  const events = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        model: 'c',
        content: [],
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'redacted_thinking', data: 'HIDDEN' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'thinking', thinking: '', signature: '' },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'thinking_delta', thinking: 'öffentlich' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature: 'SIGNED' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'content_block_start', index: 2, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'text_delta', text: 'naïve ☃ 🦉' } },
    { type: 'content_block_stop', index: 2 },
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: 'message_stop' },
  ]
  const bytes = new TextEncoder().encode(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  )

  it('survives cuts inside characters, and separates hidden from visible reasoning', async () => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / 7) }, (_, n) =>
      bytes.subarray(n * 7, n * 7 + 7),
    )
    const model = await open('anthropic', [{ chunks }, 'ok'])
    const { answer } = await ask(model)
    expect(answer.text).toBe('naïve ☃ 🦉')
    expect(answer.content.map(({ type }) => type)).toEqual(['reasoning', 'reasoning', 'text'])
    const thinking = { thinkingBudget: 2000 }
    const chatHistory = [said('hi'), { role: 'assistant', content: answer.content } as const, said('and?')]
    await ask(model, { chatHistory, additionalParams: thinking })
    expect(server?.requests[1]?.body).toMatchObject({
      messages: [
        {},
        {
          content: [
            { type: 'redacted_thinking', data: 'HIDDEN' },
            { type: 'thinking', thinking: 'öffentlich', signature: 'SIGNED' },
            { type: 'text' },
          ],
        },
        {},
      ],
    })
  })
})

describe('an OpenAI request', () => {
  it('stores nothing at the provider and uses one cache key per conversation', async () => {
    const model = await open('openai-responses', ['ok'])
    await ask(model, { tools: [read] }, { sessionId: 's1' })
    expect(server?.requests[0]?.body).toMatchObject({
      store: false,
      prompt_cache_key: 's1',
      include: ['reasoning.encrypted_content'],
      tools: [{ name: 'read', strict: false }],
    })
  })
})

describe('the package of a provider', () => {
  it('is named when it is missing', async () => {
    const load = async () => {
      throw Object.assign(new Error("Cannot find package '@ai-sdk/google'"), { code: 'ERR_MODULE_NOT_FOUND' })
    }
    const model = createAiSdkModel({ provider: 'google', kind: 'google', id: 'gemini', load })
    const error = await ask(model).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: false })
    expect(String(error)).toContain('npm install "@ai-sdk/google@^3 || ^4" zod')
  })

  it('reports a missing key before anything is sent', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', undefined)
    const model = createAiSdkModel({ provider: 'anthropic', kind: 'anthropic', id: 'claude' })
    const error = await ask(model).catch((thrown: unknown) => thrown)
    vi.unstubAllEnvs()
    expect(error).toMatchObject({ code: 'model_auth', retryable: false })
    expect(String(error)).toContain('ANTHROPIC_API_KEY')
  })

  it('is loaded with the first request and not before: files import it only on use', async () => {
    const folder = new URL('.', import.meta.url)
    const names = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.includes('.test'))
    const sources = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
    expect(sources.filter((text) => /^(import|export)\b[^(]*?from '(@ai-sdk|ai|zod)\b/m.test(text))).toEqual(
      [],
    )
    expect(sources.join('').match(/await import\('@ai-sdk\/\w+'\)/g)).toHaveLength(3)
  })
})
