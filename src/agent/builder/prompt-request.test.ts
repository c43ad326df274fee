import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, resultOf, resultsIn, textsIn, ways } from '../../../test/agent/completion-models.js'
import { MaxTurnsError, RunError } from '../../loop/errors.js'
import { SequentialIdGenerator } from '../../loop/host-env.js'
import { scriptedModel } from '../../testing/scripted-model.js'
import {
  type ToolApprovalContext,
  type ToolApprovalRequest,
  ToolApprovalRequiredError,
} from '../../tool/approval.js'
import type { AnyTool } from '../../tool/contract.js'
import { createTool } from '../../tool/create-tool.js'
import { AssistantContent, Message } from '../../tool/message.js'
import type { AgentMiddleware } from '../../tool/middleware.js'
import { AgentBuilder } from './agent-builder.js'
import type { AgentStreamEvent } from './prompt-events.js'
import { type PromptRequest, PromptUsedError } from './prompt-request.js'

const { text, toolCall } = AssistantContent
const add = createTool({
  name: 'add',
  description: 'Add two numbers.',
  input: z.object({ x: z.number(), y: z.number() }),
  execute: ({ x, y }) => x + y,
})
const addCall = (n: number): AssistantContent => toolCall(`call_${n}`, 'add', { x: n, y: 1 })

function gatedPromise(): { promise: Promise<void>; open(): void } {
  let open = (): void => undefined
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open: () => open() }
}

describe.each(ways)('a prompt (%s)', (way) => {
  it('calls a tool and then answers the question', async () => {
    const model = queueModel([toolCall('call_1', 'add', { x: 2, y: 5 }, 'fc_1')], [text('It is 7.')])
    const agent = new AgentBuilder('sums', model).instructions('Be short.').tool(add).build()
    const result = await resultOf(agent.prompt('2 + 5?'), way)
    expect(result).toMatchObject({
      output: 'It is 7.',
      usage: { inputTokens: 6, outputTokens: 4, totalTokens: 10 },
      runId: expect.any(String),
    })
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(model.requests[0]).toMatchObject({
      instructions: 'Be short.',
      chatHistory: [Message.user('2 + 5?')],
      tools: [{ name: 'add' }],
    })
    expect(model.requests[1]?.chatHistory.at(-1)).toEqual({
      role: 'tool',
      content: [
        {
          type: 'tool_result',
          id: 'call_1',
          callId: 'fc_1',
          toolName: 'add',
          content: [{ type: 'text', text: '7' }],
        },
      ],
    })
  })

  it('accepts a whole conversation and continues it', async () => {
    const model = queueModel([text('Ada.')])
    const history = [Message.user('I am Ada.'), Message.assistant('Hello.'), Message.user('Who am I?')]
    const result = await resultOf(new AgentBuilder('a', model).build().prompt(history), way)
    expect(model.requests[0]?.chatHistory).toEqual(history)
    expect(result.messages).toEqual([Message.user('Who am I?'), Message.assistant('Ada.')])
  })

  it.each([0, 1, 3])(
    'lets the model call tools in exactly %i rounds, and runs no call of the next round',
    async (turns) => {
      let runs = 0
      const counted = createTool({
        name: 'add',
        description: 'Counts.',
        input: z.object({}).loose(),
        execute: () => ++runs,
      })
      const answers = Array.from({ length: 9 }, (_, n) => [addCall(n)])
      const model = queueModel(...answers)
      const agent = new AgentBuilder('loop', model).tool(counted).build()
      const failed = resultOf(agent.prompt('go').maxTurns(turns), way)
      await expect(failed).rejects.toThrow(MaxTurnsError)
      await expect(failed).rejects.toThrow(/Raise maxTurns/)
      expect([model.requests.length, runs]).toEqual([turns + 1, turns])
    },
  )

  it('has 20 rounds by default, also when every round makes the same call', async () => {
    const model = queueModel(...Array.from({ length: 25 }, () => [toolCall('same', 'add', { x: 1, y: 1 })]))
    const agent = new AgentBuilder('loop', model).tool(add).build()
    await expect(resultOf(agent.prompt('go'), way)).rejects.toThrow(/defaultMaxTurns/)
    expect(model.requests).toHaveLength(21)
  })

  it('reports a tool’s error and invalid arguments to the model, with or without an approval policy', async () => {
    const broken = createTool({
      name: 'broken',
      description: 'Breaks.',
      input: z.object({}),
      execute: () => {
        throw new Error('no paper')
      },
    })
    const asks = { ...add, name: 'asks', approval: { when: () => true } } as AnyTool
    const model = queueModel(
      [
        toolCall('1', 'broken', {}),
        toolCall('2', 'add', { x: 'two' }),
        toolCall('3', 'asks', { x: 'two' }),
        toolCall('4', 'ad', {}),
      ],
      [text('done')],
    )
    const agent = new AgentBuilder('a', model).tools([broken, add, asks]).build()
    await expect(resultOf(agent.prompt('go'), way)).resolves.toMatchObject({ output: 'done' })
    const [threw, invalid, invalidAsking, unknown] = textsIn(model.requests[1]?.chatHistory)
    expect(threw).toContain('no paper')
    expect(invalid).toContain('x')
    expect(invalidAsking).toContain('x')
    expect(unknown).toContain('"add"')
  })

  it('ends with the error of the model, which is called once unless retries are configured', async () => {
    let asked = 0
    const fail = (): never => {
      asked++
      throw Object.assign(new Error('out of order'), { status: 503 })
    }
    const failing = { ...queueModel(), completion: async () => fail(), streamCompletion: fail }
    const agent = new AgentBuilder('a', failing).build()
    await expect(resultOf(agent.prompt('go'), way)).rejects.toThrow('out of order')
    expect(asked).toBe(1)
    const twice = agent.prompt('go').withCompletionRetries({ maxAttempts: 2 })
    await expect(resultOf(twice, way)).rejects.toThrow('out of order')
    expect(asked).toBe(3)
  })

  it('runs only once', async () => {
    const request = new AgentBuilder('a', queueModel([text('one')], [text('two')])).build().prompt('go')
    await resultOf(request, way)
    await expect(async () => resultOf(request, way)).rejects.toThrow(PromptUsedError)
  })

  it('runs with a model of the package too', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'add', args: { x: 1, y: 2 } }] }, 'three'])
    const agent = new AgentBuilder('a', model).tool(add).build()
    expect((await resultOf(agent.prompt('go'), way)).output).toBe('three')
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['3'])
  })

  it('puts context, settings and an output schema into every request', async () => {
    const model = queueModel([addCall(1)], [text('{}')])
    const agent = new AgentBuilder('a', model)
      .context('Prices are in euros.')
      .context('Open on Mondays.', 'hours')
      .temperature(0.2)
      .maxTokens(50)
      .toolChoice('auto')
      .additionalParams({ seed: 1 })
      .outputSchema(z.object({ title: z.string() }))
      .tool(add)
      .build()
    await resultOf(agent.prompt('go'), way)
    for (const request of model.requests)
      expect(request).toMatchObject({
        documents: [
          { id: 'static_doc_0', text: 'Prices are in euros.' },
          { id: 'hours', text: 'Open on Mondays.' },
        ],
        temperature: 0.2,
        maxTokens: 50,
        toolChoice: 'auto',
        additionalParams: { seed: 1 },
        outputSchema: { type: 'object', required: ['title'] },
      })
  })

  it('passes images of a tool to the model unchanged', async () => {
    const content = [
      { type: 'text', text: 'the screen' },
      { type: 'image', data: 'AAAA', mediaType: 'image/png' },
    ]
    const shot = createTool({
      name: 'shot',
      description: 'Shoots.',
      input: z.object({}),
      execute: () => content,
    })
    const model = queueModel([toolCall('1', 'shot', {})], [text('ok')])
    await resultOf(new AgentBuilder('a', model).tool(shot).build().prompt('go'), way)
    expect(resultsIn(model.requests[1]?.chatHistory)[0]?.content).toEqual(content)
  })

  it('passes a long output to the model in full', async () => {
    const long = createTool({
      name: 'long',
      description: 'Long.',
      input: z.object({}),
      execute: () => 'x'.repeat(300_000),
    })
    const model = queueModel([toolCall('1', 'long', {})], [text('ok')])
    await resultOf(new AgentBuilder('a', model).tool(long).build().prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toHaveLength(300_000)
  })

  it('runs a tool that touches files and commands without asking: it is the host’s own code', async () => {
    const wide = createTool({
      name: 'wide',
      description: 'Touches.',
      input: z.object({}),
      kind: 'execute',
      touches: () => [
        { fs: 'write', path: '/etc/hosts' },
        { shell: { text: 'rm -rf "$X"' } },
        { net: 'a.example' },
      ],
      execute: () => 'done',
    })
    const model = queueModel([toolCall('1', 'wide', {})], [text('ok')])
    await resultOf(new AgentBuilder('a', model).tool(wide).build().prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['done'])
  })

  it('runs calls one after another, or with the given concurrency, with results in the order of the calls', async () => {
    const run = async (concurrency?: number): Promise<{ most: number; results: string[] }> => {
      let now = 0
      let most = 0
      const all = gatedPromise()
      const slow = createTool({
        name: 'slow',
        description: 'Slow.',
        input: z.object({ n: z.number() }),
        async execute({ n }) {
          most = Math.max(most, ++now)
          if (now === concurrency) all.open()
          if (concurrency !== undefined) await all.promise
          now--
          return n
        },
      })
      const calls = [1, 2, 3].map((n) => toolCall(`c${n}`, 'slow', { n }))
      const model = queueModel(calls, [text('ok')])
      const request = new AgentBuilder('a', model).tool(slow).build().prompt('go')
      await resultOf(concurrency === undefined ? request : request.withToolConcurrency(concurrency), way)
      return { most, results: textsIn(model.requests[1]?.chatHistory) }
    }
    expect(await run()).toEqual({ most: 1, results: ['1', '2', '3'] })
    expect(await run(3)).toEqual({ most: 3, results: ['1', '2', '3'] })
  })

  it('receives messages while it runs', async () => {
    const model = queueModel([addCall(1)], [text('first')], [text('second')])
    const says = createTool({
      name: 'add',
      description: 'Says.',
      input: z.object({}).loose(),
      execute: (): boolean => request.steer('and be quick'),
    })
    const request: PromptRequest = new AgentBuilder('a', model).tool(says).build().prompt('go')
    const result = await resultOf(request, way)
    expect(result.output).toBe('first')
    expect(model.requests[1]?.chatHistory.at(-1)).toEqual(Message.user('and be quick'))
    expect(request.steer('too late')).toBe(false)
    expect(() => request.steer(Message.assistant('no'))).toThrow(TypeError)
  })

  it('stops when its signal is aborted, and aborts the tool that is running', async () => {
    const stop = new AbortController()
    let reason: unknown
    const waits = createTool({
      name: 'waits',
      description: 'Waits.',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise((resolve) => {
          const onAbort = (): void => {
            reason = signal?.reason
            resolve(reason)
          }
          signal?.addEventListener('abort', onAbort, { once: true })
          stop.abort()
        }),
    })
    const model = queueModel([toolCall('1', 'waits', {})])
    const request = new AgentBuilder('a', model).tool(waits).build().prompt('go').withSignal(stop.signal)
    await expect(resultOf(request, way)).rejects.toThrow(RunError)
    expect(reason).toBeInstanceOf(DOMException)
  })
})

describe.each(ways)('approval (%s)', (way) => {
  function refunds(policy: Record<string, unknown> = {}): { tool: AnyTool; ran: unknown[] } {
    const ran: unknown[] = []
    const tool = createTool({
      name: 'refund',
      description: 'Pays back.',
      input: z.object({ amount: z.coerce.number() }),
      approval: {
        when: ({ args }) => args.amount > 100,
        reason: ({ args }) => `refund ${args.amount}`,
        ...policy,
      },
      execute(args) {
        ran.push(args)
        return 'paid'
      },
    })
    return { tool, ran }
  }
  const refund = (amount: unknown): AssistantContent[] => [
    toolCall('call_1', 'refund', { amount } as never, 'fc_1'),
  ]

  it('is not requested when the policy does not require it', async () => {
    const { tool, ran } = refunds()
    const model = queueModel(refund(50), [text('ok')])
    await resultOf(new AgentBuilder('a', model).tool(tool).build().prompt('go'), way)
    expect(ran).toEqual([{ amount: 50 }])
  })

  it('ends the run when there is no handler for it', async () => {
    const { tool, ran } = refunds()
    const agent = new AgentBuilder('a', queueModel(refund(250))).tool(tool).build()
    const failed = resultOf(agent.prompt('go'), way)
    await expect(failed).rejects.toThrow(ToolApprovalRequiredError)
    await expect(failed).rejects.toMatchObject({ request: { toolName: 'refund', reason: 'refund 250' } })
    expect(ran).toEqual([])
  })

  it('shows the checked arguments, and exactly these run', async () => {
    const asked: ToolApprovalRequest[] = []
    const { tool, ran } = refunds()
    const model = queueModel(refund('250'), [text('ok')])
    const agent = new AgentBuilder('till', model)
      .tool(tool)
      .hostEnv({ idGenerator: new SequentialIdGenerator('id') })
      .approvals({ handler: (request) => asked.push(request) > 0 })
      .build()
    const { runId } = await resultOf(agent.prompt('go'), way)
    expect(asked).toMatchObject([
      {
        toolName: 'refund',
        args: { amount: 250 },
        rawArgs: '{"amount":"250"}',
        reason: 'refund 250',
        toolCallId: 'fc_1',
        internalCallId: 'id-1',
        run: { agentId: 'till', runId },
      },
    ])
    expect(ran).toEqual([{ amount: 250 }])
  })

  it('is refused when the handler changes the arguments that it was shown', async () => {
    const { tool, ran } = refunds()
    const model = queueModel(refund(250), [text('ok')])
    const agent = new AgentBuilder('till', model)
      .tool(tool)
      .approvals({ handler: ({ args }) => Object.assign(args as object, { amount: 9999 }) !== undefined })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect(ran).toEqual([])
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual([
      'Error: Refused: the arguments changed while an approval was asked for.',
    ])
  })

  it.each([
    ['the answer’s own words', { approved: false, rejectMessage: 'Not today.', reason: 'r' }, 'Not today.'],
    ['its reason', { approved: false, reason: 'Too much.' }, 'Too much.'],
    ['the policy’s words', false, 'Ask a human.'],
  ] as const)('that is rejected gives the model %s, and the run continues', async (_, decision, words) => {
    const { tool, ran } = refunds({ rejectMessage: 'Ask a human.' })
    const seen: string[] = []
    const model = queueModel(refund(250), [text('sorry')])
    const agent = new AgentBuilder('a', model)
      .tool(tool)
      .middleware({ onToolOutput: ({ result }) => void seen.push(result) })
      .approvals({ handler: () => decision })
      .build()
    expect((await resultOf(agent.prompt('go'), way)).output).toBe('sorry')
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual([words])
    expect([seen, ran]).toEqual([[words], []])
  })

  it('that is rejected without a text is reported to the model as rejected', async () => {
    const { tool } = refunds()
    const model = queueModel(refund(250), [text('sorry')])
    const agent = new AgentBuilder('a', model)
      .tool(tool)
      .approvals({ handler: () => false })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['Tool approval was rejected.'])
  })

  it('is requested from the prompt’s handler, not from the agent’s', async () => {
    const { tool, ran } = refunds()
    const agent = new AgentBuilder('a', queueModel(refund(250), [text('ok')]))
      .tool(tool)
      .approvals({ handler: () => expect.fail('the agent’s handler was asked') })
      .build()
    await resultOf(agent.prompt('go').approvals({ handler: () => true }), way)
    expect(ran).toHaveLength(1)
  })

  it.each(['when', 'reason', 'rejectMessage'])(
    'ends the run with the error that its %s throws',
    async (part) => {
      const thrown = new Error(`${part} broke`)
      const { tool, ran } = refunds({
        when: () => true,
        [part]: (_: ToolApprovalContext) => Promise.reject(thrown),
      })
      const agent = new AgentBuilder('a', queueModel(refund(1)))
        .tool(tool)
        .approvals({ handler: () => true })
        .build()
      await expect(resultOf(agent.prompt('go'), way)).rejects.toBe(thrown)
      expect(ran).toEqual([])
    },
  )

  it('checks arguments once, however many policies and handlers read them', async () => {
    let checks = 0
    const once = createTool({
      name: 'once',
      description: 'Once.',
      input: z.object({}).transform((value) => ({ ...value, check: ++checks })),
      parameters: { type: 'object' },
      approval: { when: () => true },
      execute: ({ check }) => check,
    })
    const model = queueModel([toolCall('1', 'once', {})], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(once)
      .approvals({ handler: () => true })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect([checks, textsIn(model.requests[1]?.chatHistory)]).toEqual([1, ['1']])
  })

  it('that ends the run starts no more calls, and waits for those that had started', async () => {
    const started = gatedPromise()
    const finish = gatedPromise()
    const log: string[] = []
    const works = createTool({
      name: 'works',
      description: 'Works.',
      input: z.object({ n: z.number() }),
      async execute({ n }) {
        log.push(`start ${n}`)
        started.open()
        await finish.promise
        log.push(`end ${n}`)
      },
    })
    const asks = createTool({
      name: 'asks',
      description: 'Asks.',
      input: z.object({}),
      approval: {
        when: async () => {
          await started.promise
          setImmediate(finish.open)
          return true
        },
      },
      execute: () => log.push('asks'),
    })
    const calls = [toolCall('0', 'works', { n: 0 }), toolCall('1', 'asks', {})]
    for (let n = 2; n < 7; n++) calls.push(toolCall(`${n}`, 'works', { n }))
    const agent = new AgentBuilder('a', queueModel(calls)).tools([works, asks]).build()
    await expect(resultOf(agent.prompt('go').withToolConcurrency(2), way)).rejects.toThrow(
      ToolApprovalRequiredError,
    )
    expect(log).toEqual(['start 0', 'end 0'])
  })

  it('that is pending ends with the run', async () => {
    const stop = new AbortController()
    const { tool, ran } = refunds()
    const agent = new AgentBuilder('a', queueModel(refund(250)))
      .tool(tool)
      .approvals({
        handler: () => {
          stop.abort()
          return new Promise<never>(() => undefined)
        },
      })
      .build()
    await expect(resultOf(agent.prompt('go').withSignal(stop.signal), way)).rejects.toThrow(/cancelled/)
    expect(ran).toEqual([])
  })
})

describe.each(ways)('middleware (%s)', (way) => {
  it('of the agent runs before that of the prompt, at each of the four points', async () => {
    const log: string[] = []
    const named = (name: string): AgentMiddleware => ({
      onCompletionRequest: ({ turn }) => void log.push(`${name} request ${turn}`),
      onCompletionResponse: ({ turn }) => void log.push(`${name} response ${turn}`),
      onToolInput: ({ toolCallId }) => void log.push(`${name} input ${toolCallId}`),
      onToolOutput: ({ result }) => void log.push(`${name} output ${result}`),
    })
    const model = queueModel([toolCall('c', 'add', { x: 1, y: 2 }, 'fc')], [text('3')])
    const agent = new AgentBuilder('a', model).tool(add).middleware(named('agent')).build()
    await resultOf(agent.prompt('go').withMiddlewares([named('prompt'), named('last')]), way)
    const at = (point: string): string[] => ['agent', 'prompt', 'last'].map((name) => `${name} ${point}`)
    expect(log).toEqual([
      ...at('request 1'),
      ...at('response 1'),
      ...at('input fc'),
      ...at('output 3'),
      ...at('request 2'),
      ...at('response 2'),
    ])
  })

  it('rewrites requests, answers, arguments and results', async () => {
    const model = queueModel([text('I cannot.')], [text('done')])
    const asked: unknown[] = []
    const asking = {
      ...add,
      approval: { when: ({ args }: ToolApprovalContext) => asked.push(args) < 0 },
    } as AnyTool
    const agent = new AgentBuilder('a', model)
      .tool(asking)
      .middleware({
        onCompletionRequest: ({ request }) => ({ request: { ...request, instructions: 'Rewritten.' } }),
        onCompletionResponse: ({ turn, response }) =>
          turn === 1 ? { response: { ...response, choice: [addCall(1)] } } : undefined,
        onToolInput: () => ({ args: { x: 20, y: 1 } }),
        onToolOutput: ({ result, originalResult }) => ({ result: `${result} (${originalResult})` }),
      })
      .build()
    const result = await resultOf(agent.prompt('go'), way)
    expect(result.output).toBe('done')
    expect(model.requests.map(({ instructions }) => instructions)).toEqual(['Rewritten.', 'Rewritten.'])
    expect(asked).toEqual([{ x: 20, y: 1 }])
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['21 (21)'])
  })

  it('that changes its request in place does not change the conversation', async () => {
    const model = queueModel([addCall(1)], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(add)
      .middleware({
        onCompletionRequest: ({ request }) => void request.chatHistory.push(Message.user('psst')),
      })
      .build()
    const { messages } = await resultOf(agent.prompt('go'), way)
    expect(messages).not.toContainEqual(Message.user('psst'))
    expect(model.requests[1]?.chatHistory.filter((one) => one.role === 'user')).toHaveLength(2)
  })

  it('that removes a tool from the request keeps the model from calling it', async () => {
    const model = queueModel([addCall(1)], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(add)
      .middleware({ onCompletionRequest: ({ request }) => ({ request: { ...request, tools: [] } }) })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toMatch(/not found|unknown tool/i)
  })

  it.each([true, false])(
    'that returns arguments which are not JSON is reported to the model (approval policy: %s)',
    async (policy) => {
      const model = queueModel([addCall(1)], [text('ok')])
      const tool = (policy ? { ...add, approval: { when: () => true } } : add) as AnyTool
      const agent = new AgentBuilder('a', model)
        .tool(tool)
        .middleware({ onToolInput: () => ({ args: '{' }) })
        .build()
      expect((await resultOf(agent.prompt('go'), way)).output).toBe('ok')
      expect(textsIn(model.requests[1]?.chatHistory)[0]).toContain('not JSON')
    },
  )

  it.each(['onCompletionRequest', 'onCompletionResponse', 'onToolInput', 'onToolOutput'])(
    'ends the run with the error that its %s throws',
    async (point) => {
      const thrown = new Error(`${point} broke`)
      const agent = new AgentBuilder('a', queueModel([addCall(1)], [text('ok')]))
        .tool(add)
        .middleware({ [point]: () => Promise.reject(thrown) })
        .build()
      await expect(resultOf(agent.prompt('go'), way)).rejects.toBe(thrown)
    },
  )

  it('still runs under its former names', async () => {
    const model = queueModel([addCall(1)], [text('ok')])
    const agent = new AgentBuilder('a', model)
      .tool(add)
      .toolMiddleware({ onResult: ({ result }) => `${result}!` })
      .toolMiddlewares([{ onResult: ({ result }) => `${result}?` }])
      .build()
    await resultOf(agent.prompt('go').withToolMiddleware({ onResult: ({ result }) => `${result}.` }), way)
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['2!?.'])
  })
})

describe('the stream of a prompt', () => {
  it('emits a run from its first turn to its result', async () => {
    const model = queueModel(
      [AssistantContent.reasoning('hm'), text('Let me see.'), toolCall('c', 'add', { x: 1, y: 2 }, 'fc')],
      [text('It is '), text('3.')],
    )
    const events: AgentStreamEvent[] = []
    const agent = new AgentBuilder('a', model).tool(add).build()
    await resultOf(agent.prompt('1 + 2?'), 'stream', events)
    expect(events).toMatchObject([
      { type: 'turn_start', turn: 1, prompt: Message.user('1 + 2?'), history: [] },
      { type: 'reasoning_delta', turn: 1, delta: 'hm' },
      { type: 'text_delta', turn: 1, delta: 'Let me see.' },
      { type: 'tool_call', turn: 1, toolCall: { id: 'c', callId: 'fc', function: { name: 'add' } } },
      { type: 'turn_end', turn: 1, response: { usage: { totalTokens: 5 } } },
      { type: 'tool_result', turn: 1, toolName: 'add', toolCallId: 'fc', args: '{"x":1,"y":2}', result: '3' },
      { type: 'turn_start', turn: 2, prompt: { role: 'tool' } },
      { type: 'text_delta', turn: 2, delta: 'It is ' },
      { type: 'text_delta', turn: 2, delta: '3.' },
      { type: 'turn_end', turn: 2 },
      { type: 'final', output: 'It is 3.', usage: { totalTokens: 10 } },
    ])
  })

  it.each([true, false])(
    'passes on the parts of a call as the model sends them (requested: %s)',
    async (wanted) => {
      const model = queueModel([text('ok')])
      const pieces = {
        ...model,
        async *streamCompletion() {
          if (model.requests.push({} as never) > 1) yield { type: 'text_delta' as const, delta: 'ok' }
          else {
            yield { type: 'tool_call_delta' as const, id: 'c', name: 'add', argumentsDelta: '{"x":1,' }
            yield { type: 'tool_call_delta' as const, id: 'c', argumentsDelta: '"y":2}' }
          }
        },
      }
      const agent = new AgentBuilder('a', pieces).tool(add).build()
      const events: AgentStreamEvent[] = []
      for await (const event of agent.prompt('go').stream({ includeToolCallDeltas: wanted }))
        events.push(event)
      const deltas = events.filter(({ type }) => type === 'tool_call_delta')
      const all = [
        { type: 'tool_call_delta', turn: 1, id: 'c', name: 'add', argumentsDelta: '{"x":1,' },
        { type: 'tool_call_delta', turn: 1, id: 'c', argumentsDelta: '"y":2}' },
      ]
      expect(deltas).toEqual(wanted ? all : [])
      expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', result: '3' }))
    },
  )

  it('delays the output of the model until middleware has seen it', async () => {
    const agent = new AgentBuilder('a', queueModel([text('secret'), text(' word')]))
      .middleware({
        onCompletionResponse: ({ response }) => ({ response: { ...response, choice: [text('[hidden]')] } }),
      })
      .build()
    const events: AgentStreamEvent[] = []
    expect((await resultOf(agent.prompt('go'), 'stream', events)).output).toBe('[hidden]')
    expect(JSON.stringify(events)).not.toContain('secret')
    expect(events.flatMap((event) => (event.type === 'text_delta' ? [event.delta] : []))).toEqual([
      '[hidden]',
    ])
  })

  it('emits a failure with its usage, and then throws the same error', async () => {
    const thrown = new Error('broke')
    const agent = new AgentBuilder('a', queueModel([addCall(1)], [text('ok')]))
      .tool(add)
      .middleware({ onToolOutput: () => Promise.reject(thrown) })
      .build()
    const events: AgentStreamEvent[] = []
    await expect(resultOf(agent.prompt('go'), 'stream', events)).rejects.toBe(thrown)
    expect(events.at(-1)).toMatchObject({ type: 'error', error: thrown, usage: { totalTokens: 5 } })
  })

  it('stops the run when its reader leaves, and ends after the calls that had started', async () => {
    let wasAborted = false
    let isClosed = false
    const waits = createTool({
      name: 'waits',
      description: 'Waits.',
      input: z.object({}),
      async execute(_, { signal, emitStreamEvent }) {
        const aborted = new Promise<void>((resolve) => {
          signal?.addEventListener('abort', () => setImmediate(resolve), { once: true })
        })
        await emitStreamEvent?.({ agentId: 'x', event: 'started' })
        await aborted
        wasAborted = true
      },
    })
    const model = queueModel([toolCall('1', 'waits', {})], [text('never')])
    const request = new AgentBuilder('a', model).tool(waits).build().prompt('go')
    for await (const event of request.stream()) if (event.type === 'agent_tool_event') break
    expect(wasAborted).toBe(true)
    expect(request.steer('too late')).toBe(false)
    expect(model.requests).toHaveLength(1)

    const endless = {
      ...model,
      async *streamCompletion() {
        try {
          for (;;) yield { type: 'text_delta' as const, delta: 'more ' }
        } finally {
          isClosed = true
        }
      },
    }
    const words = new AgentBuilder('a', endless).build().prompt('go').stream()
    for await (const event of words) if (event.type === 'text_delta') break
    expect(await words.next()).toEqual({ value: undefined, done: true })
    expect(isClosed).toBe(true)
  })

  it('sends no request to the model before its first event is read', async () => {
    const model = queueModel([text('ok')])
    const stream = new AgentBuilder('a', model).build().prompt('go').stream()
    await stream.return?.()
    expect(await stream.next()).toEqual({ value: undefined, done: true })
    expect(model.requests).toHaveLength(0)
  })

  it('passes on the events that a tool reports for an agent inside it, and no forged ones', async () => {
    const speaks = createTool({
      name: 'speaks',
      description: 'Speaks.',
      input: z.object({}),
      async execute(_, { emitStreamEvent }) {
        await emitStreamEvent?.({ agentId: '', event: 'nobody' })
        await emitStreamEvent?.({
          agentId: 'inner',
          event: 'hello',
          type: 'final',
          toolName: 'other',
        } as never)
      },
    })
    const events: AgentStreamEvent[] = []
    const agent = new AgentBuilder('a', queueModel([toolCall('1', 'speaks', {})], [text('ok')]))
      .tool(speaks)
      .build()
    await resultOf(agent.prompt('go'), 'stream', events)
    expect(events.filter(({ type }) => type === 'agent_tool_event')).toEqual([
      {
        type: 'agent_tool_event',
        turn: 1,
        toolName: 'speaks',
        toolCallId: '1',
        internalCallId: expect.any(String),
        agentId: 'inner',
        event: 'hello',
      },
    ])
  })
})
