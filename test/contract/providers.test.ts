/**
 * Every named provider over HTTP on loopback: by name in a configuration (requests, answers, tool calls, rate limits),
 * through a proxy with a certificate of its own, and by the environment of the command.
 */
import { createServer, type IncomingHttpHeaders, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { providers } from '../../src/model/well-known.js'
import { startModelServer } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonObject } from '../../src/tool/json.js'
import { openPlace } from '../cli/drive.js'
import { event } from '../support/bedrock-frames.js'
import { sharedDirectory, temporaryDirectory } from '../support/temporary-directory.js'
import { listenSecurely, secureHost, startProxy, writeCertificate } from '../support/tunnel.js'

type Case = {
  readonly model: string
  /** The lines of its block in a configuration, besides the address. */
  readonly acl?: readonly string[]
  /** The path below the address of the configuration. */
  readonly path: string
  /** The address that the command uses when only the environment is set. */
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  readonly auth: readonly [string, string | RegExp]
  /** The fields of a request with the effort `high`. */
  readonly effort: JsonObject
  /** The fields that control the cache in a request; absent: the provider has none. */
  readonly cache?: JsonObject
}

const chat = '/v1/chat/completions'
const bearer = ['authorization', 'Bearer key-1'] as const
const levels = { reasoning_effort: 'high' }
const keyLine = 'api_key = env("KEY")'

const cases: Readonly<Record<string, Case>> = {
  openai: {
    model: 'gpt-5-mini',
    path: chat,
    url: 'https://api.openai.com/v1/chat/completions',
    env: { OPENAI_API_KEY: 'key-1' },
    auth: bearer,
    effort: levels,
    cache: { prompt_cache_retention: '24h' },
  },
  'openai-responses': {
    model: 'gpt-5-mini',
    path: '/v1/responses',
    url: 'https://api.openai.com/v1/responses',
    env: { OPENAI_API_KEY: 'key-1' },
    auth: bearer,
    effort: { reasoning: { effort: 'high' } },
    cache: { prompt_cache_retention: '24h' },
  },
  azure: {
    model: 'my-deployment',
    acl: [keyLine, 'api_version = "2024-10-21"'],
    path: '/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21',
    url: 'https://mine.openai.azure.com/openai/v1/chat/completions',
    env: { AZURE_OPENAI_API_KEY: 'key-1', AZURE_OPENAI_ENDPOINT: 'https://mine.openai.azure.com' },
    auth: ['api-key', 'key-1'],
    effort: levels,
  },
  anthropic: {
    model: 'claude-opus-4-7',
    path: '/v1/messages',
    url: 'https://api.anthropic.com/v1/messages',
    env: { ANTHROPIC_API_KEY: 'key-1' },
    auth: ['x-api-key', 'key-1'],
    effort: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    cache: { system: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }] },
  },
  bedrock: {
    model: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    acl: ['aws = { region = "eu-west-1", access_key_id = "AKIDEXAMPLE", secret_access_key = env("KEY") }'],
    path: '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
    url: 'https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
    env: { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: 'key-1' },
    auth: [
      'authorization',
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=/,
    ],
    effort: { additionalModelRequestFields: { thinking: { type: 'enabled' } } },
    cache: { system: [{}, { cachePoint: { type: 'default', ttl: '1h' } }] },
  },
  google: {
    model: 'gemini-3.1-pro-preview',
    path: '/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse',
    url: 'https://generativelanguage.googleapis.com/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse',
    env: { GEMINI_API_KEY: 'key-1' },
    auth: ['x-goog-api-key', 'key-1'],
    effort: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
  },
  vertex: {
    model: 'gemini-3.1-pro-preview',
    acl: ['vertex = { project = "p1", location = "europe-west1" }', 'access_token = env("KEY")'],
    path: '/v1/projects/p1/locations/europe-west1/publishers/google/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse',
    url: 'https://europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/publishers/google/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse',
    env: {
      VERTEX_ACCESS_TOKEN: 'key-1',
      GOOGLE_CLOUD_PROJECT: 'p1',
      GOOGLE_CLOUD_LOCATION: 'europe-west1',
    },
    auth: bearer,
    effort: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
  },
  mistral: ofChat('mistral-medium-3-5', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  xai: ofChat('grok-4.5', 'https://api.x.ai/v1', 'XAI_API_KEY'),
  deepseek: {
    ...ofChat('deepseek-flash', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
    effort: { thinking: { type: 'enabled' }, reasoning_effort: 'high' },
  },
  groq: ofChat('openai/gpt-oss-120b', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  openrouter: {
    ...ofChat('anthropic/claude-sonnet-5', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
    effort: { reasoning: { effort: 'high' } },
    cache: { cache_control: { type: 'ephemeral', ttl: '1h' } },
  },
  together: ofChat('openai/gpt-oss-20b', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY'),
  ollama: ofChat('qwen3', 'http://127.0.0.1:11434/v1', 'OLLAMA_API_KEY'),
  lmstudio: ofChat('qwen3', 'http://127.0.0.1:1234/v1', 'LMSTUDIO_API_KEY'),
  vllm: {
    ...ofChat('qwen3', 'http://127.0.0.1:8000/v1', 'VLLM_API_KEY'),
    effort: { chat_template_kwargs: { enable_thinking: true } },
  },
  llamacpp: {
    ...ofChat('qwen3', 'http://127.0.0.1:8080/v1', 'LLAMACPP_API_KEY'),
    effort: { chat_template_kwargs: { enable_thinking: true } },
  },
}

/** A provider whose protocol is chat completions, with a key. */
function ofChat(model: string, address: string, variable: string): Case {
  const [path, auth, effort] = [chat, bearer, levels]
  return { model, path, url: `${address}/chat/completions`, env: { [variable]: 'key-1' }, auth, effort }
}

type Seen = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: JsonObject }
type Provider = { readonly url: string; readonly seen: readonly Seen[] }

/** The provider on loopback: a rate limit first, then a tool call, then an answer. */
async function startProvider(name: string, steps: readonly ('limit' | 'call' | 'text')[]): Promise<Provider> {
  if (name === 'bedrock') return startBedrock(steps)
  const server = await startModelServer(
    steps.map((step) => {
      if (step === 'limit')
        return { status: 429, headers: { 'retry-after': '0' }, message: 'Too many requests.' }
      if (step === 'text') return { text: 'All is well.', usage: { inputTokens: 7, outputTokens: 3 } }
      return { toolCalls: [{ id: 'call123456', name: 'look', args: { at: 'deck' } }] }
    }),
  )
  onTestFinished(() => server.close())
  return {
    url: server.url,
    get seen() {
      return server.requests.map(({ path, headers, body }) => ({
        path,
        headers: headers as IncomingHttpHeaders,
        body: body as JsonObject,
      }))
    },
  }
}

async function startBedrock(steps: readonly ('limit' | 'call' | 'text')[]): Promise<Provider> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const step = steps[seen.push({ path: request.url ?? '', headers: request.headers, body }) - 1]
    if (step === 'limit') {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '0' })
      return response.end('{"message":"Too many requests."}')
    }
    const content =
      step === 'text'
        ? [event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'All is well.' } })]
        : [
            event('contentBlockStart', {
              contentBlockIndex: 0,
              start: { toolUse: { toolUseId: 'call123456', name: 'look' } },
            }),
            event('contentBlockDelta', {
              contentBlockIndex: 0,
              delta: { toolUse: { input: '{"at":"deck"}' } },
            }),
          ]
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    return response.end(
      Buffer.concat([
        event('messageStart', { role: 'assistant' }),
        ...content,
        event('contentBlockStop', { contentBlockIndex: 0 }),
        event('messageStop', { stopReason: step === 'text' ? 'end_turn' : 'tool_use' }),
        event('metadata', { usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 } }),
      ]),
    )
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const named = Object.entries(cases)

describe('a provider by name in a configuration', () => {
  it.each(named)('%s: request, rate limit, tool call and answer', async (name, one) => {
    const provider = await startProvider(name, ['limit', 'call', 'text'])
    const root = temporaryDirectory()
    const agent = await Agent.create(
      [
        `default_model = "${name}/${one.model}"`,
        `providers "${name}" {`,
        '  base_url = env("URL")',
        ...(one.acl ?? [keyLine]).map((line) => `  ${line}`),
        `  prompt_cache = "${one.cache?.['prompt_cache_retention'] === undefined ? '1h' : '24h'}"`,
        `  models "${one.model}" { reasoning = true }`,
        '}',
        'reasoning_effort = "high"',
      ].join('\n'),
      { env: { URL: provider.url, KEY: 'key-1' }, userDir: join(root, '.user') },
    )
    onTestFinished(() => agent.close())
    const looked: unknown[] = []
    const look = createJsonTool({
      name: 'look',
      description: 'Looks.',
      parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
      execute: (args) => {
        looked.push(args)
        return 'calm sea'
      },
    })
    const session = agent.session(root, {
      tools: [look],
      builtinTools: false,
      permissionPolicy: { allow: ['look'] },
      retry: { baseDelayMs: 1 },
    })
    const events: AgentEvent[] = []
    for await (const each of await session.stream('Go.')) events.push(each)
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'All is well.', rounds: 2 } })
    expect(events).toContainEqual(expect.objectContaining({ type: 'model_retry', status: 429 }))
    expect(looked).toEqual([{ at: 'deck' }])
    const [first, second, third] = provider.seen
    expect([first?.path, second?.path, third?.path]).toEqual([one.path, one.path, one.path])
    const [header, value] = one.auth
    if (typeof value === 'string') expect(first?.headers[header]).toBe(value)
    else expect(first?.headers[header]).toMatch(value)
    expect(first?.body).toMatchObject(one.effort)
    if (one.cache !== undefined) expect(first?.body).toMatchObject(one.cache)
    else expect(JSON.stringify(first?.body)).not.toMatch(/cache_control|cachePoint|prompt_cache/)
    expect(JSON.stringify(third?.body)).toContain('calm sea')
  })

  it('has a case for every documented provider, except four that use the protocol of others', () => {
    const all = providers.map(({ names: [name] }) => name)
    const alike = ['fireworks', 'cerebras', 'moonshot', 'glm']
    expect(all.filter((name) => name !== undefined && !alike.includes(name))).toEqual(Object.keys(cases))
  })
})

describe('a provider over HTTPS through the proxy of the environment', () => {
  const directory = sharedDirectory()
  let caFile = ''
  beforeAll(() => {
    caFile = writeCertificate(directory)
  })

  /** The provider over TLS. */
  async function secured(url: string): Promise<number> {
    return listenSecurely(directory, (request, response) => {
      const onwards = sendRequest(`${url}${request.url}`, { method: 'POST', headers: request.headers })
      onwards.on('response', (reply) => reply.pipe(response.writeHead(reply.statusCode ?? 0, reply.headers)))
      request.pipe(onwards)
    })
  }

  async function send(name: string, one: Case, lines: readonly string[], url: string): Promise<string> {
    const root = temporaryDirectory()
    const agent = await Agent.create(
      [
        `default_model = "${name}/${one.model}"`,
        `providers "${name}" {`,
        '  base_url = env("URL")',
        ...[...(one.acl ?? [keyLine]), ...lines].map((line) => `  ${line}`),
        `  models "${one.model}" {}`,
        '}',
      ].join('\n'),
      { env: { URL: url, KEY: 'key-1' }, userDir: join(root, '.user') },
    )
    onTestFinished(() => agent.close())
    return (await agent.session(root, { builtinTools: false, retry: { maxRetries: 0 } }).send('Go.')).text
  }

  it.each(named)(
    '%s: the request goes through the tunnel, the certificate is checked, and NO_PROXY is respected',
    async (name, one) => {
      const provider = await startProvider(name, ['text'])
      const url = `https://${secureHost}:${await secured(provider.url)}`
      const proxy = await startProxy()
      vi.stubEnv('HTTPS_PROXY', proxy.url)
      onTestFinished(() => void vi.unstubAllEnvs())
      expect(await send(name, one, [`ca_file = "${caFile}"`], url)).toBe('All is well.')
      const tunnel = `CONNECT ${new URL(url).host}`
      expect(proxy.asked.map(({ line }) => line)).toEqual([tunnel])
      expect(provider.seen.map(({ path }) => path)).toEqual([one.path])
      const [header, value] = one.auth
      expect(provider.seen[0]?.headers[header]).toEqual(
        typeof value === 'string' ? value : expect.stringMatching(value),
      )
      expect(provider.seen[0]?.headers).not.toHaveProperty('proxy-authorization')

      // Without the authority of the certificate nothing is sent to the provider.
      await expect(send(name, one, [], url)).rejects.toMatchObject({ code: 'model_unreachable' })
      expect(proxy.asked).toHaveLength(2)
      // Without the proxy the name has no address.
      vi.stubEnv('NO_PROXY', secureHost)
      await expect(send(name, one, [`ca_file = "${caFile}"`], url)).rejects.toMatchObject({
        code: 'model_unreachable',
      })
      expect(proxy.asked).toHaveLength(2)
      expect(provider.seen).toHaveLength(1)
    },
  )
})

describe('a provider by the environment of the command', () => {
  it.each(named)('%s: its address and its key', async (name, one) => {
    const provider = await startProvider(name, ['text'])
    const { fetch } = globalThis
    const asked: string[] = []
    vi.stubGlobal('fetch', ((input, init) => {
      const url = new URL(String(input))
      asked.push(url.href)
      return fetch(`${provider.url}${url.pathname}${url.search}`, init)
    }) satisfies typeof fetch)
    onTestFinished(() => void vi.unstubAllGlobals())
    const place = await openPlace()
    const { code, stdout } = await place.run(['run', '--model', `${name}/${one.model}`, 'Go.'], {
      env: one.env,
    })
    expect([code, stdout]).toEqual([0, 'All is well.\n'])
    expect(asked).toEqual([one.url])
    const [header, value] = one.auth
    expect(provider.seen[0]?.headers[header]).toEqual(
      typeof value === 'string' ? value : expect.stringMatching(value),
    )
  })
})
