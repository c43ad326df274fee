import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { CompletionRequest, Message } from '../../tool/completion.js'
import type { Model, ModelEvent, ModelFacts } from '../model.js'
import { type ChatModelOptions, createChatModel } from './chat-model.js'
import { chatEndpoint, zhipuEndpoint } from './endpoint.js'

const facts: ModelFacts = {
  contextTokens: 128_000,
  tools: true,
  images: true,
  documents: true,
  reasoning: false,
  temperature: true,
  structuredOutput: true,
}
type Seen = { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }
const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

/** A server that answers each request with the next of the texts, and repeats the last one. */
async function serve(
  ...answers: string[]
): Promise<{ baseUrl: string; seen: Seen[]; connections(): number }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response: ServerResponse) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    seen.push({ url: request.url ?? '', headers: request.headers, body: Buffer.concat(pieces).toString() })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(answers[Math.min(seen.length, answers.length) - 1])
  })
  let connections = 0
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    connections: () => connections,
  }
}

const events = (...chunks: unknown[]): string =>
  [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')
const chunk = (delta: unknown, finish: string | null = null): unknown => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-test-2026',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const hello = events(
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hello' }),
  chunk({}, 'stop'),
)

function modelAt(baseUrl: string, options: Partial<ChatModelOptions> = {}): Model {
  return createChatModel({
    provider: 'openai',
    id: 'gpt-test',
    baseUrl,
    apiKey: 'sk-secret-1',
    facts,
    ...options,
  })
}
const ask = (given: Partial<CompletionRequest> = {}): CompletionRequest => ({
  chatHistory: [user('Hi')],
  documents: [],
  tools: [],
  ...given,
})
const user = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
async function answer(model: Model, request = ask(), sessionId?: string) {
  const said: ModelEvent[] = []
  const result = await model.answer(request, {
    signal: new AbortController().signal,
    on: (event) => said.push(event),
    ...(sessionId !== undefined && { sessionId }),
  })
  return { ...result, said }
}
const bodyOf = (seen: Seen | undefined): Record<string, unknown> => JSON.parse(seen?.body ?? '')

describe('the address', () => {
  it.each([
    ['http://host', 'http://host/v1/chat/completions'],
    ['http://host/', 'http://host/v1/chat/completions'],
    ['http://host/v1', 'http://host/v1/chat/completions'],
    ['http://host/v1//', 'http://host/v1/chat/completions'],
    ['https://host/openai/v1', 'https://host/openai/v1/chat/completions'],
    ['https://host/x/chat/completions', 'https://host/x/chat/completions'],
    ['https://host/api/v1', 'https://host/api/v1/chat/completions'],
    ['https://host/api/coding/v3', 'https://host/api/coding/v3/chat/completions'],
    ['https://host/v3', 'https://host/v3/chat/completions'],
    ['https://host/v4/', 'https://host/v4/chat/completions'],
    ['https://host/v1?api-version=2', 'https://host/v1/chat/completions?api-version=2'],
  ])('%s means %s', (base, endpoint) => {
    expect(chatEndpoint(base)).toBe(endpoint)
  })

  it('of Zhipu has its own path', () => {
    expect(zhipuEndpoint('https://host/')).toBe('https://host/api/paas/v4/chat/completions')
    expect(zhipuEndpoint('https://host/api/paas/v4')).toBe('https://host/api/paas/v4/chat/completions')
  })
})

describe('a request', () => {
  it('contains the model id, the key, the session and the parameters that the model accepts', async () => {
    const { baseUrl, seen } = await serve(hello)
    const model = modelAt(baseUrl, { headers: { 'X-Team': 'a' }, sessionIdHeader: 'x-session' })
    await answer(
      model,
      ask({
        instructions: 'Be brief.',
        temperature: 0.2,
        maxTokens: 50,
        tools: [{ name: 'read', description: 'Reads', parameters: { type: 'object' } }],
        toolChoice: { type: 'tool', name: 'read' },
        additionalParams: { top_p: 0.5, stream: false, messages: [], thinkingBudget: 9 },
      }),
      's1',
    )
    expect(seen[0]?.url).toBe('/v1/chat/completions')
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer sk-secret-1',
      'x-team': 'a',
      'x-session': 's1',
    })
    expect(bodyOf(seen[0])).toEqual({
      model: 'gpt-test',
      temperature: 0.2,
      max_tokens: 50,
      top_p: 0.5,
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        {
          type: 'function',
          function: { name: 'read', description: 'Reads', parameters: { type: 'object' } },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'read' } },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
    })
  })

  it('leaves out what the model does not accept', async () => {
    const { baseUrl, seen } = await serve(hello)
    const poor = {
      ...facts,
      temperature: false,
      tools: false,
      structuredOutput: false,
      images: false,
      documents: false,
    }
    const model = modelAt(baseUrl, { facts: poor, apiKey: '', dialect: { streamUsage: false } })
    await answer(
      model,
      ask({
        temperature: 1,
        tools: [{ name: 'a', description: '', parameters: {} }],
        toolChoice: 'auto',
        outputSchema: { type: 'object' },
        chatHistory: [
          {
            role: 'user',
            content: [
              { type: 'image', data: 'aGk=' },
              { type: 'document', data: 'aGk=', name: 'a.pdf' },
            ],
          },
        ],
      }),
    )
    expect(seen[0]?.headers['authorization']).toBeUndefined()
    expect(bodyOf(seen[0])).toEqual({
      model: 'gpt-test',
      stream: true,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: '[an image that this model cannot see was left out]' },
            {
              type: 'text',
              text: '[the document "a.pdf" (application/pdf), which this model cannot read, was left out]',
            },
          ],
        },
      ],
    })
  })

  it('uses a configured Authorization instead of the key', async () => {
    const { baseUrl, seen } = await serve(hello)
    await answer(modelAt(baseUrl, { headers: { Authorization: 'Basic abc' } }))
    expect(seen[0]?.headers['authorization']).toBe('Basic abc')
  })

  it('uses the output limit field of newer models', async () => {
    const { baseUrl, seen } = await serve(hello)
    await answer(modelAt(baseUrl, { id: 'o4-mini' }), ask({ maxTokens: 9 }))
    expect(bodyOf(seen[0])).toMatchObject({ max_completion_tokens: 9 })
  })

  it('writes images, documents, tool calls and results, and images of results after the last result', async () => {
    const { baseUrl, seen } = await serve(hello)
    const chatHistory: Message[] = [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image', data: 'aGk=', mediaType: 'image/jpeg' },
          { type: 'image', data: 'https://host/a.png' },
          { type: 'document', data: 'aGk=', name: 'a.pdf' },
          { type: 'document', data: 'plain', mediaType: 'text/plain', name: 'a.txt' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hmm' },
          { type: 'tool_call', id: 'a', function: { name: 'shot', arguments: { x: 1 } } },
          { type: 'tool_call', id: 'b', function: { name: 'read', arguments: 'not json' } },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            id: 'a',
            toolName: 'shot',
            content: [
              { type: 'text', text: 'done' },
              { type: 'image', data: 'aW1n' },
            ],
          },
        ],
      },
      { role: 'tool', content: [{ type: 'tool_result', id: 'b', content: [{ type: 'text', text: 'no' }] }] },
      { role: 'assistant', content: [{ type: 'text', text: 'ok' }] },
    ]
    await answer(modelAt(baseUrl), ask({ chatHistory }))
    expect(bodyOf(seen[0])['messages']).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,aGk=' } },
          { type: 'image_url', image_url: { url: 'https://host/a.png' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
          { type: 'text', text: '<document name="a.txt">\nplain\n</document>' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'a', type: 'function', function: { name: 'shot', arguments: '{"x":1}' } },
          {
            id: 'b',
            type: 'function',
            function: { name: 'read', arguments: '{"malformed_arguments":"not json"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'a', content: 'done\n[image:image/png]' },
      { role: 'tool', tool_call_id: 'b', content: 'no' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Images in the result of shot (call a):' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aW1n' } },
        ],
      },
      { role: 'assistant', content: 'ok' },
    ])
  })

  it('has ids of tool calls in the form that the server accepts, equal for call and result', async () => {
    const { baseUrl, seen } = await serve(hello)
    const long = 'x'.repeat(41)
    const chatHistory: Message[] = [
      {
        role: 'assistant',
        content: [{ type: 'tool_call', id: long, function: { name: 'f', arguments: {} } }],
      },
      { role: 'tool', content: [{ type: 'tool_result', id: long, content: [] }] },
    ]
    await answer(modelAt(baseUrl), ask({ chatHistory }))
    await answer(modelAt(baseUrl, { provider: 'mistral' }), ask({ chatHistory }))
    for (const [at, fits] of [/^.{1,40}$/, /^[a-zA-Z0-9]{9}$/].entries()) {
      const [said, result] = bodyOf(seen[at])['messages'] as [
        { tool_calls: [{ id: string }] },
        { tool_call_id: string },
      ]
      expect(said.tool_calls[0].id).toMatch(fits)
      expect(result.tool_call_id).toBe(said.tool_calls[0].id)
    }
  })

  it('sends reasoning back where the provider needs it', async () => {
    const { baseUrl, seen } = await serve(hello)
    const said: Message = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'because' },
        { type: 'text', text: 'yes' },
      ],
    }
    // Also of a model that is not known to reason: it did.
    await answer(modelAt(baseUrl, { provider: 'deepseek' }), ask({ chatHistory: [said] }))
    await answer(modelAt(baseUrl), ask({ chatHistory: [said] }))
    expect(bodyOf(seen[0])['messages']).toEqual([
      { role: 'assistant', content: 'yes', reasoning_content: 'because' },
    ])
    expect(bodyOf(seen[1])['messages']).toEqual([{ role: 'assistant', content: 'yes' }])
  })

  it('enforces a schema, strictly where the schema allows it', async () => {
    const { baseUrl, seen } = await serve(hello)
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    }
    await answer(modelAt(baseUrl), ask({ outputSchema: closed }))
    await answer(modelAt(baseUrl), ask({ outputSchema: { ...closed, required: [] } }))
    const format = (strict: boolean, schema: unknown) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } },
    })
    expect(bodyOf(seen[0])).toMatchObject(format(true, closed))
    expect(bodyOf(seen[1])).toMatchObject(format(false, { ...closed, required: [] }))
  })

  it('shows context documents at the start, which cannot close their own block', async () => {
    const { baseUrl, seen } = await serve(hello)
    const documents = [{ id: 'a"b', text: 'x</document></documents>y', additionalProps: { n: 1 } }]
    await answer(modelAt(baseUrl), ask({ documents }))
    expect(bodyOf(seen[0])['messages']).toEqual([
      {
        role: 'user',
        content:
          '<documents>\n<document id="a&quot;b" properties="{&quot;n&quot;:1}">\nx&lt;/document>&lt;/documents>y\n</document>\n</documents>',
      },
      { role: 'user', content: 'Hi' },
    ])
  })

  it('is, except for its end, the beginning of the next one', async () => {
    const { baseUrl, seen } = await serve(hello)
    const model = modelAt(baseUrl)
    const tools = [{ name: 'read', description: 'Reads', parameters: { type: 'object' } }]
    const chatHistory: Message[] = [user('one')]
    for (let round = 0; round < 4; round++) {
      await answer(model, ask({ instructions: 'I', tools, chatHistory: [...chatHistory] }))
      chatHistory.push(
        {
          role: 'assistant',
          content: [{ type: 'tool_call', id: `c${round}`, function: { name: 'read', arguments: { round } } }],
        },
        {
          role: 'tool',
          content: [{ type: 'tool_result', id: `c${round}`, content: [{ type: 'image', data: 'aW1n' }] }],
        },
      )
    }
    for (const [n, { body }] of seen.slice(0, -1).entries()) {
      expect(seen[n + 1]?.body.startsWith(body.slice(0, -2))).toBe(true)
    }
  })

  it('contains no lone surrogate, which strict parsers reject', async () => {
    const { baseUrl, seen } = await serve(hello)
    await answer(modelAt(baseUrl), ask({ chatHistory: [user('a\ud83d b\ude00 c😀 \\ud83d')] }))
    expect(bodyOf(seen[0])['messages']).toEqual([{ role: 'user', content: 'a\ufffd b\ufffd c😀 \\ud83d' }])
  })
})

describe('an answer', () => {
  it('comes in pieces and as a whole, with usage from the chunk after the last choice', async () => {
    const usage = {
      prompt_tokens: 1200,
      completion_tokens: 7,
      total_tokens: 1207,
      prompt_tokens_details: { cached_tokens: 1024 },
      completion_tokens_details: { reasoning_tokens: 3 },
    }
    const { baseUrl } = await serve(
      events(
        chunk({ role: 'assistant', content: '', refusal: null }),
        chunk({ reasoning_content: 'think' }),
        chunk({ content: 'ha' }),
        chunk({ content: 'ha' }),
        chunk({}, 'stop'),
        { id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'gpt-test-2026', choices: [], usage },
      ),
    )
    const result = await answer(modelAt(baseUrl))
    expect(result).toMatchObject({
      content: [
        { type: 'reasoning', text: 'think' },
        { type: 'text', text: 'haha' },
      ],
      text: 'haha',
      toolCalls: [],
      finish: 'stop',
      usage: {
        inputTokens: 1200,
        outputTokens: 7,
        totalTokens: 1207,
        cachedInputTokens: 1024,
        reasoningTokens: 3,
      },
      response: { id: 'chatcmpl-1', model: 'gpt-test-2026', url: `${baseUrl}/v1/chat/completions` },
    })
    expect(result.response.firstTokenMs).toBeGreaterThanOrEqual(0)
    expect(result.said).toEqual([
      { type: 'reasoning', text: 'think' },
      { type: 'text', text: 'ha' },
      { type: 'text', text: 'ha' },
    ])
  })

  it('has parallel tool calls with their arguments joined', async () => {
    const call = (index: number, rest: object) => chunk({ tool_calls: [{ index, ...rest }] })
    const { baseUrl } = await serve(
      events(
        chunk({ role: 'assistant', content: null }),
        call(0, { id: 'call_a', type: 'function', function: { name: 'read', arguments: '' } }),
        call(0, { function: { arguments: '{"pa' } }),
        call(1, { id: 'call_b', type: 'function', function: { name: 'glob', arguments: '' } }),
        call(0, { function: { arguments: 'th":"a"}' } }),
        call(1, { function: { arguments: '{}' } }),
        chunk({}, 'tool_calls'),
      ),
    )
    const result = await answer(modelAt(baseUrl))
    expect(result.toolCalls).toEqual([
      { id: 'call_a', name: 'read', input: '{"path":"a"}' },
      { id: 'call_b', name: 'glob', input: '{}' },
    ])
    expect(result.content).toEqual([
      { type: 'tool_call', id: 'call_a', function: { name: 'read', arguments: { path: 'a' } } },
      { type: 'tool_call', id: 'call_b', function: { name: 'glob', arguments: {} } },
    ])
    expect(result.finish).toBe('tool_calls')
    expect(result.said).toEqual([
      { type: 'tool_call', id: 'call_a', name: 'read' },
      { type: 'tool_input', id: 'call_a', text: '{"pa' },
      { type: 'tool_call', id: 'call_b', name: 'glob' },
      { type: 'tool_input', id: 'call_a', text: 'th":"a"}' },
      { type: 'tool_input', id: 'call_b', text: '{}' },
    ])
  })

  it('may come whole, from a server that does not stream', async () => {
    const { baseUrl } = await serve(
      JSON.stringify({
        id: 'c',
        object: 'chat.completion',
        model: 'm',
        choices: [
          {
            index: 0,
            finish_reason: 'tool_calls',
            message: {
              role: 'assistant',
              content: 'I look',
              tool_calls: [{ id: 'x', type: 'function', function: { name: 'read', arguments: '{"a":1}' } }],
            },
          },
        ],
        usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
      }),
    )
    expect(await answer(modelAt(baseUrl))).toMatchObject({
      text: 'I look',
      toolCalls: [{ id: 'x', name: 'read', input: '{"a":1}' }],
      finish: 'tool_calls',
      usage: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
    })
  })

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['function_call', 'stop'],
    ['content_filter', 'content_filter'],
    ['weird', 'other'],
  ])('that ends with %s ends with %s', async (wire, finish) => {
    const { baseUrl } = await serve(events(chunk({ content: 'x' }), chunk({}, wire)))
    expect((await answer(modelAt(baseUrl))).finish).toBe(finish)
  })

  it('that is a refusal has a text and a finish reason', async () => {
    const { baseUrl } = await serve(events(chunk({ refusal: 'I will not.' }), chunk({}, 'stop')))
    expect(await answer(modelAt(baseUrl))).toMatchObject({ text: 'I will not.', finish: 'content_filter' })
  })

  it('without usage has an estimated one', async () => {
    const { baseUrl } = await serve(hello)
    const { usage } = await answer(modelAt(baseUrl))
    expect(usage).toMatchObject({ outputTokens: 2, estimated: true })
    expect(usage.totalTokens).toBe(usage.inputTokens + usage.outputTokens)
  })

  it.each([
    [
      'in the last choice chunk',
      { ...(chunk({}, 'stop') as object), usage: { prompt_tokens: 5, completion_tokens: 6 } },
    ],
    [
      'inside of the choice',
      { choices: [{ delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 5, completion_tokens: 6 } }] },
    ],
    [
      'in another field',
      { ...(chunk({}, 'stop') as object), x_groq: { usage: { prompt_tokens: 5, completion_tokens: 6 } } },
    ],
  ])('has its usage %s', async (_, last) => {
    const { baseUrl } = await serve(events(chunk({ content: 'x' }), last))
    expect((await answer(modelAt(baseUrl))).usage).toEqual({
      inputTokens: 5,
      outputTokens: 6,
      totalTokens: 11,
    })
  })

  it('leaves the connection open for the next request', async () => {
    const { baseUrl, connections } = await serve(hello)
    const model = modelAt(baseUrl)
    for (let round = 0; round < 8; round++) expect((await answer(model)).text).toBe('Hello')
    // The second one is opened when a request comes in the same turn in which the last answer ended.
    expect(connections()).toBeLessThanOrEqual(2)
  })
})

describe('tool calls as servers really send them', () => {
  const callChunk = (...calls: object[]) => chunk({ tool_calls: calls })
  const fn = (name: string | undefined, args: unknown) => ({ function: { name, arguments: args } })
  it.each<[string, unknown[], [string, string, string][]]>([
    [
      'whole in one chunk',
      [callChunk({ index: 0, id: 'a', ...fn('f', '{"x":1}') })],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'without index, several in one chunk',
      [callChunk({ id: 'a', ...fn('f', '{}') }, { id: 'b', ...fn('g', '{"y":2}') })],
      [
        ['a', 'f', '{}'],
        ['b', 'g', '{"y":2}'],
      ],
    ],
    [
      'without index, in pieces',
      [
        callChunk({ id: 'a', ...fn('f', '') }),
        callChunk(fn(undefined, '{"x":')),
        callChunk(fn(undefined, '1}')),
        callChunk({ id: 'b', ...fn('g', '{}') }),
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'g', '{}'],
      ],
    ],
    [
      'all with index 0',
      [
        callChunk({ index: 0, id: 'a', ...fn('f', '{"x":1}') }),
        callChunk({ index: 0, id: 'b', ...fn('f', '{"x":2}') }),
      ],
      [
        ['a', 'f', '{"x":1}'],
        ['b', 'f', '{"x":2}'],
      ],
    ],
    [
      'with the same id twice',
      [
        callChunk({ index: 0, id: 'a', ...fn('f', '{}') }),
        callChunk({ index: 1, id: 'a', ...fn('g', '{}') }),
      ],
      [
        ['a', 'f', '{}'],
        ['call_2', 'g', '{}'],
      ],
    ],
    [
      'with id and name in every chunk',
      [
        callChunk({ index: 0, id: 'a', ...fn('f', '{"x":') }),
        callChunk({ index: 0, id: 'a', ...fn('f', '1}') }),
        callChunk({ index: 0, id: 'a', ...fn('f', '') }),
      ],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'without index, in one chunk, with one id for both',
      [callChunk({ id: 'a', ...fn('f', '') }, { id: 'a', ...fn('g', '') })],
      [
        ['a', 'f', '{}'],
        ['call_2', 'g', '{}'],
      ],
    ],
    ['without id', [callChunk({ index: 0, ...fn('f', '') })], [['call_1', 'f', '{}']]],
    [
      'with an object as arguments',
      [callChunk({ index: 0, id: 'a', ...fn('f', { x: [1] }) })],
      [['a', 'f', '{"x":[1]}']],
    ],
    ['with null as arguments', [callChunk({ index: 0, id: 'a', ...fn('f', null) })], [['a', 'f', '{}']]],
    [
      'with a name that comes late',
      [
        callChunk({ index: 0, id: 'a', function: { arguments: '{"x"' } }),
        callChunk({ index: 0, ...fn('f', ':1}') }),
      ],
      [['a', 'f', '{"x":1}']],
    ],
    [
      'in the older form',
      [
        chunk({ function_call: { name: 'f', arguments: '{"x"' } }),
        chunk({ function_call: { arguments: ':1}' } }),
      ],
      [['call_1', 'f', '{"x":1}']],
    ],
    [
      'without a name',
      [callChunk({ index: 0, id: 'a', ...fn(undefined, '{}') })],
      [['a', 'unnamed_tool', '{}']],
    ],
    [
      'with arguments that are not JSON',
      [callChunk({ index: 0, id: 'a', ...fn('f', '{"x') })],
      [['a', 'f', '{"x']],
    ],
  ])('%s', async (_, chunks, expected) => {
    const { baseUrl } = await serve(events(...chunks, chunk({}, 'stop')))
    const result = await answer(modelAt(baseUrl))
    expect(result.toolCalls.map(({ id, name, input }) => [id, name, input])).toEqual(expected)
    expect(result.finish).toBe('tool_calls')
  })

  it('get a new id when theirs was used earlier in the conversation', async () => {
    const { baseUrl } = await serve(
      events(callChunk({ index: 0, id: 'call_0', ...fn('f', '{}') }), chunk({}, 'stop')),
    )
    const chatHistory: Message[] = [
      user('x'),
      {
        role: 'assistant',
        content: [{ type: 'tool_call', id: 'call_0', function: { name: 'f', arguments: {} } }],
      },
      { role: 'tool', content: [{ type: 'tool_result', id: 'call_0', content: [] }] },
    ]
    const result = await answer(modelAt(baseUrl), ask({ chatHistory }))
    expect(result.toolCalls[0]?.id).toBe('call_2')
  })
})
