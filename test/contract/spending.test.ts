import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { ModelServer } from '../../src/testing/index.js'
import {
  bodyOf,
  type ChatBody,
  calls,
  eventsOf,
  makeWorkspace,
  ofType,
  openServer,
  type Script,
  whenDone,
} from './open-session.js'

type Step = Exclude<Script, readonly unknown[]> extends (...args: never[]) => infer One ? Awaited<One> : never

/** Every answer costs 10 tokens in and 1 out. */
const answer = (step: Exclude<Step, string>): Step => ({
  ...step,
  usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 },
})
const says = (text: string): Step => answer({ text })
const each = 11
/** Of model a: 1 dollar for a million tokens in, 10 for a million out. */
const costOfA = 20 / 1_000_000

const question = {
  name: 'answer',
  schema: { type: 'object', properties: { n: { type: 'integer' } } },
} as const

/** An agent with a model that has a price and one that has none. */
async function open(script: Script): Promise<{
  readonly server: ModelServer
  readonly agent: Agent
  readonly root: string
}> {
  const { root, userDir } = await makeWorkspace()
  const server = await openServer(script)
  const agent = await Agent.create(
    `default_model = "p/a"
     providers "p" {
       api_key = "k"
       base_url = "${server.url}/v1"
       models "a" { cost = { input = 1, output = 10 } }
       models "b" {}
     }`,
    { userDir, env: {} },
  )
  whenDone(() => agent.close())
  return { server, agent, root }
}

/** Answers by the last thing that was said to the model. */
function byPrompt(answers: Readonly<Record<string, Step>>, otherwise: Step = says('done')): Script {
  return ({ body }) => {
    const { messages } = body as unknown as ChatBody
    const last = String(messages.at(-1)?.content ?? '')
    const found = Object.entries(answers).find(([words]) => last.includes(words))
    return found?.[1] ?? otherwise
  }
}

const allowed = { sandbox: 'off', permissionPolicy: { allow: ['task', 'generate_object'] } } as const

describe('the usage of a run', () => {
  it('includes its subagents, their subagents, and generated objects, each once', async () => {
    const { server, agent, root } = await open(
      byPrompt({
        'parent work': answer(calls(['task', { agent: 'boss', description: 'd', prompt: 'child work' }])),
        'child work': answer(calls(['task', { agent: 'general', description: 'd', prompt: 'grandchild' }])),
        'make an object': answer(calls(['generate_object', { ...objectArgs, prompt: 'the object' }])),
      }),
    )
    const boss = { name: 'boss', description: 'Hands work on.' }
    const session = agent.session(root, { ...allowed, workerAgents: [boss] })
    const result = await session.send('parent work')
    expect(server.requests).toHaveLength(5)
    expect(result.totalTokens).toBe(5 * each)
    expect(result.usage).toMatchObject({ promptTokens: 50, completionTokens: 5, totalTokens: 5 * each })
    expect(result.costUsd).toBeCloseTo(5 * costOfA, 10)
    expect(session.spending()).toEqual({
      usage: result.usage,
      costUsd: result.costUsd,
      models: [{ model: 'p/a', usage: result.usage, costUsd: result.costUsd }],
    })
    expect((await session.runs()).at(-1)).toMatchObject({ usage: result.usage, costUsd: result.costUsd })
    const objects = await session.send('make an object')
    expect(objects.totalTokens).toBe((server.requests.length - 5) * each)
    expect(server.requests.length).toBeGreaterThan(6)
    expect(session.spending().usage.totalTokens).toBe(server.requests.length * each)
  })

  it('includes a background task in the run in which it was used', async () => {
    const { server, agent, root } = await open(
      byPrompt({
        start: answer(
          calls(['task', { agent: 'general', description: 'd', prompt: 'slow work', background: true }]),
        ),
      }),
    )
    const session = agent.session(root, allowed)
    const first = await session.send('start')
    while ((await session.pendingSubagentTasks()).length > 0)
      await new Promise((resolve) => setTimeout(resolve, 10))
    const second = await session.send('and now')
    expect(session.spending().usage.totalTokens).toBe(server.requests.length * each)
    // The task may end during the first run or between the two: never in both.
    expect(first.totalTokens + second.totalTokens).toBeLessThanOrEqual(server.requests.length * each)
  })

  it('includes side questions and objects of the host at the same time, which have their own results too', async () => {
    const { server, agent, root } = await open(
      byPrompt({ work: answer(calls(['wait', {}])), '"n"': says('{"n":1}'), number: says('{"n":1}') }),
    )
    const { createTool } = await import('../../src/tool/create-tool.js')
    const { z } = await import('zod')
    let aside: Promise<unknown[]> = Promise.resolve([])
    const wait = createTool({
      name: 'wait',
      description: 'Waits.',
      input: z.object({}),
      execute: async () => {
        aside = Promise.all([session.btw('aside'), session.generateObject(question.schema, 'a number')])
        await aside
        return 'waited'
      },
    })
    const session = agent.session(root, {
      sandbox: 'off',
      tools: [wait],
      permissionPolicy: { allow: ['wait'] },
    })
    const before = await session.btw('before any run')
    expect(before).toMatchObject({ totalTokens: each, costUsd: costOfA })
    const result = await session.send('work')
    const [side, made] = await aside
    expect(side).toMatchObject({ totalTokens: each, costUsd: costOfA })
    expect(made).toMatchObject({ object: { n: 1 }, usage: { totalTokens: each }, costUsd: costOfA })
    expect(server.requests).toHaveLength(5)
    expect(result.totalTokens).toBe(4 * each)
    expect(session.spending().usage.totalTokens).toBe(5 * each)
  })

  it('includes summaries, also those that the user requests', async () => {
    const { server, agent, root } = await open(byPrompt({}))
    const session = agent.session(root, { sandbox: 'off' })
    await session.send('one')
    const compacted = await session.send('/compact')
    expect(server.requests).toHaveLength(2)
    expect(compacted).toMatchObject({ finish: 'command', totalTokens: each, costUsd: costOfA })
    expect(session.spending().usage.totalTokens).toBe(2 * each)
  })

  it.each<[string, object, string]>([
    ['a limit', { maxToolRounds: 1 }, 'max_tool_rounds'],
    ['a budget', { budgetGuard: { checkBeforeLlm: budgetOf(2) } }, 'budget_exhausted'],
  ])('is known when it ends by %s', async (_, options, code) => {
    const { server, agent, root } = await open(() => answer(calls(['ls', { path: '.' }])))
    const session = agent.session(root, { sandbox: 'off', ...options })
    const events = await eventsOf(session, 'go')
    expect(events.at(-1)).toMatchObject({
      type: 'error',
      code,
      usage: { totalTokens: server.requests.length * each },
    })
    expect(costIn(events)).toBeCloseTo(server.requests.length * costOfA, 10)
    expect((await session.runs()).at(-1)).toMatchObject({ usage: { totalTokens: 2 * each } })
  })

  it('is known when a subagent had used it before the run was cancelled', async () => {
    const { server, agent, root } = await open(
      byPrompt(
        {
          'parent work': answer(
            calls(['task', { agent: 'general', description: 'd', prompt: 'child work' }]),
          ),
          'child work': answer(calls(['ls', { path: '.' }])),
          // The output of ls is what the child says last.
        },
        { stall: true },
      ),
    )
    const session = agent.session(root, allowed)
    const stream = await session.stream('parent work')
    const events: AgentEvent[] = []
    for await (const event of stream) {
      events.push(event)
      if (event.type === 'subagent_progress' && event.status === 'round 1 done')
        void server.request(2).then(() => session.cancel())
    }
    expect(events.at(-1)).toMatchObject({ type: 'agent_cancelled', usage: { totalTokens: 2 * each } })
  })
})

describe('the usage of a session', () => {
  it('stays known for each model after another model was chosen', async () => {
    const { server, agent, root } = await open(byPrompt({}))
    const session = agent.session(root, { sandbox: 'off' })
    await session.send('one')
    await session.send('/model p/b')
    await session.send('two')
    expect(bodyOf(server, 1).model).toBe('b')
    expect(session.spending()).toMatchObject({
      usage: { totalTokens: 2 * each },
      costUsd: costOfA,
      models: [
        { model: 'p/a', usage: { totalTokens: each }, costUsd: costOfA },
        { model: 'p/b', usage: { totalTokens: each } },
      ],
    })
    const { text } = await session.send('/cost')
    expect(text).toContain('Model: p/b')
    expect(text).toContain('Tokens: 22 (20 in, 2 out)')
    expect(text).toContain('Cost: less than $0.0001 (without the models that have no price)')
    expect(text).toContain('p/a: 11 tokens, less than $0.0001')
    expect(text).toContain('p/b: 11 tokens, no price')
  })

  it('is restored with the session: runs, subagents, side questions and failed runs, each once', async () => {
    const store = new MemorySessionStore()
    const { server, agent, root } = await open(
      byPrompt({
        'parent work': answer(calls(['task', { agent: 'general', description: 'd', prompt: 'child work' }])),
        loop: answer(calls(['ls', { path: '.' }])),
      }),
    )
    const options = { ...allowed, sessionStore: store, sessionId: 'kept' }
    const session = agent.session(root, options)
    await session.btw('before any run')
    await session.send('parent work')
    await session.btw('between runs')
    await eventsOf(session, 'loop')
    const spent = session.spending()
    expect(spent.usage.totalTokens).toBe(server.requests.length * each)
    await session.close()
    const again = agent.session(root, { ...options, model: 'p/b' })
    expect(again.spending()).toEqual({
      ...spent,
      costUsd: expect.closeTo(spent.costUsd ?? 0, 10),
      models: expect.any(Array),
    })
    await again.send('continue')
    expect(again.spending()).toMatchObject({
      usage: { totalTokens: server.requests.length * each },
      models: [
        { model: 'p/a', usage: spent.usage },
        { model: 'p/b', usage: { totalTokens: each } },
      ],
    })
    expect(again.spending().costUsd).toBeCloseTo(spent.costUsd ?? 0, 10)
    expect((await again.runs()).map(({ usage }) => usage?.totalTokens)).toEqual([
      3 * each,
      expect.any(Number),
      each,
    ])
  })

  it('counts a fallback model at its own price', async () => {
    const { agent, root } = await open(({ body }) =>
      (body as unknown as ChatBody).model === 'b' ? { status: 503 } : says('fine'),
    )
    const session = agent.session(root, {
      sandbox: 'off',
      model: 'p/b',
      fallbackModels: ['p/a'],
      retry: { maxRetries: 0 },
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'model_fallback')).toHaveLength(1)
    expect(session.spending().models).toMatchObject([{ model: 'p/a', costUsd: costOfA }])
  })
})

const objectArgs = { schema: question.schema, schema_name: 'answer' }

function budgetOf(requests: number): () => { decision: 'allow' | 'deny' } {
  let asked = 0
  return () => ({ decision: ++asked > requests ? 'deny' : 'allow' })
}

function costIn(events: readonly AgentEvent[]): number {
  const last = events.at(-1)
  return last?.type === 'error' ? (last.costUsd ?? 0) : 0
}
