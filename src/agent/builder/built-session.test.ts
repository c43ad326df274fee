import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, resultOf, ways } from '../../../test/agent/completion-models.js'
import { scriptedModel } from '../../testing/scripted-model.js'
import type { ToolApprovalRunContext } from '../../tool/approval.js'
import type { Message as AnyMessage } from '../../tool/completion.js'
import { createTool } from '../../tool/create-tool.js'
import type { JsonObject } from '../../tool/json.js'
import { AssistantContent, Message } from '../../tool/message.js'
import { AgentBuilder } from './agent-builder.js'
import { createCompletion } from './create-completion.js'
import type { ConversationStore } from './prompt-memory.js'
import { toReadableStream } from './readable-stream.js'

const { text, toolCall } = AssistantContent

type Saved = ConversationStore & { readonly saves: AnyMessage['role'][][]; readonly errors: unknown[] }

function store(): Saved {
  const kept = new Map<string, AnyMessage[]>()
  const saves: AnyMessage['role'][][] = []
  const errors: unknown[] = []
  return {
    saves,
    errors,
    load: async ({ sessionId }) => [...(kept.get(sessionId) ?? [])],
    append: async ({ context, messages }) => {
      saves.push(messages.map(({ role }) => role))
      kept.set(context.sessionId, [...(kept.get(context.sessionId) ?? []), ...messages])
    },
    clear: async ({ sessionId }) => void kept.delete(sessionId),
    recordError: async (input) => void errors.push(input),
  }
}

const note = createTool({ name: 'note', description: 'd', input: z.object({}), execute: () => 'noted' })

describe.each(ways)('a session of a built agent (%s)', (way) => {
  it('continues its conversation, which prompts outside of the session do not see', async () => {
    const memory = store()
    const model = queueModel([text('Hello.')], [text('Ada.')], [text('Who?')])
    const agent = new AgentBuilder('a', model).memory(memory).build()
    await resultOf(agent.session('s1').prompt('I am Ada.'), way)
    const second = await resultOf(agent.session('s1').prompt('Who am I?'), way)
    await resultOf(agent.prompt('Who am I?'), way)
    expect(model.requests.map(({ chatHistory }) => chatHistory.length)).toEqual([1, 3, 1])
    expect(second.messages).toEqual([Message.user('Who am I?'), Message.assistant('Ada.')])
    expect(await agent.session('s1').messages()).toHaveLength(4)
    expect(await agent.session('s2').messages()).toEqual([])
    await agent.session('s1').clear()
    expect(await agent.session('s1').messages()).toEqual([])
  })

  it.each([
    ['message', [['user'], ['assistant'], ['tool'], ['assistant']]],
    ['turn', [['user', 'assistant', 'tool'], ['assistant']]],
    ['run', [['user', 'assistant', 'tool', 'assistant']]],
  ] as const)('saves by the policy "%s"', async (savePolicy, saves) => {
    const memory = store()
    const model = queueModel([toolCall('c', 'note', {})], [text('done')])
    const agent = new AgentBuilder('a', model).tool(note).memory(memory, { savePolicy }).build()
    await resultOf(agent.session('s').prompt('go'), way)
    expect(memory.saves).toEqual(saves)
  })

  it('records a run that failed', async () => {
    const memory = store()
    const agent = new AgentBuilder('a', queueModel()).memory(memory, { savePolicy: 'run' }).build()
    await expect(resultOf(agent.session('s', { userId: 'u' }).prompt('go'), way)).rejects.toThrow()
    expect(memory.errors).toMatchObject([
      { context: { sessionId: 's', userId: 'u' }, runId: expect.any(String), messages: [Message.user('go')] },
    ])
    expect(memory.saves).toEqual([])
  })

  it('ends the prompt with the error of its store', async () => {
    const failure = new Error('disk full')
    const broken = { ...store(), load: () => Promise.reject(failure) }
    const agent = new AgentBuilder('a', queueModel([text('never')])).memory(broken).build()
    await expect(resultOf(agent.session('s').prompt('go'), way)).rejects.toBe(failure)
    const unsaved = { ...store(), append: () => Promise.reject(failure) }
    const other = new AgentBuilder('a', queueModel([text('never')])).memory(unsaved).build()
    await expect(resultOf(other.session('s').prompt('go'), way)).rejects.toBe(failure)
  })
})

describe('a session of a built agent', () => {
  it('needs a store, an id, and one message at a time', () => {
    const builder = new AgentBuilder('a', queueModel())
    expect(() => builder.build().session('s')).toThrow(/memory\(\)/)
    expect(() => builder.memory({ load: async () => [] } as never)).toThrow(/append is missing/)
    expect(() => builder.memory(store(), { savePolicy: 'never' as never })).toThrow(/"never"/)
    const agent = builder.memory(store()).build()
    expect(() => agent.session('  ')).toThrow(/non-empty/)
    expect(() => agent.session('s').prompt([Message.user('hi')] as never)).toThrow(/one message/)
  })
})

describe.each(ways)('metadata (%s)', (way) => {
  function asking() {
    const seen: ToolApprovalRunContext[] = []
    const runs: unknown[] = []
    const tool = createTool({
      name: 'note',
      description: 'd',
      input: z.object({}),
      approval: { when: ({ run }) => seen.push(run) < 0 },
      execute: (_, { run }) => {
        runs.push(run)
        return 'noted'
      },
    })
    const model = queueModel(
      [toolCall('c', 'note', {})],
      [text('ok')],
      [toolCall('d', 'note', {})],
      [text('ok')],
    )
    return { seen, runs, builder: new AgentBuilder('a', model).tool(tool) }
  }

  it('of agent, session and prompt is merged for approval policies and tools, and the most specific value counts', async () => {
    const { seen, runs, builder } = asking()
    const agent = builder
      .metadata({ tenant: 't', role: 'agent', plan: 'free' })
      .metadata({ region: 'eu' })
      .memory(store())
      .build()
    const session = agent.session('s', { metadata: { role: 'session', plan: 'pro' } })
    await resultOf(session.prompt('go').metadata({ plan: 'trial' }), way)
    await resultOf(agent.prompt('go'), way)
    expect(seen.map(({ sessionId, metadata }) => [sessionId, metadata])).toEqual([
      ['s', { tenant: 't', region: 'eu', role: 'session', plan: 'trial' }],
      [undefined, { tenant: 't', region: 'eu', role: 'agent', plan: 'free' }],
    ])
    expect(runs).toEqual(seen)
  })

  it('cannot be changed by its readers, and later changes of its owner have no effect', async () => {
    const { seen, builder } = asking()
    const own: JsonObject = { user: { name: 'Ada' } }
    const agent = builder.metadata(own).build()
    ;(own['user'] as JsonObject)['name'] = 'Eve'
    await resultOf(agent.prompt('go'), way)
    expect(seen[0]?.metadata).toEqual({ user: { name: 'Ada' } })
    expect(Object.isFrozen(seen[0]?.metadata?.['user'])).toBe(true)
  })

  it('of the caller reaches an agent that is used as a tool', async () => {
    const { seen, builder } = asking()
    const inner = builder.metadata({ role: 'inner' }).build()
    const outer = new AgentBuilder(
      'outer',
      queueModel([toolCall('x', 'ask', { prompt: 'go' })], [text('ok')]),
    )
      .tool(inner.asTool({ name: 'ask' }))
      .build()
    await resultOf(outer.prompt('go').metadata({ tenant: 't' }), way)
    expect(seen[0]).toMatchObject({ agentId: 'a', metadata: { role: 'inner', tenant: 't' } })
  })

  it.each(['text', ['list'], null, { big: 1n }])(
    'is rejected when it is not a JSON object (%s)',
    (metadata) => {
      expect(() => new AgentBuilder('a', queueModel()).metadata(metadata as never)).toThrow(
        /metadata must be/,
      )
    },
  )
})

describe.each(ways)('dynamic context (%s)', (way) => {
  it('adds the documents that fit the newest message', async () => {
    const queries: unknown[] = []
    const index = {
      search: async (request: { query: string; topK: number }) => {
        queries.push(request)
        return [{ id: `doc ${request.query}`, score: 1, document: { about: request.query } }]
      },
    }
    const model = queueModel([toolCall('c', 'note', {})], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(note)
      .context('always', 'fixed')
      .dynamicContext(index, { topK: 2, threshold: 0.5 })
      .dynamicContext(index, {
        topK: 1,
        format: ({ id, document }) => ({ id, text: `About ${document.about}.` }),
      })
      .build()
    await resultOf(agent.prompt('ropes'), way)
    expect(model.requests.map(({ documents }) => documents)).toEqual([
      [
        { id: 'fixed', text: 'always' },
        { id: 'doc ropes', text: '{"about":"ropes"}' },
        { id: 'doc ropes', text: 'About ropes.' },
      ],
      [
        { id: 'fixed', text: 'always' },
        { id: 'doc noted', text: '{"about":"noted"}' },
        { id: 'doc noted', text: 'About noted.' },
      ],
    ])
    expect(queries[0]).toEqual({ query: 'ropes', topK: 2, threshold: 0.5 })
    expect(() => new AgentBuilder('a', model).dynamicContext({} as never, { topK: 1 })).toThrow(/search/)
  })
})

describe('toReadableStream', () => {
  const linesOf = async (stream: ReadableStream<Uint8Array>): Promise<Record<string, unknown>[]> =>
    (await new Response(stream).text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('returns the events of a prompt as lines of JSON', async () => {
    const agent = new AgentBuilder('a', queueModel([text('hi')], [text('ho')])).build()
    const lines = await linesOf(toReadableStream(agent.prompt('go').stream()))
    expect(lines.map(({ type }) => type)).toEqual(['turn_start', 'text_delta', 'turn_end', 'final'])
    expect((await linesOf(agent.prompt('go').readableStream())).at(-1)).toMatchObject({ output: 'ho' })
  })

  it('ends with one error line that has no stack and no cause', async () => {
    const agent = new AgentBuilder('a', queueModel()).build()
    const lines = await linesOf(toReadableStream(agent.prompt('go').stream()))
    expect(lines.filter(({ type }) => type === 'error')).toEqual([
      {
        type: 'error',
        error: {
          name: 'ModelError',
          code: 'model_server_error',
          message: expect.stringContaining('No answer'),
        },
        usage: expect.anything(),
      },
    ])
    const other = (async function* () {
      yield { type: 'text' }
      throw new TypeError('broke')
    })()
    expect(await linesOf(toReadableStream(other))).toEqual([
      { type: 'text' },
      { type: 'error', error: { name: 'TypeError', message: 'broke' } },
    ])
  })

  it('starts with its reader, and stops the prompt when the reader leaves', async () => {
    const model = scriptedModel([{ text: 'hi', hang: true }])
    const stream = toReadableStream(new AgentBuilder('a', model).build().prompt('go').stream())
    expect(model.requests).toEqual([])
    const reader = stream.getReader()
    await reader.read()
    await reader.cancel()
    expect((await reader.closed) === undefined).toBe(true)
  })
})

describe('createCompletion', () => {
  it('sends one request to a model of the host or of the package', async () => {
    const raw = { raw: true }
    const own = {
      ...queueModel(),
      completion: async () => ({
        choice: [text('three')],
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
        rawResponse: raw,
      }),
    }
    const result = await createCompletion(own, {
      input: 'Name knots.',
      messages: [Message.system('Be short.')],
    })
    expect(result).toMatchObject({ text: 'three', content: [text('three')], usage: { totalTokens: 2 } })
    expect(result.response.rawResponse).toBe(raw)
    const ours = scriptedModel(['four'])
    expect(
      (await createCompletion(ours, { input: 'And?', temperature: 0.2, params: { seed: 1 } })).text,
    ).toBe('four')
    expect(ours.requests[0]).toMatchObject({ temperature: 0.2, additionalParams: { seed: 1 }, tools: [] })
    await expect(createCompletion(ours, {})).rejects.toThrow(/input or messages/)
  })
})
