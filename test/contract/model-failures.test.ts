import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { HostEnv } from '../../src/loop/host-env.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { ModelServer } from '../../src/testing/index.js'
import {
  bodyOf,
  type ChatBody,
  calls,
  type collect,
  configFor,
  eventsOf,
  later,
  makeWorkspace,
  ofType,
  openServer,
  openSession,
  type Script,
  toolResults,
  whenDone,
} from './open-session.js'

/** Time that a test moves; pauses are noted and over at once. */
function testTime(): { readonly hostEnv: HostEnv; readonly slept: number[]; advance(ms: number): void } {
  const slept: number[] = []
  let now = Date.UTC(2026, 0, 1)
  return {
    slept,
    advance: (ms) => {
      now += ms
    },
    hostEnv: {
      clock: {
        now: () => now,
        sleep: async (ms) => {
          slept.push(ms)
          now += ms
        },
      },
    },
  }
}

const busy = { status: 503 }
const noRetries = { retry: { maxRetries: 0 } } as const satisfies SessionOptions

describe('a request to a model that fails', () => {
  it.each([0, 0.5, 1])(
    'is retried for more than a minute, with the delays that its events report (random part %d)',
    async (random) => {
      const { hostEnv, slept } = testTime()
      const { server, session } = await openSession(() => busy, {
        hostEnv: { ...hostEnv, random: () => random },
      })
      const events = await eventsOf(session, 'x')
      const pauses = ofType(events, 'model_retry').map(({ delayMs }) => delayMs)
      expect(pauses).toEqual(slept)
      expect(slept.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThanOrEqual(60_000)
      expect(slept.every((ms, at) => at === 0 || ms >= (slept[at - 1] ?? 0))).toBe(true)
      expect(server.requests).toHaveLength(slept.length + 1)
      expect(events.at(-1)).toMatchObject({ type: 'error', code: 'model_server_error' })
    },
  )

  it.each<[string, () => Record<string, string>, number, number]>([
    ['retry-after in seconds', () => ({ 'retry-after': '17' }), 17_000, 17_000],
    ['retry-after-ms', () => ({ 'retry-after-ms': '4321' }), 4321, 4321],
    // The time until the answer is read counts: a busy machine takes seconds for it.
    [
      'retry-after as a date',
      () => ({ 'retry-after': new Date(Date.now() + 240_000).toUTCString() }),
      60_000,
      240_000,
    ],
  ])('waits as long as the provider requests with %s', async (_, headers, least, most) => {
    const { hostEnv, slept } = testTime()
    const { session } = await openSession(
      (_request, n) => (n === 0 ? { status: 429, headers: headers() } : 'fine'),
      {
        hostEnv,
      },
    )
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'model_retry').map(({ delayMs }) => delayMs)).toEqual(slept)
    expect(slept).toHaveLength(1)
    expect(slept[0]).toBeGreaterThanOrEqual(least)
    expect(slept[0]).toBeLessThanOrEqual(most)
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'fine' } })
  })

  it('is sent as often as the session says, and never again with maxRetries 0', async () => {
    const { hostEnv, slept } = testTime()
    const retry = { maxRetries: 2, baseDelayMs: 40, maxDelayMs: 50 }
    const two = await openSession(() => busy, { hostEnv: { ...hostEnv, random: () => 0 }, retry })
    await expect(two.session.send('x')).rejects.toThrow(/503/)
    expect(two.server.requests).toHaveLength(3)
    expect(slept).toEqual([40, 50])
    const none = await openSession(() => busy, { hostEnv, ...noRetries })
    await expect(none.session.send('x')).rejects.toThrow(/503/)
    expect(none.server.requests).toHaveLength(1)
  })

  it('is sent as often as the configuration says', async () => {
    const { hostEnv, slept } = testTime()
    const { root, userDir } = await makeWorkspace()
    const server = await openServer(() => busy)
    const config = `${configFor(`${server.url}/v1`)}
      retry { max_retries = 1 base_delay_ms = 7 }`
    const agent = await Agent.create(config, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, { hostEnv: { ...hostEnv, random: () => 0 } })
    await expect(session.send('x')).rejects.toThrow(/503/)
    expect(server.requests).toHaveLength(2)
    expect(slept).toEqual([7])
  })

  it('ends a delay at once when the run is cancelled, even if the host’s own delay ignores it', async () => {
    const hostEnv: HostEnv = { clock: { now: () => 0, sleep: () => new Promise(() => undefined) } }
    const { server, session } = await openSession(() => busy, { hostEnv })
    const stream = await session.stream('x')
    const seen: string[] = []
    for (let next = await stream.next(); !next.done; next = await stream.next()) {
      seen.push(next.value.type)
      if (next.value.type === 'model_retry') session.cancel()
    }
    expect(seen.at(-1)).toBe('agent_cancelled')
    expect(server.requests).toHaveLength(1)
  })
})

describe('an answer that is cut off', () => {
  it.each<[string, Script]>([
    ['because the connection is cut', [{ text: 'Half of it and', dropAfterBytes: 400 }, 'The whole.']],
    ['because the stream ends without a reason', [{ chunks: [half('Half of')] }, 'The whole.']],
    [
      'with an error event',
      [{ text: 'Half of it', streamError: { type: 'server_error', message: 'overloaded' } }, 'The whole.'],
    ],
  ])('starts again %s, and only the complete one counts', async (_, script) => {
    const { hostEnv } = testTime()
    const { server, session } = await openSession(script, { hostEnv })
    const events = await eventsOf(session, 'x')
    expect(server.requests).toHaveLength(2)
    const restarted = events.findIndex(({ type }) => type === 'answer_restarted')
    expect(textIn(events.slice(0, restarted))).toMatch(/^Half/)
    expect(events[restarted]).toMatchObject({ turn: 1 })
    expect(events[restarted + 1]).toMatchObject({ type: 'model_retry', attempt: 1 })
    expect(textIn(events.slice(restarted))).toBe('The whole.')
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'The whole.', rounds: 1 } })
    expect(JSON.stringify(session.history())).not.toContain('Half')
  })

  it('after the start of a call runs the call of the complete answer once', async () => {
    const { hostEnv } = testTime()
    const write = calls(['write', { file_path: 'a.txt', content: 'one' }])
    const { server, session } = await openSession(
      [calls(['ls', {}]), { ...write, text: 'Now I write.', dropAfterBytes: 700 }, write, 'Done.'],
      { hostEnv, permissionPolicy: { allow: ['write'] } },
    )
    const events = await eventsOf(session, 'x')
    expect(server.requests).toHaveLength(4)
    expect(ofType(events, 'answer_restarted')).toMatchObject([{ turn: 2 }])
    expect(ofType(events, 'tool_execution_start').map(({ toolName }) => toolName)).toEqual(['ls', 'write'])
    expect(toolResults(server, 3)).toHaveLength(2)
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'Done.', toolCallsCount: 2 } })
  })

  it('is not shown as a separate text to middleware that replaces answers', async () => {
    const { hostEnv } = testTime()
    const { session } = await openSession([{ text: 'Half of it and', dropAfterBytes: 400 }, 'The whole.'], {
      hostEnv,
      middleware: [{ onCompletionResponse: () => undefined }],
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'answer_restarted')).toEqual([])
    expect(textIn(events)).toBe('The whole.')
  })
})

describe('the circuit breaker of a model', () => {
  it('opens after circuitBreakerThreshold failed requests in a row and refuses at once, for 30 s', async () => {
    const { hostEnv, advance } = testTime()
    let up = false
    const options = { hostEnv, circuitBreakerThreshold: 2, ...noRetries }
    const { server, session, agent, root } = await openSession(() => (up ? 'fine' : busy), options)
    expect(ofType(await eventsOf(session, 'one'), 'model_circuit_opened')).toEqual([])
    expect(ofType(await eventsOf(session, 'two'), 'model_circuit_opened')).toMatchObject([
      { model: 'openai/docs-model', failures: 2, openMs: 30_000 },
    ])
    expect(server.requests).toHaveLength(2)
    up = true
    advance(29_999)
    // Another session of the same agent, too.
    for (const each of [session, agent.session(root, options)])
      expect((await eventsOf(each, 'three')).at(-1)).toMatchObject({
        type: 'error',
        code: 'model_circuit_open',
        error: expect.stringContaining('circuitBreakerThreshold'),
      })
    expect(server.requests).toHaveLength(2)
    advance(1)
    expect((await session.send('four')).text).toBe('fine')
    expect((await session.send('five')).text).toBe('fine')
  })

  it('is in the result of the run in which it opened, next to the fallback model that answered', async () => {
    const { hostEnv } = testTime()
    const server = await openServer(() => busy)
    const second = await openServer(['fine', 'fine'])
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create(
      `default_model = "first/m"
      fallback_models = ["second/m"]
      circuit_breaker_threshold = 1
      providers "first" { base_url = "${server.url}/v1"
        models "m" {} }
      providers "second" { base_url = "${second.url}/v1"
        models "m" {} }`,
      { userDir, env: {} },
    )
    whenDone(() => agent.close())
    const session = agent.session(root, { hostEnv, ...noRetries })
    const opened = await session.send('x')
    expect(opened).toMatchObject({ text: 'fine', fallbackModel: 'second/m', circuitsOpened: ['first/m'] })
    const after = await session.send('x')
    expect(after).toMatchObject({ text: 'fine', fallbackModel: 'second/m' })
    expect(after).not.toHaveProperty('circuitsOpened')
    expect(server.requests).toHaveLength(1)
  })

  it('counts only consecutive failures: an answer in between resets the count', async () => {
    const { hostEnv } = testTime()
    const script: Script = [busy, 'fine', busy, 'fine', busy, busy, 'never']
    const { server, session } = await openSession(script, {
      hostEnv,
      circuitBreakerThreshold: 2,
      ...noRetries,
    })
    for (let n = 0; n < 6; n++) await session.send('x').catch(() => undefined)
    expect(server.requests).toHaveLength(6)
    await expect(session.send('x')).rejects.toMatchObject({ code: 'model_circuit_open' })
    expect(server.requests).toHaveLength(6)
  })

  it('lets exactly one of many sessions try after 30 s, once, and stays open when that fails', async () => {
    const { hostEnv, advance } = testTime()
    const gate = later()
    const tried = later()
    let probing = false
    const { server, agent, root } = await openSession(async () => {
      if (!probing) return busy
      tried.resolve()
      await gate.promise
      return busy
    })
    const options = { hostEnv, sandbox: 'off', circuitBreakerThreshold: 1 } as const
    const open = (): ReturnType<Agent['session']> => agent.session(root, { ...options, ...noRetries })
    await expect(open().send('x')).rejects.toMatchObject({ code: 'model_server_error' })
    probing = true
    advance(30_000)
    // With retries: the one that tries is still sent only once.
    const sends = Array.from({ length: 10 }, () => agent.session(root, options).send('x'))
    const codes = Promise.all(sends.map((send) => send.then(String, ({ code }) => code)))
    await tried.promise
    gate.resolve()
    expect((await codes).sort()).toEqual([...Array(9).fill('model_circuit_open'), 'model_server_error'])
    expect(server.requests).toHaveLength(2)
    await expect(open().send('x')).rejects.toMatchObject({ code: 'model_circuit_open' })
    expect(server.requests).toHaveLength(2)
  })

  it('lets the next request try when the trying one was cancelled', async () => {
    const { hostEnv, advance } = testTime()
    const script: Script = [busy, { stall: true }, 'fine']
    const { session } = await openSession(script, { hostEnv, circuitBreakerThreshold: 1, ...noRetries })
    await expect(session.send('x')).rejects.toMatchObject({ code: 'model_server_error' })
    advance(30_000)
    const stream = await session.stream('x')
    for (let next = await stream.next(); !next.done; next = await stream.next())
      if (next.value.type === 'turn_start') setTimeout(() => session.cancel(), 50)
    expect((await session.send('x')).text).toBe('fine')
  })

  it('exists once for each agent, and does not open for a request that the provider rejects', async () => {
    const { hostEnv } = testTime()
    const refused = { status: 400, message: 'no' }
    const options = { hostEnv, circuitBreakerThreshold: 1, ...noRetries }
    const one = await openSession([refused, busy, 'never'], options)
    await expect(one.session.send('x')).rejects.toMatchObject({ code: 'model_request_refused' })
    await expect(one.session.send('x')).rejects.toMatchObject({ code: 'model_server_error' })
    await expect(one.session.send('x')).rejects.toMatchObject({ code: 'model_circuit_open' })
    const other = await openSession(['fine'], options)
    expect((await other.session.send('x')).text).toBe('fine')
  })
})

describe('fallback models', () => {
  it('take over the round when the retries of the model are used up, and events report it', async () => {
    const { hostEnv, slept } = testTime()
    const { server, session } = await openSession(byModel({ 'docs-model': busy, 'docs-alt': 'fine' }), {
      hostEnv,
      retry: { maxRetries: 2 },
      fallbackModels: ['openai/docs-alt'],
    })
    const events = await eventsOf(session, 'x')
    expect(slept).toHaveLength(2)
    expect(modelsOf(server)).toEqual(['docs-model', 'docs-model', 'docs-model', 'docs-alt'])
    expect(ofType(events, 'model_fallback')).toMatchObject([
      { turn: 1, from: 'openai/docs-model', to: 'openai/docs-alt', code: 'model_server_error' },
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'agent_end',
      result: { text: 'fine', fallbackModel: 'openai/docs-alt' },
    })
  })

  it('are not named in the result when the model of the session gave the last answer', async () => {
    const { hostEnv } = testTime()
    const script = byModel({
      'docs-model': ({ messages }) => (messages.some(({ role }) => role === 'tool') ? 'mine' : busy),
      'docs-alt': () => calls(['ls', {}]),
    })
    const fallbackModels = ['openai/docs-alt']
    const { server, session } = await openSession(script, { hostEnv, fallbackModels, ...noRetries })
    const result = await session.send('x')
    expect(modelsOf(server)).toEqual(['docs-model', 'docs-alt', 'docs-model'])
    expect(result.text).toBe('mine')
    expect(result).not.toHaveProperty('fallbackModel')
  })

  it('take over the round at once while the circuit of the model is open', async () => {
    const { hostEnv } = testTime()
    const { server, session } = await openSession(byModel({ 'docs-model': busy, 'docs-alt': 'fine' }), {
      hostEnv,
      circuitBreakerThreshold: 2,
      fallbackModels: ['openai/docs-alt'],
      ...noRetries,
    })
    for (let n = 0; n < 4; n++) expect((await session.send('x')).text).toBe('fine')
    expect(modelsOf(server)).toEqual([
      'docs-model',
      'docs-alt',
      'docs-model',
      'docs-alt',
      'docs-alt',
      'docs-alt',
    ])
  })

  it('of the configuration serve its sessions, their side questions and their subagents', async () => {
    const { hostEnv } = testTime()
    const { root, userDir } = await makeWorkspace()
    const script = byModel({
      'docs-model': busy,
      'docs-alt': ({ messages }) =>
        messages.some(({ content }) => String(content).includes('delegate')) &&
        !messages.some(({ role }) => role === 'tool')
          ? calls(['task', { agent: 'general', description: 'd', prompt: 'child work' }])
          : 'fine',
    })
    const server = await openServer(script)
    const config = `${configFor(`${server.url}/v1`)}
      fallback_models = ["openai/docs-alt"]
      retry { max_retries = 0 }`
    const agent = await Agent.create(config, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, { hostEnv, sandbox: 'off', permissionPolicy: { allow: ['task'] } })
    expect((await session.btw('aside')).answer).toBe('fine')
    const events = await eventsOf(session, 'delegate it')
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'fine' } })
    expect(ofType(events, 'model_fallback').map(({ agent: of }) => of)).toContain('general')
    expect(modelsOf(server).filter((model) => model === 'docs-alt')).toHaveLength(4)
  })

  it('start the answer again when the model had started it', async () => {
    const { hostEnv } = testTime()
    const script = byModel({
      'docs-model': { text: 'Half of it and', dropAfterBytes: 400 },
      'docs-alt': 'The whole.',
    })
    const { session } = await openSession(script, {
      hostEnv,
      fallbackModels: ['openai/docs-alt'],
      ...noRetries,
    })
    const events = await eventsOf(session, 'x')
    const restarted = events.findIndex(({ type }) => type === 'answer_restarted')
    expect(events[restarted + 1]).toMatchObject({ type: 'model_fallback' })
    expect(textIn(events.slice(restarted))).toBe('The whole.')
    expect(JSON.stringify(session.history())).not.toContain('Half')
  })

  it('that all fail end the run with the last failure', async () => {
    const { hostEnv } = testTime()
    const { session } = await openSession(
      byModel({ 'docs-model': busy, 'docs-alt': { status: 401, message: 'no' } }),
      { hostEnv, fallbackModels: ['openai/docs-alt'], ...noRetries },
    )
    await expect(session.send('x')).rejects.toMatchObject({ code: 'model_auth' })
  })

  it('of another provider get a history that they accept', async () => {
    const { hostEnv } = testTime()
    const { root, userDir } = await makeWorkspace({ 'a.txt': 'hello' })
    let down = false
    const first = await openServer(() =>
      down
        ? busy
        : {
            reasoning: 'I must look.',
            signature: 'signed-by-the-first',
            toolCalls: [{ id: 'toolu_01-with.odd:signs', name: 'read', args: { file_path: 'a.txt' } }],
          },
    )
    const second = await openServer((_, n) =>
      n === 0 ? calls(['read', { file_path: 'a.txt' }, 'call_2']) : 'It says hello.',
    )
    const config = `
      default_model = "anthropic/one"
      fallback_models = ["other/two"]
      retry { max_retries = 0 }
      providers "anthropic" { api_key = "k" base_url = "${first.url}" models "one" {} }
      providers "other" { api_key = "k" base_url = "${second.url}/v1" models "two" {} }`
    const agent = await Agent.create(config, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, { hostEnv, sandbox: 'off' })
    const stream = await session.stream('Read a.txt')
    const events = await collectAnd(stream, () => {
      down = true
    })
    expect(ofType(events, 'model_fallback').map(({ to }) => to)).toEqual(['other/two', 'other/two'])
    expect(events.at(-1)).toMatchObject({ type: 'agent_end', result: { text: 'It says hello.' } })
    const { messages } = bodyOf(second, 0)
    const call = messages.find(({ tool_calls }) => tool_calls !== undefined)?.tool_calls?.[0]
    expect(messages.find(({ role }) => role === 'tool')?.tool_call_id).toBe(call?.id)
    expect(JSON.stringify(messages)).not.toContain('signed-by-the-first')
    // And back: what the second said is taken by the first.
    down = false
    await session.send('again').catch(() => undefined)
    const sent = first.requests.at(-1)?.body as { messages: { role: string; content: unknown }[] }
    expect(JSON.stringify(sent.messages)).toContain('call_2')
    expect(JSON.stringify(sent.messages)).toContain('signed-by-the-first')
  })

  it('that no provider declares are rejected when the session is created', async () => {
    const { agent, root } = await openSession([])
    expect(() => agent.session(root, { fallbackModels: ['openai/no-such'] })).toThrow(/no-such/)
    expect(() => agent.session(root, { fallbackModels: 'openai/docs-alt' as never })).toThrow(
      /fallbackModels/,
    )
    expect(() => agent.session(root, { retry: { maxRetries: -1 } })).toThrow(/maxRetries/)
  })
})

function half(text: string): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text }, finish_reason: null }] })}\n\n`
}

function textIn(events: readonly { readonly type: string }[]): string {
  return events
    .flatMap((event) => (event.type === 'text_delta' && 'text' in event ? [event.text] : []))
    .join('')
}

type Answer =
  Exclude<Script, readonly unknown[]> extends (...args: never[]) => infer Step ? Awaited<Step> : never

/** Answers by the model that is asked. */
function byModel(answers: Readonly<Record<string, Answer | ((body: ChatBody) => Answer)>>): Script {
  return ({ body }) => {
    const asked = body as unknown as ChatBody
    const answer = answers[asked.model] ?? { status: 404 }
    return typeof answer === 'function' ? answer(asked) : answer
  }
}

function modelsOf({ requests }: ModelServer): string[] {
  return requests.map(({ body }) => (body as unknown as ChatBody).model)
}

/** All events; `then` is called when the first call has ended. */
async function collectAnd(
  stream: Parameters<typeof collect>[0],
  then: () => void,
): ReturnType<typeof collect> {
  const events: Awaited<ReturnType<typeof collect>> = []
  for await (const event of stream) {
    events.push(event)
    if (event.type === 'tool_execution_start') then()
  }
  return events
}
