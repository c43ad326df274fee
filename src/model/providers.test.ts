import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { CompletionRequest } from '../tool/completion.js'
import type { JsonObject } from '../tool/json.js'
import { ModelError } from './errors.js'
import type { ModelAnswer, ModelEvent } from './model.js'
import { createModel, type ModelConfig } from './provider.js'

type Seen = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: JsonObject
}
type Reply = { readonly status?: number; readonly headers?: Record<string, string>; readonly body: string }

/** A server that records requests and answers each with the next reply. */
async function serve(replies: readonly Reply[]): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString() || '{}')
    seen.push({ method: request.method ?? '', path: request.url ?? '', headers: request.headers, body })
    const reply = replies[seen.length - 1] ?? { status: 500, body: 'no reply is left' }
    const type = (reply.status ?? 200) === 200 ? 'text/event-stream' : 'application/json'
    response.writeHead(reply.status ?? 200, { 'content-type': type, ...reply.headers }).end(reply.body)
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** Server-sent events as chat completions stream them. */
const events = (...chunks: readonly unknown[]): string =>
  `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`
const delta = (delta: object, finish: string | null = null) => ({
  id: 'c1',
  object: 'chat.completion.chunk',
  model: 'm',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const done = events(delta({ role: 'assistant', content: 'Done.' }), delta({}, 'stop'))

const tool = {
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
} as const
const asks = (more: Partial<CompletionRequest> = {}): CompletionRequest => ({
  instructions: 'Be brief.',
  chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }] }],
  documents: [],
  tools: [tool],
  ...more,
})

async function ask(
  config: ModelConfig,
  request: CompletionRequest = asks(),
): Promise<{ readonly answer: ModelAnswer; readonly events: ModelEvent[] }> {
  const heard: ModelEvent[] = []
  const model = createModel({ retry: { baseDelayMs: 1, sleep: async () => undefined }, ...config })
  const answer = await model.answer(request, {
    signal: new AbortController().signal,
    on: (event) => heard.push(event),
    sessionId: 's1',
  })
  return { answer, events: heard }
}

const reasons = { facts: { reasoning: true } }
const effort = (level: string): Partial<CompletionRequest> => ({
  additionalParams: { reasoningEffort: level },
})

describe('the requests of each provider', () => {
  it.each([
    ['openai', 'gpt-5-mini', 'high', { reasoning_effort: 'high', max_completion_tokens: 9 }],
    ['mistral', 'mistral-medium-3-5', 'high', { reasoning_effort: 'high', max_tokens: 9 }],
    ['xai', 'grok-4.5', 'low', { reasoning_effort: 'low' }],
    ['deepseek', 'deepseek-flash', 'high', { thinking: { type: 'enabled' }, reasoning_effort: 'high' }],
    ['deepseek', 'deepseek-flash', 'none', { thinking: { type: 'disabled' } }],
    ['groq', 'openai/gpt-oss-120b', 'medium', { reasoning_effort: 'medium' }],
    ['openrouter', 'openai/gpt-5', 'low', { reasoning: { effort: 'low' } }],
    ['together', 'openai/gpt-oss-20b', 'high', { reasoning_effort: 'high' }],
    ['moonshot', 'kimi-k2.6', 'none', { thinking: { type: 'disabled' } }],
    ['ollama', 'qwen3', 'low', { reasoning_effort: 'low' }],
    ['lmstudio', 'qwen3', 'medium', { reasoning_effort: 'medium' }],
    ['vllm', 'qwen3', 'none', { chat_template_kwargs: { enable_thinking: false } }],
    [
      'llamacpp',
      'gpt-oss',
      'high',
      { chat_template_kwargs: { enable_thinking: true, reasoning_effort: 'high' } },
    ],
  ])('%s gets the model %s with the effort %s in its own fields', async (provider, id, level, expected) => {
    const { url, seen } = await serve([{ body: done }])
    const levels = { reasoning: true, reasoningLevels: ['minimal', 'low', 'medium', 'high'] as const }
    await ask(
      { provider, id, baseUrl: url, apiKey: 'key-1', facts: levels },
      asks({ ...effort(level), maxTokens: 9 }),
    )
    expect(seen[0]).toMatchObject({
      method: 'POST',
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer key-1', 'content-type': 'application/json' },
      body: {
        model: id,
        stream: true,
        tools: [{ type: 'function', function: { name: 'look' } }],
        ...expected,
      },
    })
    const asked = new Set(Object.keys(expected))
    for (const field of ['reasoning_effort', 'reasoning', 'thinking', 'chat_template_kwargs'])
      if (!asked.has(field)) expect(seen[0]?.body).not.toHaveProperty(field)
  })

  it('have no effort for a model that cannot reason, and the nearest lower one for a model without that level', async () => {
    const { url, seen } = await serve([{ body: done }, { body: done }, { body: done }])
    const base = { provider: 'openai', id: 'm', baseUrl: url }
    await ask(base, asks(effort('high')))
    expect(seen[0]?.body).not.toHaveProperty('reasoning_effort')
    const facts = { reasoning: true, reasoningLevels: ['low', 'high'] as const }
    await ask({ ...base, facts }, asks(effort('medium')))
    await ask({ ...base, facts }, asks(effort('minimal')))
    expect(seen.slice(1).map(({ body }) => body['reasoning_effort'])).toEqual(['low', 'low'])
  })

  it('go to the deployment of Azure OpenAI, with the key or a token of Entra', async () => {
    const { url, seen } = await serve([{ body: done }, { body: done }, { body: done }])
    const base = { provider: 'azure', id: 'my gpt', baseUrl: url }
    await ask({ ...base, apiKey: 'azure-key', apiVersion: '2024-10-21' })
    await ask({ ...base, apiKey: 'azure-key' })
    let tokens = 0
    await ask({ ...base, baseUrl: `${url}/openai/v1/`, accessToken: async () => `entra-${++tokens}` })
    expect(seen[0]).toMatchObject({
      path: '/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21',
      headers: { 'api-key': 'azure-key' },
    })
    expect(seen[0]?.headers).not.toHaveProperty('authorization')
    expect(seen[1]).toMatchObject({ path: '/openai/v1/chat/completions', body: { model: 'my gpt' } })
    expect(seen[2]).toMatchObject({
      path: '/openai/v1/chat/completions',
      headers: { authorization: 'Bearer entra-1' },
    })
  })

  it('control the prompt cache where the provider has such a control', async () => {
    const { url, seen } = await serve(Array.from({ length: 6 }, () => ({ body: done })))
    const openrouter = { provider: 'openrouter', id: 'anthropic/claude-sonnet-5', baseUrl: url, apiKey: 'k' }
    await ask(openrouter)
    await ask({ ...openrouter, promptCache: '1h' })
    await ask({ ...openrouter, promptCache: 'off' })
    const openai = { provider: 'openai', id: 'gpt-5', baseUrl: url }
    await ask(openai)
    await ask({ ...openai, promptCache: '24h' })
    await ask({ provider: 'groq', id: 'm', baseUrl: url, promptCache: '1h' })
    const fields = seen.map(({ body: { cache_control, prompt_cache_key, prompt_cache_retention } }) => ({
      cache_control,
      prompt_cache_key,
      prompt_cache_retention,
    }))
    expect(fields).toEqual([
      { cache_control: { type: 'ephemeral' } },
      { cache_control: { type: 'ephemeral', ttl: '1h' } },
      {},
      {},
      { prompt_cache_key: 's1', prompt_cache_retention: '24h' },
      {},
    ])
  })

  it('to Anthropic and Google have the effort, and the time to live of the cache, in the form of their protocols', async () => {
    const { url, seen } = await serve([])
    const none = { retry: { maxAttempts: 1 }, baseUrl: url, apiKey: 'k' }
    const tried = async (config: ModelConfig, level: string) => {
      await expect(ask({ ...none, ...config }, asks(effort(level)))).rejects.toBeInstanceOf(ModelError)
      return seen.at(-1)
    }
    expect(
      await tried({ provider: 'anthropic', id: 'claude-haiku-4-5', promptCache: '1h' }, 'low'),
    ).toMatchObject({
      path: '/v1/messages',
      headers: { 'x-api-key': 'k' },
      body: {
        thinking: { type: 'enabled', budget_tokens: 4096 },
        system: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }],
      },
    })
    expect(await tried({ provider: 'anthropic', id: 'claude-opus-4-7' }, 'max')).toMatchObject({
      body: { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } },
    })
    expect(
      (await tried({ provider: 'anthropic', id: 'claude-opus-4-7', promptCache: 'off' }, 'low'))?.body,
    ).not.toMatchObject({
      system: [{ cache_control: {} }],
    })
    expect(await tried({ provider: 'google', id: 'gemini-2.5-pro' }, 'low')).toMatchObject({
      path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
      headers: { 'x-goog-api-key': 'k' },
      body: { generationConfig: { thinkingConfig: { thinkingBudget: 4096, includeThoughts: true } } },
    })
    expect(await tried({ provider: 'google', id: 'gemini-3.1-pro-preview' }, 'high')).toMatchObject({
      body: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
    })
    expect(
      await tried({ provider: 'openai-responses', id: 'gpt-5-mini', promptCache: '24h' }, 'low'),
    ).toMatchObject({
      path: '/v1/responses',
      headers: { authorization: 'Bearer k' },
      body: { reasoning: { effort: 'low', summary: 'auto' }, prompt_cache_retention: '24h', store: false },
    })
  })
})

describe('the answers of each provider', () => {
  it('of DeepSeek: reasoning, parallel calls, cached usage, and the reasoning of the round sent back', async () => {
    const { url, seen } = await serve([
      {
        body: events(
          delta({ role: 'assistant', content: null, reasoning_content: 'First ' }),
          delta({ reasoning_content: 'look.' }),
          delta({
            tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'look', arguments: '' } }],
          }),
          delta({
            tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'look', arguments: '' } }],
          }),
          delta({ tool_calls: [{ index: 0, function: { arguments: '{"at":' } }] }),
          delta({ tool_calls: [{ index: 1, function: { arguments: '{"at":"b"}' } }] }),
          delta({ tool_calls: [{ index: 0, function: { arguments: '"a"}' } }] }),
          {
            ...delta({ content: '' }, 'tool_calls'),
            usage: {
              prompt_tokens: 100,
              completion_tokens: 20,
              total_tokens: 120,
              prompt_cache_hit_tokens: 64,
              prompt_cache_miss_tokens: 36,
              completion_tokens_details: { reasoning_tokens: 7 },
            },
          },
        ),
      },
      { body: done },
    ])
    const config = { provider: 'deepseek', id: 'deepseek-flash', baseUrl: url, ...reasons }
    const { answer } = await ask(config)
    expect(answer.toolCalls.map(({ id, input }) => [id, input])).toEqual([
      ['a', '{"at":"a"}'],
      ['b', '{"at":"b"}'],
    ])
    expect(answer.usage).toMatchObject({
      inputTokens: 100,
      outputTokens: 20,
      cachedInputTokens: 64,
      reasoningTokens: 7,
    })
    const results = ['a', 'b'].map((id) => ({
      type: 'tool_result' as const,
      id,
      content: [{ type: 'text' as const, text: 'seen' }],
    }))
    await ask(
      config,
      asks({
        chatHistory: [
          ...asks().chatHistory,
          { role: 'assistant', content: answer.content },
          { role: 'tool', content: results },
        ],
      }),
    )
    expect(seen[1]?.body['messages']).toMatchObject([
      { role: 'system' },
      { role: 'user' },
      { role: 'assistant', reasoning_content: 'First look.', tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'tool', tool_call_id: 'b' },
    ])
  })

  it('of Mistral: thinking in parts, a whole call in one piece, usage in the last piece', async () => {
    const { url, seen } = await serve([
      {
        body: events(
          delta({
            role: 'assistant',
            content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }],
          }),
          delta({ content: 'Yes.' }),
          {
            ...delta(
              {
                content: '',
                tool_calls: [
                  { id: 'Abc123456', function: { name: 'look', arguments: '{"at":"a"}' }, index: 0 },
                ],
              },
              'tool_calls',
            ),
            usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
          },
        ),
      },
    ])
    const { answer } = await ask({ provider: 'mistral', id: 'mistral-medium-3-5', baseUrl: url, ...reasons })
    expect(seen[0]?.body).not.toHaveProperty('stream_options')
    expect(answer).toMatchObject({
      text: 'Yes.',
      finish: 'tool_calls',
      toolCalls: [{ id: 'Abc123456', name: 'look', input: '{"at":"a"}' }],
      usage: { inputTokens: 10, outputTokens: 5 },
    })
    expect(answer.content).toContainEqual(expect.objectContaining({ type: 'reasoning', text: 'Hm.' }))
  })

  it('of Groq and OpenRouter: reasoning in a field of its own, usage in x_groq, comments between events', async () => {
    const { url } = await serve([
      {
        body: events(
          delta({ role: 'assistant', content: '', channel: 'analysis', reasoning: 'Hm.' }),
          delta({ content: 'Yes.' }),
          {
            ...delta({}, 'stop'),
            x_groq: { id: 'r', usage: { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 } },
          },
        ),
      },
      {
        body: `: OPENROUTER PROCESSING\n\n${events(
          delta({ role: 'assistant', content: 'Yes.', reasoning: 'Hm.', reasoning_details: [] }),
          delta({}, 'stop'),
          {
            ...delta({ content: '' }),
            choices: [],
            usage: {
              prompt_tokens: 8,
              completion_tokens: 2,
              total_tokens: 10,
              cost: 0.1,
              prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 3 },
            },
          },
        )}`,
      },
    ])
    const groq = await ask({ provider: 'groq', id: 'openai/gpt-oss-120b', baseUrl: url, ...reasons })
    const openrouter = await ask({ provider: 'openrouter', id: 'x/y', baseUrl: url, apiKey: 'k', ...reasons })
    for (const { answer } of [groq, openrouter]) {
      expect(answer).toMatchObject({
        text: 'Yes.',
        finish: 'stop',
        usage: { inputTokens: 8, outputTokens: 2 },
      })
      expect(answer.content[0]).toMatchObject({ type: 'reasoning', text: 'Hm.' })
    }
    expect(openrouter.answer.usage).toMatchObject({ cachedInputTokens: 4, cacheWriteTokens: 3 })
  })

  it('of local servers: a call without an index, and arguments as an object', async () => {
    const { url } = await serve([
      {
        body: events(
          delta({
            role: 'assistant',
            content: '',
            tool_calls: [{ id: 'call_1', function: { name: 'look', arguments: { at: 'a' } } }],
          }),
          delta({}, 'stop'),
        ),
      },
    ])
    const { answer } = await ask({ provider: 'ollama', id: 'qwen3', baseUrl: url })
    expect(answer).toMatchObject({ finish: 'tool_calls', toolCalls: [{ name: 'look', input: '{"at":"a"}' }] })
  })

  it.each(['openai', 'azure', 'mistral', 'xai', 'deepseek', 'groq', 'openrouter', 'together', 'vllm'])(
    'of %s: a rate limit is waited for as long as the provider asks, and its errors do not quote the key',
    async (provider) => {
      const limited = {
        error: { message: 'Rate limit reached', type: 'requests', code: 'rate_limit_exceeded' },
      }
      const wrong = {
        error: { message: 'Incorrect API key provided: key-of-the-test', code: 'invalid_api_key' },
      }
      const { url, seen } = await serve([
        { status: 429, headers: { 'retry-after': '7' }, body: JSON.stringify(limited) },
        { body: done },
        { status: 401, body: JSON.stringify(wrong) },
      ])
      const config = { provider, id: 'm', baseUrl: url, apiKey: 'key-of-the-test' }
      const { answer, events: heard } = await ask(config)
      expect(answer.text).toBe('Done.')
      expect(heard).toContainEqual(expect.objectContaining({ type: 'retry', status: 429, delayMs: 7_000 }))
      const refused: unknown = await ask(config).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'model_auth', status: 401 })
      expect(String(refused)).not.toContain('key-of-the-test')
      expect(seen).toHaveLength(3)
    },
  )
})

describe('the prices of the catalogue', () => {
  it.each([
    ['openai', undefined, true],
    ['openai', 'https://api.openai.com/v1/', true],
    ['openai', 'http://127.0.0.1:4000/v1', false],
    ['openai', 'https://gateway.example.org/v1', false],
    ['anthropic', 'https://api.anthropic.com', true],
    ['anthropic', 'http://api.anthropic.com', false],
    ['azure', 'https://mine.openai.azure.com', true],
    ['azure', 'https://openai.azure.com.example.org', false],
  ])('of %s at %s count: %s, and what the model can do is known in any case', (provider, baseUrl, counts) => {
    const id = provider === 'anthropic' ? 'claude-haiku-4-5' : 'gpt-5-mini'
    const { facts } = createModel({ provider, id, apiKey: 'k', ...(baseUrl !== undefined && { baseUrl }) })
    expect(facts.price !== undefined).toBe(counts)
    expect(facts.contextTokens).toBe(provider === 'anthropic' ? 200_000 : 400_000)
    expect(facts.contextAssumed).toBeUndefined()
  })
})
