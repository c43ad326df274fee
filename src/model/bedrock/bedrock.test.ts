import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { event, exception, framed } from '../../../test/support/bedrock-frames.js'
import type { CompletionRequest } from '../../tool/completion.js'
import type { JsonObject } from '../../tool/json.js'
import { createModel, type ModelConfig } from '../provider.js'
import { signedHeaders } from './sign.js'

const done = [
  event('messageStart', { role: 'assistant' }),
  event('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Done.' } }),
  event('contentBlockStop', { contentBlockIndex: 0 }),
  event('messageStop', { stopReason: 'end_turn' }),
  event('metadata', {
    usage: { inputTokens: 5, outputTokens: 2, totalTokens: 7 },
    metrics: { latencyMs: 1 },
  }),
]

type Seen = { readonly path: string; readonly headers: IncomingHttpHeaders; readonly body: JsonObject }
type Reply = {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body: string | Buffer
}

async function serve(replies: readonly Reply[]): Promise<{ readonly url: string; readonly seen: Seen[] }> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    seen.push({
      path: request.url ?? '',
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString()),
    })
    const { status = 200, headers = {}, body } = replies[seen.length - 1] ?? { status: 500, body: '{}' }
    response.writeHead(status, { 'content-type': 'application/vnd.amazon.eventstream', ...headers })
    // In pieces that do not end where messages do.
    const bytes = Buffer.from(body)
    for (let at = 0; at < bytes.length; at += 50) response.write(bytes.subarray(at, at + 50))
    response.end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const aws = {
  region: 'eu-west-1',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}
const claude = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0'

function ask(config: Omit<ModelConfig, 'provider'>, more: Partial<CompletionRequest> = {}) {
  const model = createModel({ provider: 'bedrock', retry: { sleep: async () => undefined }, ...config })
  const request: CompletionRequest = {
    instructions: 'Be brief.',
    chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }] }],
    documents: [],
    tools: [{ name: 'look', description: 'Looks.', parameters: { type: 'object' } }],
    ...more,
  }
  return model.answer(request, { signal: new AbortController().signal, on: () => undefined, sessionId: 's' })
}

describe('a model of Bedrock', () => {
  it('signs requests as the published example of Signature Version 4 does', () => {
    const headers = signedHeaders(
      { ...aws, region: 'us-east-1' },
      {
        url: new URL('https://example.amazonaws.com/'),
        headers: {},
        body: '',
        service: 'service',
        now: new Date('2015-08-30T12:36:00Z'),
      },
    )
    expect(headers['authorization']).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    )
  })

  it('gets files and video in the forms of Converse, and a note for content without a form', async () => {
    const { url, seen } = await serve([{ body: Buffer.concat(done) }])
    const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
    const content: CompletionRequest['chatHistory'][number]['content'] = [
      { type: 'document', data: 'aGk=', mediaType: word, name: 'a b.docx' },
      { type: 'document', data: 'aGk=', mediaType: 'video/mp4' },
      { type: 'document', data: 'aGk=', mediaType: 'audio/mpeg', name: 'a.mp3' },
    ]
    const facts = { documents: true, video: true, audio: true }
    await ask(
      { id: 'amazon.nova-pro-v1:0', baseUrl: url, facts, aws },
      { chatHistory: [{ role: 'user', content }] },
    )
    const source = { bytes: 'aGk=' }
    expect(seen[0]).toMatchObject({
      body: {
        messages: [
          {
            content: [
              { document: { format: 'docx', name: 'a b-docx', source } },
              { video: { format: 'mp4', source } },
              { text: expect.stringContaining('"a.mp3" (audio/mpeg), which this model cannot read') },
              { cachePoint: { type: 'default' } },
            ],
          },
        ],
      },
    })
  })

  it('is called over Converse, with a signature or a key, cache points and the effort setting of its maker', async () => {
    const { url, seen } = await serve([{ body: Buffer.concat(done) }, { body: Buffer.concat(done) }])
    const request = { maxTokens: 99, additionalParams: { reasoningEffort: 'low' }, temperature: 0.5 }
    const facts = { reasoning: true }
    const sessionToken = 'temporary-token'
    const config = { id: claude, baseUrl: url, facts, promptCache: '1h' } as const
    const answer = await ask({ ...config, aws: { ...aws, sessionToken } }, request)
    expect(answer).toMatchObject({
      text: 'Done.',
      finish: 'stop',
      usage: { inputTokens: 5, outputTokens: 2 },
    })
    await ask({ id: 'openai.gpt-oss-120b-1:0', baseUrl: url, facts, aws, apiKey: 'bedrock-key' }, request)
    const point = { cachePoint: { type: 'default', ttl: '1h' } }
    expect(seen[0]).toMatchObject({
      path: `/model/${encodeURIComponent(claude)}/converse-stream`,
      headers: {
        'x-amz-security-token': 'temporary-token',
        'x-amz-date': expect.stringMatching(/^\d{8}T\d{6}Z$/),
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[\da-f]{64}$/,
        ),
      },
    })
    expect(seen[0]?.body).toEqual({
      system: [{ text: 'Be brief.' }, point],
      messages: [{ role: 'user', content: [{ text: 'Look.' }, point] }],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'look', description: 'Looks.', inputSchema: { json: { type: 'object' } } } },
          point,
        ],
      },
      inferenceConfig: { maxTokens: 99 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4096 } },
    })
    expect(seen[1]?.headers['authorization']).toBe('Bearer bedrock-key')
    expect(seen[1]?.body).toMatchObject({ additionalModelRequestFields: { reasoning_effort: 'low' } })
    expect(JSON.stringify(seen[1]?.body)).not.toContain('cachePoint')
  })

  it('answers with signed reasoning, parallel calls and cached usage, which are sent back to it', async () => {
    const delta = (contentBlockIndex: number, delta: object) =>
      event('contentBlockDelta', { contentBlockIndex, delta })
    const start = (contentBlockIndex: number, toolUseId: string) =>
      event('contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name: 'look' } } })
    const first = [
      event('messageStart', { role: 'assistant' }),
      delta(0, { reasoningContent: { text: 'Hm.' } }),
      delta(0, { reasoningContent: { signature: 'sig' } }),
      start(1, 'tooluse_a'),
      delta(1, { toolUse: { input: '{"at":' } }),
      delta(1, { toolUse: { input: '"a"}' } }),
      start(2, 'tooluse_b'),
      delta(2, { toolUse: { input: '{"at":"b"}' } }),
      event('messageStop', { stopReason: 'tool_use' }),
      event('metadata', {
        usage: {
          inputTokens: 10,
          outputTokens: 4,
          totalTokens: 114,
          cacheReadInputTokens: 80,
          cacheWriteInputTokens: 20,
        },
      }),
    ]
    const { url, seen } = await serve([{ body: Buffer.concat(first) }, { body: Buffer.concat(done) }])
    const config = { id: claude, baseUrl: url, aws }
    const answer = await ask(config)
    expect(answer).toMatchObject({
      finish: 'tool_calls',
      toolCalls: [
        { id: 'tooluse_a', input: '{"at":"a"}' },
        { id: 'tooluse_b', input: '{"at":"b"}' },
      ],
      usage: { inputTokens: 110, outputTokens: 4, cachedInputTokens: 80, cacheWriteTokens: 20 },
    })
    const result = (id: string) => ({
      type: 'tool_result' as const,
      id,
      content: [{ type: 'text' as const, text: 'seen' }],
    })
    await ask(config, {
      chatHistory: [
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        { role: 'assistant', content: answer.content },
        { role: 'tool', content: [result('tooluse_a'), result('tooluse_b')] },
      ],
    })
    expect(seen[1]?.body['messages']).toMatchObject([
      { role: 'user' },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'sig' } } },
          { toolUse: { toolUseId: 'tooluse_a', name: 'look', input: { at: 'a' } } },
          { toolUse: { toolUseId: 'tooluse_b' } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'tooluse_a', content: [{ text: 'seen' }] } },
          { toolResult: { toolUseId: 'tooluse_b' } },
          { cachePoint: { type: 'default' } },
        ],
      },
    ])
  })

  it('is called again after a rate limit, inside the stream too, and after an answer that was cut off', async () => {
    const { url, seen } = await serve([
      { status: 429, headers: { 'retry-after': '1' }, body: '{"message":"Too many requests"}' },
      { body: exception('throttlingException', 'slow down') },
      { body: Buffer.concat(done.slice(0, 2)) },
      { body: Buffer.concat(done) },
    ])
    const model = createModel({
      provider: 'bedrock',
      id: claude,
      baseUrl: url,
      aws,
      retry: { sleep: async () => undefined },
    })
    const answer = await model.answer(
      { chatHistory: [{ role: 'user', content: [{ type: 'text', text: 'Go.' }] }], documents: [], tools: [] },
      { signal: new AbortController().signal, on: () => undefined, restarts: true },
    )
    expect(answer.text).toBe('Done.')
    expect(seen).toHaveLength(4)
  })

  it('has errors that say what to do and contain no secret', async () => {
    const denied = `{"message":"The security token ${aws.secretAccessKey} is invalid"}`
    const broken = ['not a stream of events at all', framed({ ':event-type': 'messageStart' }, '{"role":')]
    const { url } = await serve([{ status: 403, body: denied }, ...broken.map((body) => ({ body }))])
    const refused: unknown = await ask({ id: claude, baseUrl: url, aws }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'model_auth', status: 403 })
    expect(String(refused)).not.toContain(aws.secretAccessKey)
    const once = { retry: { maxAttempts: 1 } }
    for (const _ of broken)
      await expect(ask({ id: claude, baseUrl: url, aws, ...once })).rejects.toMatchObject({
        code: 'model_bad_response',
      })
    await expect(ask({ id: claude, aws: { region: 'us-east-1' } })).rejects.toMatchObject({
      code: 'model_auth',
    })
    await expect(ask({ id: claude, aws: { ...aws, region: '' } })).rejects.toThrow('AWS_REGION')
  })
})
