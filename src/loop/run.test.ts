import { describe, expect, it } from 'vitest'
import { ModelError } from '../model/errors.js'
import type { Model } from '../model/model.js'
import { type ScriptedStep, scriptedModel } from '../testing/scripted-model.js'
import type { Message, UserMessage } from '../tool/completion.js'
import type { AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { createBudget } from './budget.js'
import { type Conversation, createConversation } from './conversation.js'
import type { AgentEvent } from './events.js'
import { createGate } from './gate.js'
import type { GateParts } from './gate-parts.js'
import { type RunOutcome, run } from './run.js'
import type { RunParts } from './run-parts.js'
import { createSessionAuthority } from './session-authority.js'
import {
  stopAfterRounds,
  stopAfterTokens,
  stopAfterTool,
  stopWhenAll,
  stopWhenAny,
} from './stop-conditions.js'

const user = (text: string): UserMessage => ({ role: 'user', content: [{ type: 'text', text }] })

type Plain = { n?: number; path?: string }
function tool(
  name: string,
  execute: (args: Plain, signal: AbortSignal | undefined) => unknown,
  touches?: (args: Plain) => { fs: 'read' | 'write'; path: string }[],
): AnyTool {
  return createJsonTool<Plain>({
    name,
    description: name,
    parameters: { type: 'object', properties: { n: { type: 'number' }, path: { type: 'string' } } },
    ...(touches !== undefined && {
      touches,
      requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
    }),
    execute: (args, { signal }) => execute(args, signal),
  })
}
const echo = tool('echo', ({ n }) => `echo ${n ?? 0}`)

type Setup = Omit<Partial<RunParts>, 'tools'> & {
  tools?: readonly AnyTool[]
  gateParts?: Partial<GateParts>
}
type Made = {
  events: AgentEvent[]
  conversation: Conversation
  start(prompt?: string): Promise<RunOutcome>
  cancel(reason?: unknown): void
}

function setUp(model: Model, { tools = [echo], gateParts = {}, ...more }: Setup = {}): Made {
  const events: AgentEvent[] = []
  const conversation = more.conversation ?? createConversation()
  const controller = new AbortController()
  const authority = createSessionAuthority({
    scope: () => ({ variables: { workspace: ['/ship'] } }),
    tools: () => tools,
    policy: { allow: ['*'], defaultDecision: 'allow' },
  })
  let ids = 0
  const gate = createGate({
    tools: {
      get: (name) => tools.find((one) => one.name === name),
      names: () => tools.map(({ name }) => name),
    },
    authorityFor: (one) => authority.for(one),
    spill: async () => '/nowhere',
    now: () => performance.now(),
    newId: () => `gate-${++ids}`,
    stopGraceMs: 50,
    ...gateParts,
  })
  const parts: RunParts = {
    model: () => model,
    instructions: () => 'be good',
    tools: () => tools.map(({ name }) => ({ name, description: name, parameters: { type: 'object' } })),
    gate,
    emit: (event) => events.push(event),
    signal: controller.signal,
    now: () => performance.now(),
    ...more,
    conversation,
  }
  return {
    events,
    conversation,
    start: (prompt = 'go') => run(parts, user(prompt)),
    cancel: (reason) => controller.abort(reason),
  }
}

const call = (name: string, args: Record<string, string | number> = {}): ScriptedStep => ({
  toolCalls: [{ name, args }],
})
const results = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) =>
    message.role === 'tool'
      ? message.content.flatMap(({ content }) =>
          content.map((part) => (part.type === 'text' ? part.text : '')),
        )
      : [],
  )
const types = (events: readonly AgentEvent[]): string[] => events.map(({ type }) => type)

describe('a run', () => {
  it('answers calls in their order and ends when the model calls no more', async () => {
    const model = scriptedModel([
      {
        text: 'let us see',
        toolCalls: [
          { name: 'echo', args: { n: 1 } },
          { name: 'echo', args: { n: 2 } },
        ],
      },
      'done',
    ])
    const { start, conversation, events } = setUp(model)
    const outcome = await start()
    expect(outcome).toMatchObject({ text: 'done', rounds: 2, toolCallsCount: 2, finish: 'stop' })
    expect(results(conversation.messages)).toEqual(['echo 1', 'echo 2'])
    expect(outcome.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(types(events).filter((type) => type.startsWith('turn'))).toEqual([
      'turn_start',
      'turn_end',
      'turn_start',
      'turn_end',
    ])
  })

  it('adds the prompt to the conversation before the request to the model', async () => {
    const conversation = createConversation()
    let there = 0
    const model = scriptedModel(() => {
      there = conversation.messages.length
      return 'ok'
    })
    await setUp(model, { conversation }).start()
    expect(there).toBe(1)
  })

  it('starts each request with the bytes of the last one and appends to it', async () => {
    const model = scriptedModel([call('echo', { n: 1 }), call('echo', { n: 2 }), 'ok'])
    await setUp(model).start()
    const sent = model.requests.map(({ chatHistory }) => JSON.stringify(chatHistory).slice(0, -1))
    expect(sent).toHaveLength(3)
    for (const [at, text] of sent.entries())
      if (at > 0) expect(text.startsWith(sent[at - 1] ?? '')).toBe(true)
  })
})

describe('limits', () => {
  it.each([0, 1, 3])('lets the model call tools in exactly %i rounds', async (maxToolRounds) => {
    let ran = 0
    const counting = tool('count', () => ++ran)
    const model = scriptedModel((_, n) => call('count', { n }))
    const { start, conversation } = setUp(model, { tools: [counting], limits: { maxToolRounds } })
    await expect(start()).rejects.toMatchObject({ code: 'max_tool_rounds', limit: maxToolRounds })
    expect(ran).toBe(maxToolRounds)
    expect(model.requests).toHaveLength(maxToolRounds + 1)
    expect(results(conversation.messages).at(-1)).toContain('was not run')
  })

  it('allows an answer after the last tool round', async () => {
    const { start } = setUp(scriptedModel([call('echo'), 'fine']), { limits: { maxToolRounds: 1 } })
    expect((await start()).text).toBe('fine')
  })

  it('ends after too many consecutive arguments that are not JSON, and not earlier', async () => {
    const broken: ScriptedStep = { toolCalls: [{ name: 'echo', input: ':::' }] }
    const stubborn = setUp(
      scriptedModel(() => broken),
      { limits: { maxParseRetries: 2 } },
    )
    await expect(stubborn.start()).rejects.toMatchObject({ code: 'malformed_calls' })
    expect(results(stubborn.conversation.messages)).toHaveLength(3)
    const learning = setUp(scriptedModel([broken, broken, call('echo'), broken, broken, 'ok']), {
      limits: { maxParseRetries: 2 },
    })
    expect((await learning.start()).text).toBe('ok')
  })

  it('stops when the whole run takes too long, and names the option', async () => {
    const model = scriptedModel([{ text: 'hm', hang: true }])
    const { start, conversation } = setUp(model, { limits: { maxExecutionTimeMs: 40 } })
    await expect(start()).rejects.toMatchObject({
      code: 'run_timeout',
      message: expect.stringContaining('maxExecutionTimeMs'),
    })
    // What was said was seen.
    expect(conversation.messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'hm' }],
    })
  })

  it('stops when one round takes too long, while many rounds together can take longer', async () => {
    const slow = tool('slow', () => new Promise((resolve) => setTimeout(resolve, 30)))
    const patient = setUp(
      scriptedModel([call('slow', { n: 1 }), call('slow', { n: 2 }), call('slow', { n: 3 }), 'ok']),
      {
        tools: [slow],
        limits: { roundTimeoutMs: 2_000 },
      },
    )
    expect((await patient.start()).text).toBe('ok')
    const never = tool('never', () => new Promise(() => undefined))
    const stuck = setUp(scriptedModel([call('never')]), { tools: [never], limits: { roundTimeoutMs: 40 } })
    await expect(stuck.start()).rejects.toMatchObject({ code: 'round_timeout' })
    expect(results(stuck.conversation.messages)[0]).toContain('stopped')
  })

  it('passes the time limits of the model to the model', async () => {
    const seen: unknown[] = []
    const model = scriptedModel(['ok'])
    const watching: Model = {
      ...model,
      answer: (request, given) => {
        seen.push(given.idleTimeoutMs, given.retry?.maxAttempts, given.timeoutMs)
        return model.answer(request, given)
      },
    }
    await setUp(watching, {
      limits: { modelIdleTimeoutMs: 5, llmApiTimeoutMs: 9 },
      retry: { maxAttempts: 7 },
    }).start()
    expect(seen).toEqual([5, 7, 9])
  })
})

describe('repetition', () => {
  it('is first a warning to the model and then ends the run, by call and result together', async () => {
    const same = setUp(
      scriptedModel(() => call('echo', { n: 1 })),
      { limits: { duplicateToolCallThreshold: 2 } },
    )
    await expect(same.start()).rejects.toMatchObject({ code: 'repeated_calls' })
    const texts = results(same.conversation.messages)
    expect(texts).toHaveLength(5)
    expect(texts.map((text) => text.includes('the same each time'))).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
  })

  it('does not count when the result is new', async () => {
    let n = 0
    const ticking = tool('tick', () => ++n)
    const model = scriptedModel((_, at) => (at < 12 ? call('tick') : 'ok'))
    const { start, conversation } = setUp(model, {
      tools: [ticking],
      limits: { duplicateToolCallThreshold: 2 },
    })
    expect((await start()).text).toBe('ok')
    expect(results(conversation.messages).join()).not.toContain('same')
  })
})

describe('continuing after an answer without a call', () => {
  it('happens when the answer was cut off, and the parts are joined to one text', async () => {
    const model = scriptedModel([{ text: 'one two', finish: 'length' }, ' three'])
    expect((await setUp(model).start()).text).toBe('one two three')
  })

  it('happens when the answer was empty, up to its limit', async () => {
    const model = scriptedModel([{}, {}, 'here'])
    expect((await setUp(model).start()).text).toBe('here')
    const silent = setUp(
      scriptedModel(() => ({})),
      { limits: { maxContinuationTurns: 2 } },
    )
    expect((await silent.start()).text).toBe('')
    expect(types(silent.events)).toContain('notice')
  })

  it('never happens because of the text of an answer', async () => {
    const model = scriptedModel(["I'll be here if you need more, let me know:"])
    expect((await setUp(model).start()).rounds).toBe(1)
  })

  it('can be switched off', async () => {
    const model = scriptedModel([{ text: 'one', finish: 'length' }])
    expect((await setUp(model, { limits: { continuationEnabled: false } }).start()).text).toBe('one')
  })
})

describe('steering', () => {
  it('reaches the model after the calls of a round, and after an answer', async () => {
    const waiting = [[user('faster')], [user('one more thing')], []]
    const model = scriptedModel([call('echo'), 'done', 'really done'])
    const { start, events } = setUp(model, { takeSteering: () => waiting.shift() ?? [] })
    expect((await start()).text).toBe('really done')
    expect(model.requests[1]?.chatHistory.at(-1)).toEqual(user('faster'))
    expect(model.requests[2]?.chatHistory.at(-1)).toEqual(user('one more thing'))
    expect(types(events).filter((type) => type === 'steered')).toHaveLength(2)
  })
})

describe('stop conditions', () => {
  const endless = (): Model =>
    scriptedModel((_, n) => ({
      text: `t${n}`,
      ...call('echo', { n }),
      usage: { inputTokens: 10, outputTokens: 0 },
    }))
  it.each([
    ['rounds', stopAfterRounds(2), 2],
    ['tokens', stopAfterTokens(25), 3],
    ['a tool', stopAfterTool('echo'), 1],
    ['all of them', stopWhenAll(stopAfterTool('echo'), stopAfterRounds(2)), 2],
    ['any of them', stopWhenAny(stopAfterTool('other'), stopAfterRounds(4)), 4],
  ])('end a run after %s, with the last text', async (_, condition, rounds) => {
    const outcome = await setUp(endless(), { stopWhen: [condition] }).start()
    expect(outcome).toMatchObject({ rounds, finish: 'stop_condition', text: `t${rounds - 1}` })
  })
})

describe('the calls of a round', () => {
  it('run at the same time, up to the limit, with results in their order', async () => {
    let now = 0
    let most = 0
    const work = tool('work', async ({ n = 0 }) => {
      now++
      most = Math.max(most, now)
      await new Promise((resolve) => setTimeout(resolve, 20 - n))
      now--
      return n
    })
    const toolCalls = [...Array(9).keys()].map((n) => ({ name: 'work', args: { n } }))
    const { start, conversation } = setUp(scriptedModel([{ toolCalls }, 'ok']), {
      tools: [work],
      limits: { maxParallelTasks: 3 },
    })
    await start()
    expect(most).toBe(3)
    expect(results(conversation.messages)).toEqual([...Array(9).keys()].map(String))
  })

  it('wait for earlier ones that write what they touch', async () => {
    const log: string[] = []
    const slow = async (what: string): Promise<void> => {
      log.push(`+${what}`)
      await new Promise((resolve) => setTimeout(resolve, 15))
      log.push(`-${what}`)
    }
    const write = tool(
      'write',
      ({ path, n }) => slow(`w${path}${n}`),
      ({ path = '' }) => [{ fs: 'write', path }],
    )
    const read = tool(
      'read',
      ({ path, n }) => slow(`r${path}${n}`),
      ({ path = '' }) => [{ fs: 'read', path }],
    )
    const toolCalls = [
      { name: 'write', args: { path: 'a', n: 1 } },
      { name: 'read', args: { path: 'b', n: 2 } },
      { name: 'write', args: { path: 'a', n: 3 } },
      { name: 'read', args: { path: 'a', n: 4 } },
      { name: 'read', args: { path: '.', n: 5 } },
    ]
    await setUp(scriptedModel([{ toolCalls }, 'ok']), { tools: [write, read] }).start()
    const at = (entry: string): number => log.indexOf(entry)
    expect(at('+wa3')).toBeGreaterThan(at('-wa1'))
    expect(at('+ra4')).toBeGreaterThan(at('-wa3'))
    expect(at('+r.5')).toBeGreaterThan(at('-wa3'))
    expect(at('+rb2')).toBeLessThan(at('-wa1'))
  })

  it('do not start after one that ends the run, and those that had started are awaited', async () => {
    const log: string[] = []
    const slow = tool('slow', async () => {
      log.push('started')
      await new Promise((resolve) => setTimeout(resolve, 40))
      log.push('finished')
    })
    const fail = tool('fail', () => 'never')
    const late = tool('late', () => {
      log.push('late')
    })
    const toolCalls = ['slow', 'fail', 'late', 'late', 'late'].map((name) => ({ name, args: {} }))
    const { start, conversation } = setUp(scriptedModel([{ toolCalls }]), {
      tools: [slow, fail, late],
      limits: { maxParallelTasks: 2 },
      gateParts: {
        middleware: [
          {
            onToolInput: async ({ toolName }) => {
              if (toolName !== 'fail') return
              while (log.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
              throw new Error('middleware broke')
            },
          },
        ],
      },
    })
    await expect(start()).rejects.toThrow('middleware broke')
    expect(log).toEqual(['started', 'finished'])
    expect(results(conversation.messages)).toHaveLength(5)
  })

  it('are not run when the answer was cut off in the middle of the last one', async () => {
    const ran: number[] = []
    const note = tool('note', ({ n = 0 }) => {
      ran.push(n)
    })
    const step: ScriptedStep = {
      toolCalls: [
        { name: 'note', args: { n: 1 } },
        { name: 'note', args: { n: 2 } },
      ],
      finish: 'length',
    }
    const { start, conversation } = setUp(scriptedModel([step, 'ok']), { tools: [note] })
    await start()
    expect(ran).toEqual([1])
    expect(results(conversation.messages)[1]).toContain('output limit')
  })

  it('emit their output while they run, and their refusals', async () => {
    const chatty = createJsonTool({
      name: 'chatty',
      description: 'c',
      parameters: { type: 'object' },
      execute: (_, { progress }) => {
        progress?.('half')
        return 'whole'
      },
    })
    const { start, events } = setUp(scriptedModel([call('chatty'), call('echo'), 'ok']), {
      tools: [chatty, echo],
      gateParts: {
        before: ({ toolName }) =>
          toolName === 'echo' ? { action: 'block', reason: 'not today' } : { action: 'continue' },
      },
    })
    await start()
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool_output_delta', toolName: 'chatty', text: 'half' }),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool_end', toolOutput: 'whole', exitCode: 0 }),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'permission_denied', reason: expect.stringContaining('not today') }),
    )
  })
})

describe('cancelling', () => {
  it.each(['before', 'while the model speaks', 'while a tool runs', 'while a call waits'])(
    'leaves a conversation that can continue: %s',
    async (when) => {
      const never = tool(
        'never',
        (_, signal) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason))
          }),
      )
      const model = scriptedModel([
        when === 'while the model speaks' ? { text: 'well', hang: true } : call('never'),
        'fine',
      ])
      const made: Made = setUp(model, {
        tools: [never],
        gateParts: when === 'while a call waits' ? { before: () => new Promise(() => undefined) } : {},
      })
      if (when === 'before') made.cancel()
      const ended = made.start()
      const reached = {
        'while the model speaks': 'text_delta',
        'while a tool runs': 'tool_execution_start',
        'while a call waits': 'tool_execution_start',
      }[when]
      for (
        let tries = 0;
        reached !== undefined && !types(made.events).includes(reached) && tries < 200;
        tries++
      )
        await new Promise((resolve) => setTimeout(resolve, 2))
      made.cancel()
      await expect(ended).rejects.toMatchObject({ code: 'cancelled' })
      const { messages } = made.conversation
      const open = messages.flatMap((message) =>
        message.role === 'assistant' ? message.content.filter(({ type }) => type === 'tool_call') : [],
      )
      expect(results(messages)).toHaveLength(open.length)
    },
  )

  it('abandons a model that ignores its signal', async () => {
    const deaf: Model = { ...scriptedModel([]), answer: () => new Promise(() => undefined) }
    const made = setUp(deaf)
    const ended = made.start()
    setTimeout(() => made.cancel(), 10)
    await expect(ended).rejects.toMatchObject({ code: 'cancelled' })
  })
})

describe('middleware', () => {
  it('replaces requests and answers, and nothing shows what was replaced', async () => {
    const model = scriptedModel(['the secret is 7'])
    const { start, events } = setUp(model, {
      middleware: [
        { onCompletionRequest: ({ request }) => ({ request: { ...request, instructions: 'other' } }) },
        {
          onCompletionResponse: ({ response }) => ({
            response: { ...response, choice: [{ type: 'text', text: 'no secret' }] },
          }),
        },
      ],
    })
    expect((await start()).text).toBe('no secret')
    expect(model.requests[0]?.instructions).toBe('other')
    expect(JSON.stringify(events)).not.toContain('secret is')
    expect(events).toContainEqual({ type: 'text_delta', text: 'no secret' })
  })

  it('ends the run with the error that it throws', async () => {
    const { start } = setUp(scriptedModel(['x']), {
      middleware: [
        {
          onCompletionRequest: () => {
            throw new Error('no')
          },
        },
      ],
    })
    await expect(start()).rejects.toThrow('no')
  })
})

describe('the budget', () => {
  it('refuses a model call, warns, and counts in both spellings', async () => {
    const events: AgentEvent[] = []
    const counted: unknown[] = []
    let calls = 0
    const budget = createBudget(
      () => ({
        checkBeforeLlm: (sessionId, estimated) => {
          calls++
          expect(sessionId).toBe('s')
          expect(estimated).toBeGreaterThan(0)
          if (calls === 1) return { decision: 'soft', resource: 'llm_tokens', consumed: 8, limit: 10 }
          return { decision: 'deny', resource: 'llm_tokens', reason: 'cap' }
        },
        recordAfterLlm: (_, usage) => {
          counted.push([usage.totalTokens, usage.total_tokens])
        },
      }),
      's',
      (event) => events.push(event),
    )
    const model = scriptedModel([{ ...call('echo'), usage: { inputTokens: 3, outputTokens: 2 } }])
    await expect(setUp(model, { budget }).start()).rejects.toThrow("Budget exhausted on 'llm_tokens': cap")
    expect(counted).toEqual([[5, 5]])
    expect(events.map((event) => 'kind' in event && event.kind)).toEqual(['soft', 'hard'])
  })

  it.each([
    ['throws', () => Promise.reject(new Error('boom'))],
    ['answers nonsense', () => ({}) as never],
    ['does not answer', () => new Promise<never>(() => undefined)],
  ])(
    'allows calls when the guard %s, reports it, and refuses with onError deny',
    async (_, checkBeforeLlm) => {
      for (const onError of ['allow', 'deny'] as const) {
        const events: AgentEvent[] = []
        const budget = createBudget(
          () => ({ checkBeforeLlm, onError, timeoutMs: 20 }),
          's',
          (event) => events.push(event),
        )
        const ended = setUp(scriptedModel(['ok']), { budget }).start()
        if (onError === 'allow') expect((await ended).text).toBe('ok')
        else await expect(ended).rejects.toMatchObject({ code: 'budget_exhausted' })
        expect(types(events)).toContain('notice')
      }
    },
  )
})

describe('a model that fails', () => {
  it('ends the run with its error and keeps its partial output', async () => {
    const error = new ModelError('model_server_error', 'it broke')
    const { start, conversation } = setUp(scriptedModel([{ text: 'half an', error }]))
    await expect(start()).rejects.toBe(error)
    expect(JSON.stringify(conversation.messages.at(-1))).toContain('half an')
  })

  it('reports a cache miss', async () => {
    const usage = (cached: number): NonNullable<ScriptedStep['usage']> => ({
      inputTokens: 5_000,
      outputTokens: 1,
      cachedInputTokens: cached,
    })
    const model = scriptedModel([
      { ...call('echo', { n: 1 }), usage: usage(4_000) },
      { ...call('echo', { n: 2 }), usage: usage(4_900) },
      { text: 'ok', usage: usage(0) },
    ])
    const { start, events } = setUp(model)
    await start()
    expect(events.filter(({ type }) => type === 'cache_miss')).toEqual([
      { type: 'cache_miss', expectedTokens: 5_001, cachedTokens: 0 },
    ])
  })

  it('does not make the session unusable with a message that it rejects', async () => {
    const refused = new ModelError('model_request_refused', 'cannot read the image', { status: 400 })
    const hasImage = (history: readonly Message[]): boolean => JSON.stringify(history).includes('"image"')
    const model = scriptedModel(({ chatHistory }) =>
      hasImage(chatHistory) ? { error: refused } : { text: 'fine' },
    )
    const conversation = createConversation()
    await conversation.append({ role: 'user', content: [{ type: 'image', data: 'xx' }] })
    const { start, events } = setUp(model, { conversation })
    expect((await start()).text).toBe('fine')
    expect(types(events)).toContain('notice')
    // The history keeps what the model is no longer shown.
    expect(hasImage(conversation.messages)).toBe(true)
    expect(hasImage(conversation.view)).toBe(false)
  })

  it('omits outputs only when it rejects the request again', async () => {
    const refused = new ModelError('model_request_refused', 'odd bytes', { status: 400 })
    const model = scriptedModel(({ chatHistory }) => {
      const text = JSON.stringify(chatHistory)
      if (text.includes('echo 7')) return { error: refused }
      return text.includes('"tool_call"') ? 'fine' : call('echo', { n: 7 })
    })
    const { start } = setUp(model)
    await expect(start()).rejects.toBe(refused)
    expect((await start('again')).text).toBe('fine')
  })
})
