import { describe, expect, it } from 'vitest'
import type { CompletionRequest, CompletionResponse } from '../tool/completion.js'
import { AssistantContent, Message, Usage, UserContent } from '../tool/message.js'
import { CompletionCapabilityError } from './completion-capability.js'
import {
  type CompletionModel,
  type CompletionModelCapabilities,
  type CompletionStreamEvent,
  fromCompletionModel,
  isCompletionModel,
  type StreamingCompletionModel,
} from './completion-model.js'
import { ModelError } from './errors.js'
import type { ModelCall, ModelEvent } from './model.js'

const all: CompletionModelCapabilities = {
  streaming: true,
  tools: true,
  toolChoice: true,
  imageInput: true,
  documentInput: true,
  outputSchema: true,
  reasoning: true,
}

function whole(
  completion: (request: CompletionRequest) => Promise<CompletionResponse>,
  capabilities: Partial<CompletionModelCapabilities> = {},
): CompletionModel {
  return { provider: 'own', defaultModel: 'm', capabilities: { ...all, ...capabilities }, completion }
}

function pieces(events: () => AsyncIterable<CompletionStreamEvent>): StreamingCompletionModel {
  const never = () => Promise.reject(new Error('not asked for'))
  return { ...whole(never), streamCompletion: events }
}

function responseOf(...choice: AssistantContent[]): CompletionResponse {
  return {
    choice,
    usage: { ...Usage.empty(), inputTokens: 4, totalTokens: 4 },
    rawResponse: {},
    messageId: 'msg1',
  }
}

function listen(call: Partial<ModelCall> = {}): ModelCall & { events: ModelEvent[] } {
  const events: ModelEvent[] = []
  return { events, signal: new AbortController().signal, on: (event) => void events.push(event), ...call }
}

const request: CompletionRequest = { chatHistory: [Message.user('hi')], documents: [], tools: [] }

describe('fromCompletionModel', () => {
  it('returns the whole answer of a model that answers at once, and emits its pieces', async () => {
    const seen: CompletionRequest[] = []
    const model = fromCompletionModel(
      whole(async (asked) => {
        seen.push(asked)
        return responseOf(
          AssistantContent.reasoning('hm', 'r1', 'sig'),
          AssistantContent.text('Sure.'),
          AssistantContent.toolCall('c1', 'add', { a: 1 }, 'x1'),
        )
      }),
    )
    const call = listen()
    const answer = await model.answer({ ...request, instructions: 'be brief' }, call)
    expect(seen).toMatchObject([{ instructions: 'be brief', chatHistory: request.chatHistory }])
    expect(call.events).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'text', text: 'Sure.' },
      { type: 'tool_call', id: 'c1', name: 'add' },
      { type: 'tool_input', id: 'c1', text: '{"a":1}' },
    ])
    expect(answer).toMatchObject({
      text: 'Sure.',
      finish: 'tool_calls',
      toolCalls: [{ id: 'c1', name: 'add', input: '{"a":1}' }],
      usage: { inputTokens: 4 },
      response: { id: 'msg1' },
      content: [
        { type: 'reasoning', text: 'hm', id: 'r1', signature: 'sig' },
        { type: 'text', text: 'Sure.' },
        { type: 'tool_call', id: 'c1', callId: 'x1', function: { name: 'add', arguments: { a: 1 } } },
      ],
    })
  })

  it('streams when the model can, and emits nothing twice', async () => {
    const model = fromCompletionModel(
      pieces(async function* () {
        yield { type: 'reasoning_delta', delta: 'h' }
        yield { type: 'reasoning_delta', delta: 'm', signature: 'sig' }
        yield { type: 'text_delta', delta: 'Su' }
        yield { type: 'text_delta', delta: 're.' }
        yield { type: 'tool_call_delta', id: 'c1', argumentsDelta: '{"a"' }
        yield { type: 'tool_call_delta', id: 'c1', name: 'add', argumentsDelta: ':1' }
        yield { type: 'tool_call_delta', id: 'c1', argumentsDelta: '}' }
        yield { type: 'tool_call', toolCall: AssistantContent.toolCall('c1', 'add', { a: 1 }) }
        yield {
          type: 'final',
          response: responseOf(
            AssistantContent.reasoning('hm'),
            AssistantContent.text('Sure.'),
            AssistantContent.toolCall('c1', 'add', { a: 1 }),
            AssistantContent.toolCall('c2', 'late', {}),
          ),
        }
      }),
    )
    const call = listen()
    const answer = await model.answer(request, call)
    expect(call.events.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      'h',
      'm',
      'Su',
      're.',
      'tool_call',
      '{"a"',
      ':1',
      '}',
      'tool_call',
      '{}',
    ])
    expect(answer.text).toBe('Sure.')
    expect(answer.toolCalls).toEqual([
      { id: 'c1', name: 'add', input: '{"a":1}' },
      { id: 'c2', name: 'late', input: '{}' },
    ])
    expect(answer.content[0]).toEqual({ type: 'reasoning', text: 'hm', signature: 'sig' })
  })

  it('prefers the tool call to its deltas, and accepts a final answer without any', async () => {
    const changed = fromCompletionModel(
      pieces(async function* () {
        yield {
          type: 'tool_call_delta',
          id: 'c1',
          name: 'add',
          argumentsDelta: '{"a":9',
          argumentsMode: 'replace',
        }
        yield { type: 'tool_call', toolCall: AssistantContent.toolCall('c1', 'add', { a: 1 }) }
      }),
    )
    expect((await changed.answer(request, listen())).toolCalls[0]?.input).toBe('{"a":1}')
    const late = fromCompletionModel(
      pieces(async function* () {
        yield { type: 'final', response: responseOf(AssistantContent.text('All at once.')) }
      }),
    )
    expect((await late.answer(request, listen())).text).toBe('All at once.')
  })

  it('separates calls to which a model gave one id', async () => {
    const twice = [
      AssistantContent.toolCall('c', 'add', { a: 1 }),
      AssistantContent.toolCall('c', 'add', { a: 2 }),
    ]
    const atOnce = fromCompletionModel(whole(async () => responseOf(...twice)))
    const inPieces = fromCompletionModel(
      pieces(async function* () {
        for (const toolCall of twice) yield { type: 'tool_call', toolCall }
        yield { type: 'final', response: responseOf(...twice) }
      }),
    )
    for (const model of [atOnce, inPieces]) {
      const { toolCalls } = await model.answer(request, listen())
      expect(toolCalls.map(({ input }) => input)).toEqual(['{"a":1}', '{"a":2}'])
      expect(new Set(toolCalls.map(({ id }) => id)).size).toBe(2)
    }
  })

  it.each([
    ['tools', { tools: [{ name: 't', description: '', parameters: {} }] }],
    ['toolChoice', { toolChoice: 'auto' as const }],
    ['outputSchema', { outputSchema: { type: 'object' } }],
    ['imageInput', { chatHistory: [Message.user([UserContent.image('AAAA')])] }],
    ['documentInput', { chatHistory: [Message.user([UserContent.document('AAAA', 'application/pdf')])] }],
  ])('rejects before the call what the model does not declare: %s', async (name, asked) => {
    let ran = false
    const model = fromCompletionModel(
      whole(
        async () => {
          ran = true
          return responseOf()
        },
        { [name]: false },
      ),
    )
    const error = await model.answer({ ...request, ...asked }, listen()).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(CompletionCapabilityError)
    expect(error).toBeInstanceOf(ModelError)
    expect(String(error)).toContain('own/m')
    expect(ran).toBe(false)
  })

  it('does not request a stream that the model does not declare', async () => {
    const both = {
      ...pieces(async function* () {
        yield { type: 'text_delta', delta: 'streamed' }
      }),
      ...whole(async () => responseOf(AssistantContent.text('whole')), { streaming: false }),
    }
    expect((await fromCompletionModel(both).answer(request, listen())).text).toBe('whole')
  })

  it('stops reading when it is aborted, and closes the stream', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const silent = fromCompletionModel(whole(() => new Promise(() => undefined)))
    const answering = silent.answer(request, listen({ signal: controller.signal }))
    controller.abort(reason)
    await expect(answering).rejects.toBe(reason)

    let closed: (() => void) | undefined
    const closing = new Promise<void>((resolve) => {
      closed = resolve
    })
    const second = new AbortController()
    const streaming = fromCompletionModel(
      pieces(async function* () {
        try {
          for (;;) yield { type: 'text_delta', delta: 'a' }
        } finally {
          closed?.()
        }
      }),
    )
    const call = listen({ signal: second.signal, on: () => second.abort(reason) })
    await expect(streaming.answer(request, call)).rejects.toBe(reason)
    await closing
  })

  it('times out on silence', async () => {
    const silent = fromCompletionModel(whole(() => new Promise(() => undefined)))
    await expect(silent.answer(request, listen({ idleTimeoutMs: 20, maxAttempts: 1 }))).rejects.toMatchObject(
      {
        code: 'model_stalled',
      },
    )
  })

  it('reports how the model failed, and retries only where that helps', async () => {
    let asked = 0
    const failing = (error: unknown) =>
      fromCompletionModel(
        whole(async () => {
          asked++
          throw error
        }),
        { retry: { baseDelayMs: 1 } },
      )
    await expect(failing(new Error('boom')).answer(request, listen())).rejects.toMatchObject({
      code: 'model_server_error',
      message: 'Model "own/m" failed: boom',
    })
    expect(asked).toBe(1)
    const limited = Object.assign(new Error('slow'), { status: 429 })
    await expect(failing(limited).answer(request, listen({ maxAttempts: 2 }))).rejects.toMatchObject({
      code: 'model_rate_limited',
    })
    expect(asked).toBe(3)
    const broken = fromCompletionModel(
      pieces(async function* () {
        yield { type: 'text_delta', delta: 'a' }
        yield { type: 'error', error: new Error('boom') }
      }),
    )
    await expect(broken.answer(request, listen())).rejects.toMatchObject({ emitted: true })
  })

  it('is distinguished from other models by its completion function', () => {
    expect(isCompletionModel(whole(async () => responseOf()))).toBe(true)
    expect(isCompletionModel({ provider: 'x', answer: () => undefined })).toBe(false)
    expect(isCompletionModel('gpt')).toBe(false)
  })
})
