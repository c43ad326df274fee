import type { LanguageModelV2, LanguageModelV3 } from '@ai-sdk/provider'
import { describe, expect, it } from 'vitest'
import type { CompletionRequest } from '../../tool/completion.js'
import type { ModelCall, ModelEvent } from '../model.js'
import type { AiSdkModel } from './ai-sdk-model.js'
import { fromAiSdk } from './from-ai-sdk.js'

type Options = Readonly<Record<string, unknown>>
type Fake = AiSdkModel & { readonly asked: Options[] }

/** A model object such as a host may pass in. It emits the given parts, and records the options of its calls. */
function fake(specificationVersion: string, parts: readonly unknown[], provider = 'acme.chat'): Fake {
  const asked: Options[] = []
  return {
    specificationVersion,
    provider,
    modelId: 'm1',
    asked,
    async doStream(options) {
      asked.push(options)
      return { stream: streamOf(parts) }
    },
  }
}

function streamOf(parts: readonly unknown[]): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
}

const image = { type: 'image', data: 'AAAA', mediaType: 'image/png' } as const
const request: CompletionRequest = {
  chatHistory: [
    {
      role: 'user',
      content: [{ type: 'text', text: 'hi' }, image, { ...image, data: 'https://x.test/a.png' }],
    },
    {
      role: 'assistant',
      content: [{ type: 'tool_call', id: 'c1', function: { name: 'shot', arguments: {} } }],
    },
    {
      role: 'tool',
      content: [{ type: 'tool_result', id: 'c1', content: [{ type: 'text', text: 't' }, image] }],
    },
    { role: 'system', content: 'mind the date' },
  ],
  documents: [],
  tools: [{ name: 'shot', description: 'd', parameters: { type: 'object' } }],
  toolChoice: { type: 'tool', name: 'shot' },
  temperature: 0.5,
  additionalParams: { topP: 0.9, special: true },
}

function listen(call: Partial<ModelCall> = {}): ModelCall & { events: ModelEvent[] } {
  const events: ModelEvent[] = []
  return { events, signal: new AbortController().signal, on: (event) => void events.push(event), ...call }
}

const v3Usage = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 5, cacheWrite: 1 },
  outputTokens: { total: 7, text: 4, reasoning: 3 },
}
const finish = { type: 'finish', usage: v3Usage, finishReason: { unified: 'stop', raw: 'stop' } }

describe('fromAiSdk', () => {
  it.each(['v2', 'v3', 'v4'])('accepts a model object of specification %s', async (version) => {
    const v2End = {
      type: 'finish',
      usage: { inputTokens: 10, outputTokens: 7, totalTokens: 17, cachedInputTokens: 5, reasoningTokens: 3 },
      finishReason: 'tool-calls',
    }
    const v3End = { type: 'finish', usage: v3Usage, finishReason: { unified: 'tool-calls', raw: 'x' } }
    const model = fake(version, [
      { type: 'stream-start', warnings: [] },
      { type: 'response-metadata', id: 'r1', modelId: 'm1-2026' },
      { type: 'something-new', value: 1 },
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hm' },
      { type: 'reasoning-end', id: '0', providerMetadata: { acme: { proof: 'P' } } },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'Yes' },
      { type: 'text-end', id: '1', citations: [] },
      { type: 'tool-input-start', id: 'c1', toolName: 'shot' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"a"' },
      { type: 'tool-input-delta', id: 'c1', delta: ':1}' },
      { type: 'tool-input-end', id: 'c1' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'shot', input: '{"a":1}' },
      { type: 'tool-input-start', id: 'ws', toolName: 'web_search', providerExecuted: true },
      { type: 'tool-call', toolCallId: 'ws', toolName: 'web_search', input: '{}', providerExecuted: true },
      { type: 'tool-result', toolCallId: 'ws', toolName: 'web_search', result: {} },
      version === 'v2' ? v2End : v3End,
    ])
    const call = listen()
    const answer = await fromAiSdk(model).answer(request, call)
    expect(answer).toMatchObject({
      text: 'Yes',
      finish: 'tool_calls',
      usage: { inputTokens: 10, outputTokens: 7, totalTokens: 17, cachedInputTokens: 5, reasoningTokens: 3 },
      response: { id: 'r1', model: 'm1-2026' },
    })
    // The history already has a call "c1": a new one must not be confused with it.
    const id = answer.toolCalls[0]?.id ?? ''
    expect(id).not.toBe('c1')
    expect(answer.toolCalls).toEqual([{ id, name: 'shot', input: '{"a":1}' }])
    expect(answer.content[0]).toEqual({
      type: 'reasoning',
      text: 'hm',
      id: '0',
      signature: '{"acme":{"proof":"P"}}',
    })
    expect(call.events).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Yes' },
      { type: 'tool_call', id, name: 'shot' },
      { type: 'tool_input', id, text: '{"a"' },
      { type: 'tool_input', id, text: ':1}' },
    ])
  })

  it.each([
    ['v2', { data: 'AAAA' }, { type: 'media', data: 'AAAA', mediaType: 'image/png' }],
    ['v3', { data: 'AAAA' }, { type: 'image-data', data: 'AAAA', mediaType: 'image/png' }],
    ['v4', { data: { type: 'data', data: 'AAAA' } }, { type: 'file', data: { type: 'data', data: 'AAAA' } }],
  ])('writes requests in the form of %s', async (version, file, inResult) => {
    const model = fake(version, [finish])
    await fromAiSdk(model).answer(request, listen())
    expect(model.asked[0]).toMatchObject({
      temperature: 0.5,
      topP: 0.9,
      toolChoice: { type: 'tool', toolName: 'shot' },
      tools: [{ type: 'function', name: 'shot', inputSchema: { type: 'object' } }],
      providerOptions: { acme: { special: true } },
      prompt: [
        {
          role: 'user',
          content: [{ type: 'text', text: 'hi' }, { type: 'file', ...file }, { type: 'file' }],
        },
        {
          role: 'assistant',
          content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'shot', input: {} }],
        },
        {
          role: 'tool',
          content: [
            {
              type: 'tool-result',
              toolCallId: 'c1',
              toolName: 'shot',
              output: { type: 'content', value: [{ type: 'text', text: 't' }, inResult] },
            },
          ],
        },
        { role: 'user', content: [{ type: 'text' }] },
      ],
    })
  })

  it('leaves out what a model cannot see', async () => {
    const model = fake('v3', [finish])
    await fromAiSdk(model, { facts: { images: false, tools: false } }).answer(request, listen())
    const asked = JSON.stringify(model.asked[0])
    expect(asked).not.toContain('AAAA')
    expect(asked).toContain('cannot see')
    expect(model.asked[0]).not.toHaveProperty('tools')
  })

  it('converts arguments that came at once, or as a value, to JSON text', async () => {
    const model = fake('v3', [
      { type: 'tool-call', toolCallId: 'a', toolName: 't', input: '{"x":1}' },
      { type: 'tool-call', toolCallId: 'b', toolName: 't', input: { y: 2 } },
      { type: 'tool-call', toolCallId: 'b', toolName: 't', input: '' },
      finish,
    ])
    const { toolCalls, finish: end } = await fromAiSdk(model).answer(
      { ...request, chatHistory: [] },
      listen(),
    )
    expect(toolCalls.map(({ input }) => input)).toEqual(['{"x":1}', '{"y":2}', '{}'])
    expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(3)
    expect(end).toBe('tool_calls')
  })

  it('keeps images that the model created', async () => {
    const model = fake('v3', [
      { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2]) },
      { type: 'file', mediaType: 'audio/wav', data: 'zzz' },
      finish,
    ])
    const { content } = await fromAiSdk(model).answer(request, listen())
    expect(content).toEqual([{ type: 'image', data: 'AQI=', mediaType: 'image/png' }])
  })

  it('does not wait for a model object that ignores the signal', async () => {
    const deaf: AiSdkModel = { ...fake('v3', []), doStream: () => new Promise(() => undefined) }
    const controller = new AbortController()
    const answering = fromAiSdk(deaf).answer(request, listen({ signal: controller.signal }))
    controller.abort(new Error('enough'))
    await expect(answering).rejects.toThrow('enough')
    await expect(
      fromAiSdk(deaf).answer(request, listen({ timeoutMs: 20, maxAttempts: 1 })),
    ).rejects.toMatchObject({ code: 'model_timeout' })
  })

  it.each([
    ['an error of the wire', { statusCode: 503, message: 'down', isRetryable: true }, 'model_server_error'],
    [
      'a context that is too long',
      { statusCode: 400, responseBody: '{"error":{"message":"prompt is too long"}}' },
      'model_context_overflow',
    ],
    ['a broken connection', new TypeError('terminated'), 'model_unreachable'],
    [
      'an answer that does not parse',
      Object.assign(new Error('x'), { name: 'AI_TypeValidationError' }),
      'model_bad_response',
    ],
    [
      'a prompt it does not accept',
      Object.assign(new Error('x'), { name: 'AI_UnsupportedFunctionalityError' }),
      'model_request_refused',
    ],
  ])('recognises %s', async (_, thrown, code) => {
    const failing: AiSdkModel = { ...fake('v3', []), doStream: () => Promise.reject(thrown) }
    await expect(fromAiSdk(failing).answer(request, listen({ maxAttempts: 1 }))).rejects.toMatchObject({
      code,
    })
    const inStream = fake('v3', [
      { type: 'text-delta', id: '0', delta: 'a' },
      { type: 'error', error: thrown },
    ])
    await expect(fromAiSdk(inStream).answer(request, listen())).rejects.toMatchObject({ code, emitted: true })
    expect(inStream.asked).toHaveLength(1)
  })

  it('continues to read only when the listener is ready', async () => {
    const parts = ['a', 'b'].map((delta) => ({ type: 'text-delta', id: '0', delta }))
    const waiting: (() => void)[] = []
    const call = listen({ drain: () => new Promise((resolve) => waiting.push(resolve)) })
    const asked = async (times: number): Promise<void> => {
      while (waiting.length < times) await new Promise(setImmediate)
      await new Promise(setImmediate)
    }
    const answering = fromAiSdk(fake('v3', [...parts, finish])).answer(request, call)
    await asked(1)
    expect(call.events).toHaveLength(1)
    waiting[0]?.()
    await asked(2)
    expect(call.events).toHaveLength(2)
    waiting[1]?.()
    expect((await answering).text).toBe('ab')
  })

  it('rejects a value that is not a model object', () => {
    expect(() => fromAiSdk('gpt' as unknown as AiSdkModel)).toThrow(/doStream/)
  })

  it('accepts the types that the library itself declares', () => {
    const typed = (v2: LanguageModelV2, v3: LanguageModelV3) => [fromAiSdk(v2), fromAiSdk(v3)]
    expect(typed).toBeTypeOf('function')
  })
})
