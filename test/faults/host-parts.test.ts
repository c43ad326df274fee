/**
 * Parts of the host that fail: hooks, handlers, guards, middleware, stop conditions, commands, security providers and
 * models that throw, never answer or answer nonsense. Each has its documented outcome, a run can always be cancelled
 * within two seconds, every stream ends, and the session answers again afterwards.
 */
import { describe, expect, it } from 'vitest'
import type { HookEventName } from '../../src/hooks/index.js'
import type { Model } from '../../src/model/model.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { collect, later, ofType } from '../contract/open-session.js'
import { expectWellFormed, type Outcome, outcomeOf, sessionWith } from './support.js'

const echo = createJsonTool<{ word?: string }>({
  name: 'echo',
  description: 'Says it again.',
  parameters: { type: 'object', properties: { word: { type: 'string' } } },
  execute: ({ word = 'nothing' }) => word,
})
/** What is broken is broken only as long as this says so. */
type Fault = { on: boolean }
/** Resolved when a part has been called that never answers. */
let wasReached = later()
const never = (): Promise<never> => {
  wasReached.resolve()
  return new Promise(() => undefined)
}
const broken = (): never => {
  throw new Error('the host broke')
}

/** One tool call, then an answer; the same again for the second prompt. */
async function open(options: SessionOptions): Promise<Session> {
  const model = scriptedModel((request) =>
    request.chatHistory.at(-1)?.role === 'tool'
      ? 'Fine.'
      : { toolCalls: [{ name: 'echo', args: { word: 'hi' } }] },
  )
  const { session } = await sessionWith(model, {
    builtinTools: ['todo', 'question'],
    tools: [echo],
    permissionPolicy: { allow: ['echo'] },
    ...options,
  })
  return session
}

/** Runs with the fault, then without. */
async function withFault(
  options: (fault: Fault) => SessionOptions,
): Promise<Outcome & { readonly session: Session }> {
  const fault = { on: true }
  const session = await open(options(fault))
  const outcome = await outcomeOf(session)
  expectStreamsEnded(outcome)
  expectWellFormed(session)
  fault.on = false
  expect((await outcomeOf(session)).result?.text).toBe('Fine.')
  expect(session.pendingConfirmations()).toEqual([])
  return { ...outcome, session }
}

/** Runs into a part that never answers, and cancels. */
async function cancelled(options: (fault: Fault) => SessionOptions): Promise<void> {
  const fault = { on: true }
  wasReached = later()
  const session = await open(options(fault))
  const sending = outcomeOf(session)
  await Promise.race([wasReached.promise, sending])
  expect(session.cancel()).toBe(true)
  const outcome = await sending
  expect(outcome.error?.code).toBe('cancelled')
  expectStreamsEnded(outcome)
  expectWellFormed(session)
  fault.on = false
  expect((await outcomeOf(session)).result?.text).toBe('Fine.')
  expect(session.pendingConfirmations()).toEqual([])
}

function expectStreamsEnded({ events }: Outcome): void {
  expect(events.at(-1)?.type).toMatch(/^(?:agent_end|agent_cancelled|error)$/)
}

const nonsense: readonly [string, () => unknown][] = [
  ['throws', broken],
  ['rejects with nothing', () => Promise.reject(undefined)],
  ['answers a number', () => 7],
  ['answers nonsense', () => ({ action: 'dance', decision: 'dance', answers: 7 })],
  ['answers a promise of nonsense', async () => [null]],
]

describe('a gating hook', () => {
  const gating: HookEventName[] = ['pre_tool_use', 'pre_prompt']
  const faults: [string, () => unknown][] = [...nonsense, ['never answers', never]]
  it.each(gating.flatMap((event) => faults.map(([how, fail]) => [event, how, fail] as const)))(
    '%s and %s blocks',
    async (event, _, fail) => {
      const { result, error, events, session } = await withFault((fault) => ({
        hooks: [
          {
            id: 'h',
            event,
            config: { timeoutMs: 50 },
            handler: (() => (fault.on ? fail() : undefined)) as never,
          },
        ],
      }))
      if (event === 'pre_prompt') expect(error?.code).toBe('blocked_by_hook')
      else {
        expect(result?.text).toBe('Fine.')
        expect(ofType(events, 'tool_end')).toMatchObject([{ isError: true }])
      }
      expect(session.hookStatus()[0]?.failures).toBe(1)
    },
  )
})

describe('an observing hook', () => {
  const watching: HookEventName[] = [
    'post_tool_use',
    'generate_start',
    'generate_end',
    'session_start',
    'post_response',
  ]
  const faults: [string, () => unknown][] = [
    ['throws', broken],
    ['never answers', never],
    ['answers nonsense', () => ({ action: 'dance' })],
  ]
  it.each(watching.flatMap((event) => faults.map(([how, fail]) => [event, how, fail] as const)))(
    '%s and %s changes nothing, and is reported',
    async (event, _, fail) => {
      const { result, events } = await withFault((fault) => ({
        hooks: [
          {
            id: 'h',
            event,
            config: { timeoutMs: 50 },
            handler: (() => (fault.on ? fail() : undefined)) as never,
          },
        ],
      }))
      expect(result?.text).toBe('Fine.')
      expect(ofType(events, 'tool_end')).toMatchObject([{ isError: false }])
      expect(ofType(events, 'notice').length).toBeGreaterThan(0)
    },
  )

  it('does not delay closing beyond its time limit', async () => {
    const session = await open({
      hooks: [{ id: 'h', event: 'session_end', config: { timeoutMs: 100 }, handler: never }],
    })
    await session.send('Go.')
    await session.close()
  })

  it('does not replace the error that it is shown', async () => {
    const session = await open({
      permissionPolicy: { allow: ['echo'] },
      stopWhen: broken,
      hooks: [{ id: 'h', event: 'on_error', config: { timeoutMs: 50 }, handler: never }],
    })
    const { thrown } = await outcomeOf(session)
    expect(thrown).toMatchObject({ message: 'the host broke' })
  })
})

describe('a watchdog that', () => {
  it.each(nonsense)('%s refuses', async (_, fail) => {
    const { result, events } = await withFault((fault) => ({
      watchdog: (() => (fault.on ? fail() : { action: 'allow' })) as never,
    }))
    expect(result?.text).toBe('Fine.')
    expect(ofType(events, 'tool_end')).toMatchObject([{ isError: true }])
  })

  it('never answers is stopped by cancelling', async () => {
    await cancelled((fault) => ({ watchdog: (() => (fault.on ? never() : { action: 'allow' })) as never }))
  })
})

describe('a handler of approvals that', () => {
  const asking = createJsonTool({
    name: 'echo',
    description: 'Asks first.',
    parameters: { type: 'object' },
    approval: { when: () => ({ reason: 'it asks' }) } as never,
    execute: () => 'hi',
  })
  it.each(nonsense)('%s: onAsk approves nothing', async (_, fail) => {
    const { events } = await withFault((fault) => ({
      permissionPolicy: { ask: ['echo'] },
      onAsk: (() => (fault.on ? fail() : { decision: 'once' })) as never,
    }))
    const [end] = ofType(events, 'tool_end')
    expect(end).toMatchObject({ isError: true })
    expect(end?.toolOutput).not.toBe('hi')
  })
  it.each(nonsense)('%s: approvals approves nothing', async (_, fail) => {
    const { events } = await withFault((fault) => ({
      tools: [asking],
      approvals: { handler: (() => (fault.on ? fail() : true)) as never },
    }))
    expect(ofType(events, 'tool_end')).toMatchObject([{ isError: true }])
  })
  it('never answers is stopped by cancelling', async () => {
    await cancelled((fault) => ({
      permissionPolicy: { ask: ['echo'] },
      onAsk: (() => (fault.on ? never() : { decision: 'once' })) as never,
    }))
    await cancelled((fault) => ({
      tools: [asking],
      approvals: { handler: (() => (fault.on ? never() : true)) as never },
    }))
  })
  it('never answers is refused at the time limit of the confirmation', async () => {
    const { result, events } = await withFault((fault) => ({
      permissionPolicy: { ask: ['echo'] },
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 50 },
      onAsk: (() => (fault.on ? never() : { decision: 'once' })) as never,
    }))
    expect(result?.text).toBe('Fine.')
    expect(ofType(events, 'confirmation_timeout')).toHaveLength(1)
  })
})

describe('a handler of questions that', () => {
  const asks = {
    questions: [{ question: 'Which?', header: 'Which', options: [{ label: 'a' }, { label: 'b' }] }],
  }
  const asking = (): Model =>
    scriptedModel((request) => {
      const last = request.chatHistory.at(-1)
      return last?.role === 'tool' ? 'Fine.' : { toolCalls: [{ name: 'question', args: asks }] }
    })
  it.each(nonsense)('%s: the model receives an error, and continues', async (_, fail) => {
    const { result } = await withFault((fault) => ({
      model: asking(),
      permissionPolicy: { allow: ['question'] },
      onQuestion: (() => (fault.on ? fail() : { answers: [['a']] })) as never,
    }))
    expect(result?.text).toBe('Fine.')
  })
  it('never answers is stopped by cancelling', async () => {
    await cancelled((fault) => ({
      model: asking(),
      permissionPolicy: { allow: ['question'] },
      onQuestion: (() => (fault.on ? never() : { answers: [['a']] })) as never,
    }))
  })
})

describe('a budget guard that', () => {
  const methods = ['checkBeforeLlm', 'checkBeforeTool', 'recordAfterLlm'] as const
  const faults: [string, () => unknown][] = [
    ['throws', broken],
    ['rejects', async () => broken()],
    ['never answers', never],
  ]
  it.each(methods.flatMap((method) => faults.map(([how, fail]) => [method, how, fail] as const)))(
    'has a %s that %s: the call is allowed, and the error is reported',
    async (method, _, fail) => {
      const { result, events } = await withFault((fault) => ({
        budgetGuard: { timeoutMs: 50, [method]: (() => (fault.on ? fail() : undefined)) as never },
      }))
      expect(result?.text).toBe('Fine.')
      expect(ofType(events, 'notice').some(({ source }) => source === 'budget')).toBe(true)
    },
  )
  it.each(faults)('%s and is to deny then: it denies', async (_, fail) => {
    const { error } = await withFault((fault) => ({
      budgetGuard: {
        timeoutMs: 50,
        onError: 'deny',
        checkBeforeLlm: (() => (fault.on ? fail() : undefined)) as never,
      },
    }))
    expect(error?.code).toBe('budget_exhausted')
  })
  it('never answers is stopped by cancelling', async () => {
    for (const method of methods)
      await cancelled((fault) => ({
        budgetGuard: { timeoutMs: 60_000, [method]: (() => (fault.on ? never() : undefined)) as never },
      }))
  })
})

describe('middleware that', () => {
  const steps = ['onCompletionRequest', 'onCompletionResponse', 'onToolInput', 'onToolOutput'] as const
  it.each(steps)('throws in %s ends the run with its error', async (step) => {
    const { thrown } = await withFault((fault) => ({
      middleware: [{ [step]: (() => (fault.on ? broken() : undefined)) as never }],
    }))
    expect(thrown).toMatchObject({ message: 'the host broke' })
  })
  it.each(steps)('never answers in %s is stopped by cancelling', async (step) => {
    await cancelled((fault) => ({
      middleware: [{ [step]: (() => (fault.on ? never() : undefined)) as never }],
    }))
  })
  it.each(steps)(
    'returns an invalid value in %s ends in an error or in an answer, never in a broken history',
    async (step) => {
      await withFault((fault) => ({ middleware: [{ [step]: (() => (fault.on ? 7 : undefined)) as never }] }))
    },
  )
})

describe('a stop condition that', () => {
  it('throws ends the run with its error, after the round', async () => {
    const { thrown, session } = await withFault((fault) => ({ stopWhen: () => fault.on && broken() }))
    expect(thrown).toMatchObject({ message: 'the host broke' })
    expect(session.history()[2]?.role).toBe('tool')
  })
  it('never answers is stopped by cancelling', async () => {
    await cancelled((fault) => ({ stopWhen: () => (fault.on ? never() : false) }))
  })
})

describe('a command that', () => {
  it.each<[string, () => unknown]>([...nonsense, ['never answers', never]])(
    '%s is reported as text',
    async (_, fail) => {
      const session = await open({})
      session.registerCommand('odd', 'Odd.', fail as never, 50)
      const { result, events } = await outcomeOf(session, '/odd')
      expect(result).toMatchObject({ finish: 'command' })
      expect(typeof result?.text).toBe('string')
      expect(events.at(-1)?.type).toBe('agent_end')
      expect((await session.send('Go.')).text).toBe('Fine.')
    },
  )
  it('never answers is stopped by cancelling', async () => {
    const session = await open({})
    session.registerCommand('odd', 'Odd.', never, 60_000)
    wasReached = later()
    const sending = outcomeOf(session, '/odd')
    await wasReached.promise
    session.cancel()
    await sending
    expect((await session.send('Go.')).text).toBe('Fine.')
  })
})

describe('a security provider that', () => {
  const parts = ['redactOutput', 'inspectInput', 'redactStream'] as const
  const well: Record<(typeof parts)[number], (text: unknown) => unknown> = {
    redactOutput: (text) => text,
    inspectInput: () => ({ findings: [] }),
    redactStream: () => ({ push: (text: string) => text, end: () => '' }),
  }
  it.each(
    parts.flatMap((part) =>
      nonsense
        .filter(([how]) => !/promise|rejects/.test(how))
        .map(([how, fail]) => [part, how, fail] as const),
    ),
  )('has a %s that %s: unchecked text is not shown, and the stream ends', async (part, how, fail) => {
    const fault = { on: true }
    const session = await open({
      securityProvider: {
        kind: 'odd',
        [part]: ((text: unknown) => (fault.on ? fail() : well[part](text))) as never,
      },
    })
    const events = await collect(await session.stream('Go.'))
    expect(events.at(-1)?.type).toMatch(/^(?:agent_end|error)$/)
    if (how === 'throws' && part !== 'inspectInput') expect(JSON.stringify(events)).not.toContain('Fine.')
    expect(await session.currentRun()).toBeNull()
    expectWellFormed(session)
    fault.on = false
    expect((await outcomeOf(session)).result?.text).toBe('Fine.')
  })
})

describe('a clock or a source of ids that', () => {
  it.each<[string, () => unknown]>([
    ['throws', broken],
    ['gives NaN', () => Number.NaN],
    ['gives nothing', () => undefined],
  ])('%s: the stream ends', async (_, fail) => {
    const fault = { on: false }
    const session = await open({
      hostEnv: { clock: { now: () => (fault.on ? fail() : 1000) as number } },
    })
    await session.send('Go.')
    fault.on = true
    const streaming = await session.stream('Go.').catch((error: unknown) => error)
    if (!(streaming instanceof Error)) await collect(streaming as Awaited<ReturnType<Session['stream']>>)
    fault.on = false
    expect((await outcomeOf(session)).result?.text).toBe('Fine.')
  })
})

describe('a model that', () => {
  const good = scriptedModel(() => 'Fine.')
  const odd = (answer: Model['answer'], fault: Fault): Model => ({
    provider: 'odd',
    id: 'odd',
    facts: good.facts,
    answer: (request, call) => (fault.on ? answer(request, call) : good.answer(request, call)),
  })
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  it.each<[string, Model['answer']]>([
    ['throws at once', () => broken()],
    ['rejects', async () => broken()],
    ['rejects with nothing', () => Promise.reject(undefined)],
    ['rejects with text', () => Promise.reject('no')],
    ['answers nothing', (async () => undefined) as never],
    ['answers a number', (() => 7) as never],
    ['answers an empty object', (async () => ({})) as never],
    [
      'answers without calls',
      (async () => ({ content: [], text: '', usage, finish: 'stop', response: {} })) as never,
    ],
    [
      'answers with calls that are none',
      (async () => ({
        content: [],
        text: 'x',
        toolCalls: [null, {}],
        usage,
        finish: 'tool_calls',
        response: {},
      })) as never,
    ],
    [
      'calls what it did not write down',
      (async () => ({
        content: [],
        text: 'x',
        toolCalls: [{ id: 'a', name: 'echo', input: '{}' }],
        usage,
        finish: 'tool_calls',
        response: {},
      })) as never,
    ],
    [
      'emits invalid events on the way',
      (async (_: unknown, call: { on(event: unknown): void }) => {
        call.on(undefined)
        call.on({ type: 'dance' })
        return undefined
      }) as never,
    ],
  ])('%s ends the run with an error, and the session continues', async (_, answer) => {
    const fault = { on: true }
    const session = await open({ model: odd(answer, fault) })
    const { result, events } = await outcomeOf(session)
    expect(result).toBeUndefined()
    expect(events.at(-1)?.type).toBe('error')
    expectWellFormed(session)
    fault.on = false
    expect((await outcomeOf(session)).result?.text).toBe('Fine.')
  })

  it('never answers is stopped by cancelling, by the time limit of the round and by closing', async () => {
    await cancelled((fault) => ({ model: odd(never, fault) }))
    const fault = { on: true }
    const session = await open({ model: odd(never, fault), roundTimeoutMs: 50 })
    expect((await outcomeOf(session)).error?.code).toBe('round_timeout')
    fault.on = false
    expect((await outcomeOf(session)).result?.text).toBe('Fine.')
    fault.on = true
    const open2 = await open({ model: odd(never, fault) })
    const sending = outcomeOf(open2)
    await open2.close()
    expect((await sending).error?.code).toBe('session_closed')
  })

  it('is ignored after its end', async () => {
    let speak: () => void = () => undefined
    const fault = { on: true }
    const session = await open({
      model: odd(async (request, call) => {
        speak = () => call.on({ type: 'text', text: 'late' })
        return good.answer(request, call)
      }, fault),
    })
    const first = await outcomeOf(session)
    speak()
    expect(first.result?.text).toBe('Fine.')
    const [run] = await session.runs()
    expect((await session.runEvents(run?.id ?? '')).at(-1)?.event.type).toBe('agent_end')
    fault.on = false
    const stream = await session.stream('Again?')
    speak()
    expect(JSON.stringify(await collect(stream))).not.toContain('late')
  })
})
