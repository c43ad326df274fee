import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, resultOf, resultsIn, textsIn, ways } from '../../../test/agent/completion-models.js'
import { MaxTurnsError } from '../../loop/errors.js'
import { CompletionCapabilityError } from '../../model/completion-capability.js'
import type {
  CompletionModel,
  CompletionStreamEvent,
  StreamingCompletionModel,
} from '../../model/completion-model.js'
import { ModelError } from '../../model/errors.js'
import { scriptedModel } from '../../testing/scripted-model.js'
import type { CompletionRequest, CompletionResponse } from '../../tool/completion.js'
import type { AnyTool } from '../../tool/contract.js'
import { createTool } from '../../tool/create-tool.js'
import { AssistantContent, Message, UserContent } from '../../tool/message.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { AgentBuilder } from './agent-builder.js'
import type { AgentStreamEvent } from './prompt-events.js'

const { text, toolCall } = AssistantContent
const capabilities = {
  streaming: true,
  tools: true,
  toolChoice: true,
  imageInput: true,
  documentInput: true,
  outputSchema: true,
  reasoning: true,
}
const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 }

function whole(completion: (request: CompletionRequest) => Promise<CompletionResponse>): CompletionModel {
  return { provider: 'own', defaultModel: 'm', capabilities, completion }
}

function pieces(
  ...answers: CompletionStreamEvent[][]
): StreamingCompletionModel & { asked: CompletionRequest[] } {
  const asked: CompletionRequest[] = []
  return {
    ...whole(() => Promise.reject(new Error('not asked for'))),
    asked,
    async *streamCompletion(request) {
      yield* answers[asked.push(request) - 1] ?? []
    },
  }
}

function counter(): { tool: AnyTool; ran: unknown[] } {
  const ran: unknown[] = []
  const tool = createTool({
    name: 'note',
    description: 'd',
    input: z.object({ n: z.number().default(0) }),
    execute: (args) => {
      ran.push(args)
      return 'noted'
    },
  })
  return { tool, ran }
}

const final = (...choice: AssistantContent[]): CompletionStreamEvent => ({
  type: 'final',
  response: { choice, usage, rawResponse: {} },
})

async function drain(
  request: ReturnType<ReturnType<AgentBuilder['build']>['prompt']>,
): Promise<AgentStreamEvent[]> {
  const events: AgentStreamEvent[] = []
  for await (const event of request.stream()) events.push(event)
  return events
}

describe.each(ways)('a replaced response (%s)', (way) => {
  it('is used by the run in full: choice, usage and message id', async () => {
    const model = queueModel([text('draft')])
    const agent = new AgentBuilder('a', model)
      .middleware({
        onCompletionResponse: ({ response }) => ({
          response: {
            ...response,
            choice: [text('final')],
            messageId: 'msg-7',
            usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110, cacheCreationInputTokens: 7 },
          },
        }),
      })
      .build()
    const events: AgentStreamEvent[] = []
    const result = await resultOf(agent.prompt('go'), way, events)
    expect(result.output).toBe('final')
    expect(result.usage).toEqual({
      inputTokens: 100,
      outputTokens: 10,
      totalTokens: 110,
      cacheCreationInputTokens: 7,
    })
    expect(result.messages.at(-1)).toEqual({ role: 'assistant', id: 'msg-7', content: [text('final')] })
    if (way === 'stream')
      expect(events.find(({ type }) => type === 'turn_end')).toMatchObject({
        response: { messageId: 'msg-7', usage: { inputTokens: 100 } },
      })
  })

  it('has the provider’s own response as rawResponse', async () => {
    const raw = { id: 'provider-object' }
    const seen: unknown[] = []
    const agent = new AgentBuilder(
      'a',
      whole(async () => ({ choice: [text('hi')], usage, rawResponse: raw })),
    )
      .middleware({ onCompletionResponse: ({ response }) => void seen.push(response.rawResponse) })
      .build()
    const events: AgentStreamEvent[] = []
    await resultOf(agent.prompt('go'), way, events)
    expect(seen[0]).toBe(raw)
    if (way === 'stream')
      expect(events.find(({ type }) => type === 'turn_end')).toMatchObject({ response: { rawResponse: raw } })
  })

  it('runs a call that was added in place, and ends the run when all calls were removed', async () => {
    const { tool, ran } = counter()
    const model = queueModel([text('hm')], [toolCall('c', 'note', { n: 2 }), text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(tool)
      .middleware({
        onCompletionResponse({ turn, response }) {
          if (turn === 1) response.choice.push(toolCall('made', 'note', { n: 1 }))
          else response.choice.splice(0, 1)
          return { response }
        },
      })
      .build()
    expect((await resultOf(agent.prompt('go'), way)).output).toBe('ok')
    expect(ran).toEqual([{ n: 1 }])
  })

  it('ends the run with an error when it has no choice or two calls with one id, and its tokens count', async () => {
    const twice = [toolCall('c', 'note', {}), toolCall('c', 'note', {})]
    for (const choice of [undefined, twice]) {
      const agent = new AgentBuilder('a', queueModel([text('hm')]))
        .middleware({
          onCompletionResponse: ({ response }) => ({
            response: { ...response, choice } as CompletionResponse,
          }),
        })
        .build()
      const events: AgentStreamEvent[] = []
      await expect(resultOf(agent.prompt('go'), 'stream', events)).rejects.toThrow(/choice|same id/)
      expect(events.at(-1)).toMatchObject({ type: 'error', usage: { totalTokens: 5 } })
    }
  })
})

describe.each(ways)('a replaced result (%s)', (way) => {
  const failing = createTool({
    name: 'boom',
    description: 'd',
    input: z.object({ fail: z.boolean().default(true) }),
    execute: ({ fail }) => {
      if (fail) throw new Error('broken')
      return 'fine'
    },
  })
  const shown = async (
    onToolOutput: AgentMiddleware['onToolOutput'],
    name = 'boom',
    args: object = {},
    events: AgentStreamEvent[] = [],
  ) => {
    const model = queueModel([toolCall('c', name, args as never)], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(failing)
      .middleware({ ...(onToolOutput && { onToolOutput }) })
      .build()
    await resultOf(agent.prompt('go'), way, events)
    return resultsIn(model.requests[1]?.chatHistory)[0]
  }

  it('of a failed call reaches the model without an added "Error: "', async () => {
    expect(await shown(() => 'Try again later.')).toMatchObject({
      content: [{ type: 'text', text: 'Try again later.' }],
      isError: true,
    })
    expect(await shown(() => undefined)).toMatchObject({
      content: [{ text: 'Error: broken' }],
      isError: true,
    })
    expect(await shown(({ result }) => `${result}!`)).toMatchObject({ content: [{ text: 'Error: broken!' }] })
  })

  it('of a refused call reaches the model as it is', async () => {
    for (const [name, args] of [
      ['nothing', {}],
      ['boom', { fail: 'maybe' }],
    ] as const)
      expect(await shown(() => 'No.', name, args)).toMatchObject({
        content: [{ text: 'No.' }],
        isError: true,
      })
  })

  it('of blocks reaches the model as blocks, for failed calls too, and an empty list stays an empty list', async () => {
    const image = { type: 'image' as const, data: 'AAAA' }
    const events: AgentStreamEvent[] = []
    expect((await shown(() => ({ structuredResult: [image] })))?.content).toEqual([image])
    expect((await shown(() => ({ structuredResult: [] }), 'boom', { fail: false }, events))?.content).toEqual(
      [],
    )
    expect((await shown(() => ({ structuredResult: [] })))?.content).toEqual([])
    if (way === 'stream')
      expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({
        result: '',
        structuredResult: [],
      })
  })
})

describe('a streamed call', () => {
  it('runs once, as it was streamed, when the final response repeats it under another id with the same callId', async () => {
    const { tool, ran } = counter()
    const model = pieces(
      [
        { type: 'tool_call', toolCall: toolCall('item-1', 'note', { n: 5 }, 'call-1') },
        final(toolCall('other-1', 'note', {}, 'call-1')),
      ],
      [{ type: 'text_delta', delta: 'ok' }],
    )
    await drain(new AgentBuilder('a', model).tool(tool).build().prompt('go'))
    expect(ran).toEqual([{ n: 5 }])
    expect(resultsIn(model.asked[1]?.chatHistory)).toMatchObject([{ id: 'item-1', callId: 'call-1' }])
  })

  it('keeps its streamed arguments, and uses those of the final response only when the stream was cut off', async () => {
    const { tool, ran } = counter()
    const delta = (id: string, callId: string, argumentsDelta: string): CompletionStreamEvent => ({
      type: 'tool_call_delta',
      id,
      callId,
      name: 'note',
      argumentsDelta,
    })
    const model = pieces(
      [
        delta('a', 'call-a', '{"n":1}'),
        delta('b', 'call-b', '{"n":'),
        final(toolCall('x', 'note', { n: 8 }, 'call-a'), toolCall('y', 'note', { n: 9 }, 'call-b')),
      ],
      [{ type: 'text_delta', delta: 'ok' }],
    )
    await drain(new AgentBuilder('a', model).tool(tool).build().prompt('go'))
    expect(ran).toEqual([{ n: 1 }, { n: 9 }])
  })

  it('keeps its callId and signature when a later piece leaves them empty', async () => {
    const { tool } = counter()
    const model = pieces(
      [
        {
          type: 'tool_call_delta',
          id: 'a',
          callId: 'call-a',
          name: 'note',
          argumentsDelta: '{',
          signature: 's',
        },
        { type: 'tool_call_delta', id: 'a', callId: '', name: '', argumentsDelta: '}', signature: '' },
        { type: 'tool_call', toolCall: { ...toolCall('a', 'note', {}, ''), signature: '' } },
      ],
      [{ type: 'text_delta', delta: 'ok' }],
    )
    await drain(new AgentBuilder('a', model).tool(tool).build().prompt('go'))
    const answer = model.asked[1]?.chatHistory.find(({ role }) => role === 'assistant')
    expect(answer?.content[0]).toMatchObject({ callId: 'call-a', signature: 's' })
    expect(resultsIn(model.asked[1]?.chatHistory)).toMatchObject([{ callId: 'call-a' }])
  })
})

describe.each(ways)('images and documents (%s)', (way) => {
  const image = UserContent.imageBase64('AAAA', 'image/png')
  const pdf = UserContent.documentBase64('AAAA', 'application/pdf')

  it.each([
    ['imageInput', image, /images/],
    ['documentInput', pdf, /documents/],
  ] as const)(
    'are refused before the request when the completion model does not support %s',
    async (name, part, words) => {
      const model = { ...queueModel([text('never')]), capabilities: { ...capabilities, [name]: false } }
      const request = new AgentBuilder('a', model)
        .build()
        .prompt(Message.user([UserContent.text('look'), part]))
      const failure = resultOf(request, way)
      await expect(failure).rejects.toThrow(CompletionCapabilityError)
      await expect(failure).rejects.toThrow(words)
      expect(model.requests).toEqual([])
    },
  )

  it('are refused for other models without support too, also when middleware adds them', async () => {
    const model = scriptedModel(['never'], { facts: { images: false } })
    const agent = new AgentBuilder('a', model)
      .middleware({
        onCompletionRequest: ({ request }) => ({
          request: { ...request, chatHistory: [...request.chatHistory, Message.user([image])] },
        }),
      })
      .build()
    await expect(resultOf(agent.prompt('look'), way)).rejects.toThrow(CompletionCapabilityError)
    expect(model.requests).toEqual([])
  })

  it('in the result of a tool become placeholders for a model that does not accept images', async () => {
    const shot = createTool({ name: 'shot', description: 'd', input: z.object({}), execute: () => [image] })
    const model = {
      ...queueModel([toolCall('c', 'shot', {})], [text('ok')]),
      capabilities: { ...capabilities, imageInput: false },
    }
    await resultOf(new AgentBuilder('a', model).tool(shot).build().prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['[image:image/png]'])
  })
})

describe('encrypted reasoning', () => {
  it('is sent back to the model unchanged and is never shown', async () => {
    const secret = {
      ...AssistantContent.reasoningEncrypted('opaque', 'r1'),
      more: 'kept',
    } as AssistantContent
    const mixed = AssistantContent.reasoningFromContent([
      { type: 'summary', text: 'I think.' },
      { type: 'redacted', data: 'hidden' },
    ])
    const { tool } = counter()
    const model = queueModel([secret, mixed, toolCall('c', 'note', {})], [text('ok')])
    await resultOf(new AgentBuilder('a', model).tool(tool).build().prompt('go'), 'send')
    expect(model.requests[1]?.chatHistory[1]?.content.slice(0, 2)).toEqual([secret, mixed])
  })

  it('in a stream is collected without being shown, and completed by the final response', async () => {
    const { tool } = counter()
    const whole = AssistantContent.reasoningFromContent([{ type: 'encrypted', data: 'whole' }], 'r2')
    const model = pieces(
      [
        { type: 'reasoning_delta', delta: 'I think.', id: 'r1', contentType: 'summary' },
        { type: 'reasoning_delta', delta: 'opa', id: 'r1', contentType: 'encrypted' },
        { type: 'reasoning_delta', delta: 'que', id: 'r1', contentType: 'encrypted' },
        { type: 'tool_call', toolCall: toolCall('c', 'note', {}) },
        final(whole, toolCall('c', 'note', {})),
      ],
      [{ type: 'text_delta', delta: 'ok' }],
    )
    const events = await drain(new AgentBuilder('a', model).tool(tool).build().prompt('go'))
    const shownText = events.flatMap((event) => (event.type === 'reasoning_delta' ? [event.delta] : []))
    expect(shownText).toEqual(['I think.'])
    expect(model.asked[1]?.chatHistory[1]?.content).toMatchObject([
      whole,
      { id: 'r1', text: 'I think.', content: [{ text: 'I think.' }, { type: 'encrypted', data: 'opaque' }] },
      { type: 'tool_call' },
    ])
  })
})

describe.each(ways)('a host model that fails (%s)', (way) => {
  const failing = (...errors: unknown[]) => {
    let asked = 0
    const answer = async (): Promise<CompletionResponse> => {
      const error = errors[asked++]
      if (error !== undefined) throw error
      return { choice: [text('ok')], usage, rawResponse: {} }
    }
    return {
      model: { ...whole(answer), capabilities: { ...capabilities, streaming: false } },
      asked: () => asked,
    }
  }
  const reset = () => Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
  const noWait = (waits: number[]) => ({
    clock: { now: () => 0, sleep: async (ms: number) => void waits.push(ms) },
  })

  it.each([
    new Error('plain'),
    Object.assign(new Error('refused'), { status: 400 }),
    Object.assign(new Error('busy'), { statusCode: 503 }),
    reset(),
  ])('is the cause of the error (%s)', async (thrown) => {
    const { model } = failing(thrown)
    const error = await resultOf(new AgentBuilder('a', model).build().prompt('go'), way).catch((one) => one)
    expect(error).toBeInstanceOf(ModelError)
    expect(error.cause).toBe(thrown)
  })

  it('is called again after a broken connection, as often and with such delays as withCompletionRetries says', async () => {
    const waits: number[] = []
    const { model, asked } = failing(reset(), new TypeError('fetch failed', { cause: reset() }), { code: 14 })
    const agent = new AgentBuilder('a', model).hostEnv(noWait(waits)).build()
    const retries = { maxAttempts: 4, initialDelayMs: 40, maxDelayMs: 60 }
    expect((await resultOf(agent.prompt('go').withCompletionRetries(retries), way)).output).toBe('ok')
    expect(asked()).toBe(4)
    // Each pause is shortened by at most a quarter.
    const full = [40, 60, 60]
    expect(waits.map((ms, at) => ms <= (full[at] ?? 0) && ms >= (full[at] ?? 0) * 0.75)).toEqual([
      true,
      true,
      true,
    ])
    const few = failing(reset(), reset(), reset())
    const stopped = new AgentBuilder('a', few.model).hostEnv(noWait([])).build().prompt('go')
    await expect(resultOf(stopped.withCompletionRetries({ maxAttempts: 2 }), way)).rejects.toThrow(
      'socket hang up',
    )
    expect(few.asked()).toBe(2)
  })

  it('is called once without withCompletionRetries, and for permanent errors', async () => {
    const once = failing(reset())
    await expect(resultOf(new AgentBuilder('a', once.model).build().prompt('go'), way)).rejects.toThrow()
    expect(once.asked()).toBe(1)
    for (const error of [new Error('bug'), new DOMException('stop', 'AbortError')]) {
      const { model, asked } = failing(error)
      const request = new AgentBuilder('a', model).hostEnv(noWait([])).build().prompt('go')
      await expect(resultOf(request.withCompletionRetries(), way)).rejects.toThrow()
      expect(asked()).toBe(1)
    }
  })

  it('is called again when shouldRetry returns true for the error', async () => {
    const bug = new Error('bug')
    const seen: unknown[] = []
    const { model, asked } = failing(bug, bug, bug)
    const request = new AgentBuilder('a', model).hostEnv(noWait([])).build().prompt('go')
    const shouldRetry = (context: { attempt: number }): boolean => {
      seen.push(context)
      return context.attempt < 2
    }
    await expect(
      resultOf(request.withCompletionRetries({ shouldRetry, maxAttempts: 5 }), way),
    ).rejects.toThrow('bug')
    expect(asked()).toBe(2)
    expect(seen[0]).toEqual({ error: bug, attempt: 1, maxAttempts: 5, turn: 1, streaming: way === 'stream' })
  })

  it.each([
    { maxAttempts: 0 },
    { initialDelayMs: -1 },
    { maxDelayMs: Number.NaN },
    { initialDelayMs: 50, maxDelayMs: 10 },
  ])('rejects invalid retry options (%j)', (options) => {
    const request = new AgentBuilder('a', failing().model).build().prompt('go')
    expect(() => request.withCompletionRetries(options)).toThrow()
  })
})

describe('usage', () => {
  it('counts tokens written to a cache, for models of the host and of the package', async () => {
    const own = whole(async () => ({
      choice: [text('ok')],
      usage: { ...usage, cachedInputTokens: 1, cacheCreationInputTokens: 2 },
      rawResponse: {},
    }))
    expect((await new AgentBuilder('a', own).build().prompt('go').send()).usage).toEqual({
      ...usage,
      cachedInputTokens: 1,
      cacheCreationInputTokens: 2,
    })
    const ours = scriptedModel([{ text: 'ok', usage: { ...usage, cacheWriteTokens: 4 } }])
    expect((await new AgentBuilder('a', ours).build().prompt('go').send()).usage).toMatchObject({
      cacheCreationInputTokens: 4,
    })
  })
})

describe('MaxTurnsError', () => {
  it('has the transcript, and does not print it', async () => {
    const { tool } = counter()
    const model = queueModel([toolCall('a', 'note', {})], [toolCall('b', 'note', {})])
    const error: MaxTurnsError = await new AgentBuilder('a', model)
      .tool(tool)
      .build()
      .prompt([Message.user('before'), Message.assistant('yes'), Message.user('go')])
      .maxTurns(1)
      .send()
      .then(
        () => undefined as never,
        (thrown) => thrown,
      )
    expect(error).toBeInstanceOf(MaxTurnsError)
    expect(error.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
    ])
    expect(JSON.stringify(error)).not.toContain('before')
  })
})

describe('the name of a tool', () => {
  it.each([
    'a',
    '1st',
    '_x',
    'a-b',
    'a.b',
    'a:b',
    'mcp__server__tool',
    'constructor',
    '__proto__',
    'toString',
    'n'.repeat(128),
  ])('works in a run when providers accept it: %s', async (name) => {
    const tool = createTool({ name, description: 'd', input: z.object({}), execute: () => 'ran' })
    const model = queueModel([toolCall('c', name, {})], [text('ok')])
    await new AgentBuilder('a', model).tool(tool).build().prompt('go').send()
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['ran'])
  })

  it.each(['', ' ', 'a b', 'a/b', 'é', 'n'.repeat(129)])(
    'is rejected at creation when no provider accepts it: %j',
    (name) => {
      const make = () => createTool({ name, description: 'd', input: z.object({}), execute: () => 1 })
      expect(make).toThrow(/1 to 128 letters/)
    },
  )
})
