import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { Agent } from '../agent/agent.js'
import { AgentBuilder } from '../agent/builder/agent-builder.js'
import type { AgentEvent } from '../loop/events.js'
import { ModelError } from '../model/errors.js'
import { type ScriptedStep, scriptedModel } from '../testing/scripted-model.js'
import type { AnyTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { isRecord } from '../tool/json.js'
import type { SessionOptions } from './options.js'
import type { Session } from './session.js'
import { readUiApprovals } from './ui-approvals.js'
import type { UiMessageChunk } from './ui-message-chunk.js'
import { toUiMessageChunks, toUiMessageResponse, type UiMessageSource } from './ui-message-stream.js'
import type { UiMessageOptions } from './ui-message-writer.js'

const closing: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function open(
  script: readonly (ScriptedStep | string)[],
  options: SessionOptions = {},
): Promise<Session> {
  const base = temporaryDirectory()
  const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
  closing.push(() => agent.close())
  return agent.session(base, {
    model: scriptedModel(script),
    sandbox: 'off',
    builtinTools: ['todo'],
    permissionPolicy: { allow: ['*'] },
    ...options,
  })
}

function tool(name: string, execute: (args: { n?: number }) => unknown): AnyTool {
  return createJsonTool<{ n?: number }>({
    name,
    description: name,
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    execute,
  })
}
const echo = tool('echo', ({ n }) => `echo ${n}`)

/** Everything that comes, held against what front ends demand. */
async function read(source: UiMessageSource, options?: UiMessageOptions): Promise<UiMessageChunk[]> {
  const chunks: UiMessageChunk[] = []
  for await (const chunk of toUiMessageChunks(source, options)) chunks.push(chunk)
  checkMessage(chunks)
  return chunks
}

function ofType<Type extends UiMessageChunk['type']>(
  chunks: readonly UiMessageChunk[],
  type: Type,
): Extract<UiMessageChunk, { type: Type }>[] {
  return chunks.filter((chunk): chunk is Extract<UiMessageChunk, { type: Type }> => chunk.type === type)
}

const call = (name: string, args: { n?: number }, id: string): ScriptedStep => ({
  toolCalls: [{ name, args, id }],
})

describe('a run as UI message chunks', () => {
  it('is one message with a step, a text and an end', async () => {
    const session = await open(['Hello there'])
    const chunks = await read(await session.stream('hi'), { messageId: 'm1' })
    expect(chunks).toEqual([
      { type: 'start', messageId: 'm1' },
      { type: 'start-step' },
      { type: 'text-start', id: 'text-1-1' },
      { type: 'text-delta', id: 'text-1-1', delta: 'Hello ' },
      { type: 'text-delta', id: 'text-1-1', delta: 'there' },
      { type: 'text-end', id: 'text-1-1' },
      { type: 'finish-step' },
      { type: 'finish', finishReason: 'stop' },
    ])
  })

  it('has the id of the run unless the host gives another', async () => {
    const session = await open(['a'])
    const [start] = await read(await session.stream('hi'))
    expect(start).toEqual({ type: 'start', messageId: (await session.runs())[0]?.id })
  })

  it('shows a call while it is written, complete, and with its result, in the step of its round', async () => {
    const session = await open([call('echo', { n: 7 }, 'c1'), 'done'], { tools: [echo] })
    const chunks = await read(await session.stream('go'))
    const inputs = ofType(chunks, 'tool-input-delta').map(({ inputTextDelta }) => inputTextDelta)
    expect(inputs.join('')).toBe('{"n":7}')
    expect(chunks.filter(({ type }) => type.startsWith('tool-') && type !== 'tool-input-delta')).toEqual([
      { type: 'tool-input-start', toolCallId: 'c1', toolName: 'echo', dynamic: true },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'echo', input: { n: 7 }, dynamic: true },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'echo 7', dynamic: true },
    ])
    const types = chunks.map(({ type }) => type)
    expect(types.indexOf('tool-output-available')).toBeLessThan(types.indexOf('finish-step'))
    expect(types.filter((type) => type === 'start-step')).toHaveLength(2)
  })

  it('shows calls of one round that end in another order than they were written', async () => {
    const released = later()
    const slow = tool('slow', () => released.promise)
    const quick = tool('quick', () => {
      setImmediate(() => released.resolve('late'))
      return 'early'
    })
    const session = await open(
      [
        {
          toolCalls: [
            { name: 'slow', id: 'a' },
            { name: 'quick', id: 'b' },
          ],
        },
        'done',
      ],
      { tools: [slow, quick] },
    )
    const chunks = await read(await session.stream('go'))
    expect(
      ofType(chunks, 'tool-output-available').map(({ toolCallId, output }) => [toolCallId, output]),
    ).toEqual([
      ['b', 'early'],
      ['a', 'late'],
    ])
  })

  it('shows reasoning separately from text, and hides it with sendReasoning false', async () => {
    const step: ScriptedStep = { reasoning: 'hm well', text: 'yes' }
    const shown = await read(await (await open([step])).stream('go'))
    expect(shown.map(({ type }) => type)).toEqual([
      'start',
      'start-step',
      'reasoning-start',
      'reasoning-delta',
      'reasoning-delta',
      'reasoning-end',
      'text-start',
      'text-delta',
      'text-end',
      'finish-step',
      'finish',
    ])
    const hidden = await read(await (await open([step])).stream('go'), { sendReasoning: false })
    expect(JSON.stringify(hidden)).not.toContain('hm')
    expect(hidden.some(({ type }) => type.startsWith('reasoning'))).toBe(false)
  })

  it('shows why a call was denied by a rule', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1'), 'ok'], {
      tools: [echo],
      permissionPolicy: { deny: ['echo'] },
    })
    const chunks = await read(await session.stream('go'))
    expect(ofType(chunks, 'tool-output-error')).toEqual([
      expect.objectContaining({ toolCallId: 'c1', errorText: expect.stringContaining('denied') }),
    ])
  })

  it('asks for approval with the arguments that will run, and writes a rejection as a denial', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1'), 'ok'], {
      tools: [echo],
      permissionPolicy: { ask: ['echo'] },
      confirmationPolicy: { enabled: true },
      middleware: [{ onToolInput: () => ({ args: JSON.stringify({ n: 2 }) }) }],
    })
    const chunks: UiMessageChunk[] = []
    for await (const chunk of toUiMessageChunks(await session.stream('go'))) {
      chunks.push(chunk)
      if (chunk.type === 'tool-approval-request') await session.confirmToolUse(chunk.approvalId, false, 'no')
    }
    checkMessage(chunks)
    expect(ofType(chunks, 'tool-approval-request')).toEqual([
      { type: 'tool-approval-request', approvalId: 'c1', toolCallId: 'c1' },
    ])
    expect(ofType(chunks, 'tool-input-available').map(({ input }) => input)).toEqual([{ n: 1 }, { n: 2 }])
    expect(chunks.find(({ type }) => type === 'data-approval')).toMatchObject({
      id: 'c1',
      data: { toolCallId: 'c1', toolName: 'echo', timeoutMs: 30_000 },
    })
    expect(ofType(chunks, 'tool-output-denied')).toEqual([{ type: 'tool-output-denied', toolCallId: 'c1' }])
  })

  it('writes the text of the time limit when no user answered', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1'), 'ok'], {
      tools: [echo],
      permissionPolicy: { ask: ['echo'] },
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 1 },
    })
    const chunks = await read(await session.stream('go'))
    expect(ofType(chunks, 'tool-output-error')[0]?.errorText).toContain('was not confirmed within')
  })

  it('continues after an approval', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1'), 'ok'], {
      tools: [echo],
      permissionPolicy: { ask: ['echo'] },
      onAsk: () => ({ decision: 'once' }),
    })
    const chunks = await read(await session.stream('go'))
    expect(ofType(chunks, 'tool-approval-request')).toHaveLength(1)
    expect(ofType(chunks, 'tool-output-available')[0]?.output).toBe('echo 1')
  })

  it('writes arguments that cannot be parsed as an error of the input', async () => {
    const session = await open([{ toolCalls: [{ name: 'echo', input: '{"n": ', id: 'c1' }] }, 'ok'], {
      tools: [echo],
    })
    const chunks = await read(await session.stream('go'))
    expect(ofType(chunks, 'tool-input-error')).toEqual([
      expect.objectContaining({
        toolCallId: 'c1',
        input: '{"n": ',
        errorText: expect.stringContaining('JSON'),
      }),
    ])
  })

  it('ends calls that were never run', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1')], { tools: [echo], maxToolRounds: 0 })
    const chunks = await read(await session.stream('go'))
    expect(ofType(chunks, 'tool-input-error')).toEqual([
      expect.objectContaining({ toolCallId: 'c1', input: { n: 1 } }),
    ])
    expect(ofType(chunks, 'error')[0]?.errorText).toContain('maxToolRounds')
  })

  it('shows errors that were written for users, and of other errors only that they happened', async () => {
    const known = new ModelError('model_unavailable', 'The provider is down.')
    const shown = await read(await (await open([{ text: 'so ', error: known }])).stream('go'))
    expect(shown.slice(-3)).toEqual([
      { type: 'finish-step' },
      { type: 'error', errorText: 'The provider is down.' },
      { type: 'finish', finishReason: 'error' },
    ])
    const secret = new Error('connect to db-internal as root failed')
    const masked = await read(await (await open([{ error: secret }])).stream('go'))
    expect(ofType(masked, 'error')).toHaveLength(1)
    expect(JSON.stringify(masked)).not.toContain('db-internal')
    const worded = await read(await (await open([{ error: secret }])).stream('go'), {
      describeError: ({ error }) => `Reported: ${error}`,
    })
    expect(ofType(worded, 'error')[0]?.errorText).toBe(`Reported: ${secret.message}`)
  })

  it('writes the finish reason of a filtered answer', async () => {
    const session = await open([{ text: 'I will not.', finish: 'content_filter' }])
    expect((await read(await session.stream('go'))).at(-1)).toEqual({
      type: 'finish',
      finishReason: 'content-filter',
    })
  })

  it('ends with an abort when the run is cancelled, and closes what was open', async () => {
    const session = await open([{ text: 'so far', hang: true }])
    const chunks: UiMessageChunk[] = []
    for await (const chunk of toUiMessageChunks(await session.stream('go'))) {
      chunks.push(chunk)
      if (chunk.type === 'text-delta' && chunk.delta === 'far') session.cancel()
    }
    checkMessage(chunks)
    expect(chunks.slice(-3).map(({ type }) => type)).toEqual(['text-end', 'finish-step', 'abort'])
  })

  it('shows the plan, and replaces the one before', async () => {
    const todos = (status: string): ScriptedStep => ({
      toolCalls: [{ name: 'todo', args: { todos: [{ content: 'dig', status }] } }],
    })
    const session = await open([todos('in_progress'), todos('completed'), 'done'])
    const chunks = await read(await session.stream('go'))
    expect(chunks.filter(({ type }) => type === 'data-plan')).toEqual([
      { type: 'data-plan', id: 'plan', data: { todos: [{ content: 'dig', status: 'in_progress' }] } },
      { type: 'data-plan', id: 'plan', data: { todos: [{ content: 'dig', status: 'completed' }] } },
    ])
  })

  it('shows the answer of a command, which has no round', async () => {
    const session = await open([], {
      commands: [{ name: 'hail', description: 'hails', handler: () => 'ahoy' }],
    })
    const chunks = await read(await session.stream('/hail'))
    expect(ofType(chunks, 'text-delta')[0]?.delta).toBe('ahoy')
  })

  it('ends with an error message when its source fails', async () => {
    async function* broken(): AsyncGenerator<AgentEvent> {
      yield { type: 'text_delta', text: 'a' }
      throw new Error('socket 10.0.0.7 gone')
    }
    const chunks = await read(broken())
    expect(chunks.slice(-2).map(({ type }) => type)).toEqual(['error', 'finish'])
    expect(JSON.stringify(chunks)).not.toContain('10.0.0.7')
  })

  it('is complete for every list of events, also one that begins in the middle', async () => {
    const id = fc.constantFrom('a', 'b')
    const some = fc.oneof(
      fc.record({ type: fc.constant('agent_start' as const), runId: id, prompt: fc.constant('') }),
      fc.record({ type: fc.constant('turn_start' as const), turn: fc.constantFrom(1, 2) }),
      fc.record({
        type: fc.constantFrom('text_delta' as const, 'reasoning_delta' as const),
        text: fc.string(),
      }),
      fc.record({ type: fc.constant('tool_start' as const), toolId: id, toolName: fc.constant('t') }),
      fc.record({ type: fc.constant('tool_input_delta' as const), toolId: id, text: fc.constant('{') }),
      fc.record({
        type: fc.constant('tool_execution_start' as const),
        toolId: id,
        toolName: fc.constant('t'),
        args: fc.constantFrom('{}', '{"a":1}', '{"a'),
      }),
      fc.record({
        type: fc.constant('tool_end' as const),
        toolId: id,
        toolName: fc.constant('t'),
        toolOutput: fc.string(),
        exitCode: fc.constant(0),
        isError: fc.boolean(),
        metadata: fc.constant({ duration_ms: 0 }),
      }),
      fc.record({
        type: fc.constant('confirmation_required' as const),
        toolId: id,
        toolName: fc.constant('t'),
        args: fc.constantFrom({}, { a: 1n }, undefined),
        reasons: fc.constant([]),
      }),
      fc.record({
        type: fc.constant('confirmation_received' as const),
        toolId: id,
        approved: fc.boolean(),
      }),
      fc.record({
        type: fc.constant('confirmation_timeout' as const),
        toolId: id,
        actionTaken: fc.constantFrom('rejected' as const, 'auto_approved' as const),
      }),
      fc.record({ type: fc.constant('task_updated' as const), tasks: fc.constant([]) }),
      fc.record({ type: fc.constant('events_missed' as const), count: fc.nat() }),
      fc.record({ type: fc.constant('error' as const), error: fc.string() }),
      fc.record({ type: fc.constant('agent_cancelled' as const), reason: fc.string() }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 30 }), async (events) => {
        await read(listed(events))
      }),
    )
  })

  it('is the same for the same events', async () => {
    const session = await open([{ reasoning: 'r', text: 't', toolCalls: [{ name: 'echo' }] }, 'end'], {
      tools: [echo],
    })
    const first = await read(await session.stream('go'))
    const [run] = await session.runs()
    expect(await read(session.watch(run?.id ?? ''))).toEqual(first)
  })
})

describe('leaving a UI message stream early', () => {
  const hanging: ScriptedStep = { text: 'working', hang: true }

  it('cancels the run that the stream owns, although no event is coming', async () => {
    const session = await open([hanging])
    const chunks = toUiMessageChunks(await session.stream('go'))
    for (let type = ''; type !== 'text-delta'; ) type = (await chunks.next()).value?.type ?? 'text-delta'
    const waiting = chunks.next()
    await chunks.return?.()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(await chunks.next()).toEqual({ value: undefined, done: true })
    await session.close()
    expect((await session.runs())[0]?.status).toBe('cancelled')
  })

  it('cancels it from within a loop', async () => {
    const session = await open([hanging, 'next'])
    for await (const chunk of toUiMessageChunks(await session.stream('go')))
      if (chunk.type === 'text-delta') break
    expect((await session.send('again')).text).toBe('next')
    expect((await session.runs())[0]?.status).toBe('cancelled')
  })

  it('does not wait for a source that cannot stop before its next event', async () => {
    async function* silent(): AsyncGenerator<AgentEvent> {
      yield { type: 'turn_start', turn: 1 }
      await new Promise(() => undefined)
    }
    const chunks = toUiMessageChunks(silent())
    expect((await chunks.next()).value).toEqual({ type: 'start' })
    expect((await chunks.next()).value).toEqual({ type: 'start-step' })
    const waiting = chunks.next()
    await new Promise((resolve) => setImmediate(resolve))
    await chunks.return?.()
    expect((await waiting).done).toBe(true)
  })

  it('does not cancel a run that is only watched', async () => {
    const released = later()
    const slow = tool('slow', () => released.promise)
    const session = await open([{ toolCalls: [{ name: 'slow', id: 'a' }] }, 'done'], { tools: [slow] })
    const owner = await session.stream('go')
    const [run] = await session.runs()
    const chunks = toUiMessageChunks(session.watch(run?.id ?? ''))
    for (let type = ''; type !== 'tool-input-available'; ) type = (await chunks.next()).value?.type ?? type
    const waiting = chunks.next()
    await chunks.return?.()
    expect((await waiting).done).toBe(true)
    released.resolve('now')
    const types: string[] = []
    for await (const { type } of owner) types.push(type)
    expect(types.at(-1)).toBe('agent_end')
  })
})

describe('a response that ends at an approval', () => {
  const asking = (): Promise<Session> =>
    open([{ text: 'so', toolCalls: [{ name: 'echo', args: { n: 1 }, id: 'c1' }] }, 'done'], {
      tools: [echo],
      permissionPolicy: { ask: ['echo'] },
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 60_000 },
    })
  const all = async (source: UiMessageSource, options: UiMessageOptions = {}): Promise<UiMessageChunk[]> => {
    const chunks: UiMessageChunk[] = []
    for await (const chunk of toUiMessageChunks(source, { endAtApproval: true, ...options }))
      chunks.push(chunk)
    return chunks
  }
  const places = async (session: Session): Promise<{ runId: string; sequence: number }> => {
    const runId = (await session.runs())[0]?.id ?? ''
    const events = await session.runEvents(runId)
    const sequence = events.find(({ event }) => event.type === 'confirmation_required')?.sequence ?? 0
    return { runId, sequence }
  }

  it('leaves the run active, and says where it continues', async () => {
    for (const from of ['stream', 'watch']) {
      const session = await asking()
      const stream = await session.stream('go')
      const run = await session.currentRun()
      const chunks = await all(from === 'stream' ? stream : session.watch(run?.id ?? ''))
      const { runId, sequence } = await places(session)
      expect(chunks.slice(-4)).toEqual([
        { type: 'tool-approval-request', approvalId: 'c1', toolCallId: 'c1' },
        { type: 'data-paused', id: 'paused', data: { runId, sequence } },
        { type: 'finish-step' },
        { type: 'finish', finishReason: 'tool-calls' },
      ])
      expect((await session.currentRun())?.status).toBe('running')
      expect(await session.confirmToolUse('c1', true)).toBe(true)
      const rest = await all(session.watch(runId, { from: sequence }), { messageId: 'm' })
      expect(rest.map(({ type }) => type)).toEqual([
        'start',
        'tool-output-available',
        'start-step',
        'text-start',
        'text-delta',
        'text-end',
        'finish-step',
        'finish',
      ])
      expect(rest[0]).toEqual({ type: 'start', messageId: 'm' })
    }
  })

  it('continues also when the earlier events are no longer stored', async () => {
    const session = await asking()
    await all(await session.stream('go'))
    const { runId, sequence } = await places(session)
    await session.confirmToolUse('c1', true)
    async function* passedOn() {
      yield* session.watch(runId, { from: sequence })
    }
    const types = (await all(passedOn())).map(({ type }) => type)
    expect(types.slice(0, 3)).toEqual(['start', 'tool-output-available', 'start-step'])
  })

  it('counts pieces of text that were merged for a slow reader', async () => {
    const session = await open(
      [{ text: 'word '.repeat(2_000), toolCalls: [{ name: 'echo', args: { n: 1 }, id: 'c1' }] }, 'done'],
      {
        tools: [echo],
        permissionPolicy: { ask: ['echo'] },
        confirmationPolicy: { enabled: true, defaultTimeoutMs: 60_000 },
      },
    )
    const stream = await session.stream('go')
    await expect.poll(() => session.pendingConfirmations().length).toBe(1)
    const chunks = await all(stream)
    expect(chunks.find(({ type }) => type === 'data-paused')).toMatchObject({ data: await places(session) })
  })

  it('reports that a source has no events', async () => {
    async function* texts(): AsyncGenerator<AgentEvent> {
      yield 'text' as never
    }
    expect((await all(texts())).map(({ type }) => type)).toEqual(['start', 'error', 'finish'])
  })

  it('finds the answers in the messages of the next request, and nothing in others', () => {
    const paused = { type: 'data-paused', data: { runId: 'r', sequence: 7 } }
    const part = (state: string, approval: unknown) => ({ type: 'dynamic-tool', state, approval })
    const answered = part('approval-responded', { id: 'c1', approved: false, reason: 'no' })
    const message = (...parts: unknown[]) => ({ id: 'm', role: 'assistant', parts })
    expect(readUiApprovals([{ role: 'user', parts: [] }, message(paused, answered)])).toEqual({
      runId: 'r',
      sequence: 7,
      messageId: 'm',
      answers: [{ approvalId: 'c1', approved: false, reason: 'no' }],
    })
    const others: unknown[] = [
      undefined,
      [],
      [null],
      [message(paused, answered), { role: 'user', parts: [] }],
      [message(answered)],
      [message(paused)],
      [message(paused, part('approval-requested', { id: 'c1' }))],
      [message(paused, part('approval-responded', { id: 'c1', approved: 'yes' }))],
      [message({ ...paused, data: { runId: 'r', sequence: 'x' } }, answered)],
    ]
    for (const messages of others) expect(readUiApprovals(messages)).toBeUndefined()
  })
})

describe('the prompt of a built agent as UI message chunks', () => {
  const built = (...script: (ScriptedStep | string)[]) =>
    new AgentBuilder('chatty', scriptedModel(script)).tool(echo).build()

  it('has its reasoning, texts, calls and end', async () => {
    const agent = built(
      { reasoning: 'hm', text: 'a', toolCalls: [{ name: 'echo', args: { n: 1 }, id: 'c1' }] },
      'b',
    )
    const chunks = await read(agent.prompt('go').stream())
    expect(ofType(chunks, 'reasoning-delta').map(({ delta }) => delta)).toEqual(['hm'])
    expect(ofType(chunks, 'text-delta').map(({ delta }) => delta)).toEqual(['a', 'b'])
    expect(ofType(chunks, 'tool-input-available').map(({ input }) => input)).toEqual([{ n: 1 }])
    expect(ofType(chunks, 'tool-output-available').map(({ output }) => output)).toEqual(['echo 1'])
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
  })

  it('shows an error of Capstan, and of other errors only that they happened', async () => {
    const known = new ModelError('model_unavailable', 'The provider is down.')
    const shown = await read(built({ error: known }).prompt('go').stream())
    expect(ofType(shown, 'error')).toEqual([{ type: 'error', errorText: 'The provider is down.' }])
    const masked = await read(
      built({ error: new Error('db-internal') })
        .prompt('go')
        .stream(),
    )
    expect(ofType(masked, 'error')).toHaveLength(1)
    expect(JSON.stringify(masked)).not.toContain('db-internal')
  })
})

describe('a run as a response', () => {
  it('is sent over HTTP as server-sent events, up to the end mark', async () => {
    const session = await open([call('echo', { n: 1 }, 'c1'), 'two\nlines'], { tools: [echo] })
    const url = await serve(async () => toUiMessageResponse(await session.stream('go'), { messageId: 'm' }))
    const response = await fetch(url)
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('cache-control')).toBe('no-cache')
    const lines = (await response.text()).split('\n\n')
    expect(lines.slice(-2)).toEqual(['data: [DONE]', ''])
    const chunks = lines.slice(0, -2).map((line) => JSON.parse(line.slice('data: '.length)) as UiMessageChunk)
    checkMessage(chunks)
    expect(
      ofType(chunks, 'text-delta')
        .map(({ delta }) => delta)
        .join(''),
    ).toBe('two\nlines')
  })

  it('cancels the run when the client disconnects', async () => {
    const session = await open([{ text: 'working', hang: true }])
    const stream = await session.stream('go')
    const url = await serve(async () => toUiMessageResponse(stream))
    const controller = new AbortController()
    const response = await fetch(url, { signal: controller.signal })
    const reader = response.body?.getReader()
    await reader?.read()
    controller.abort()
    const [run] = await session.runs()
    for await (const { event } of session.watch(run?.id ?? ''))
      if (event.type === 'agent_cancelled') expect(event.reason).toContain('its reader left')
    expect((await session.runs())[0]?.status).toBe('cancelled')
  })
})

/** A promise and what settles it. */
function later(): { promise: Promise<string>; resolve(value: string): void } {
  let resolve: (value: string) => void = () => undefined
  const promise = new Promise<string>((settle) => {
    resolve = settle
  })
  return { promise, resolve: (value) => resolve(value) }
}

async function* listed(events: readonly AgentEvent[]): AsyncGenerator<AgentEvent> {
  yield* events
}

/** A server that answers each request with what the function gives. */
async function serve(answer: () => Promise<Response>): Promise<string> {
  const server: Server = createServer(async (_request, outgoing) => {
    const { status, headers, body } = await answer()
    outgoing.writeHead(status, Object.fromEntries(headers))
    if (body !== null) await pipeline(Readable.fromWeb(body as never), outgoing).catch(() => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const address = server.address()
  if (!isRecord(address)) throw new Error('the server has no address')
  return `http://127.0.0.1:${address['port']}/`
}

/** The fields of each chunk: those it must have, and those it may have. */
const shapes: Readonly<Record<string, readonly [must: readonly string[], may?: readonly string[]]>> = {
  start: [[], ['messageId', 'messageMetadata']],
  'start-step': [[]],
  'finish-step': [[]],
  'text-start': [['id']],
  'text-delta': [['id', 'delta']],
  'text-end': [['id']],
  'reasoning-start': [['id']],
  'reasoning-delta': [['id', 'delta']],
  'reasoning-end': [['id']],
  'tool-input-start': [['toolCallId', 'toolName'], ['dynamic']],
  'tool-input-delta': [['toolCallId', 'inputTextDelta']],
  'tool-input-available': [['toolCallId', 'toolName', 'input'], ['dynamic']],
  'tool-input-error': [['toolCallId', 'toolName', 'input', 'errorText'], ['dynamic']],
  'tool-approval-request': [['approvalId', 'toolCallId']],
  'tool-output-available': [
    ['toolCallId', 'output'],
    ['dynamic', 'preliminary'],
  ],
  'tool-output-error': [['toolCallId', 'errorText'], ['dynamic']],
  'tool-output-denied': [['toolCallId']],
  error: [['errorText']],
  abort: [[], ['reason']],
  finish: [[], ['finishReason', 'messageMetadata']],
}
const strings = [
  'id',
  'delta',
  'toolCallId',
  'toolName',
  'inputTextDelta',
  'errorText',
  'approvalId',
  'reason',
]

/** What a front end demands: the fields of each chunk and no others, in an order in which nothing is missing. */
function checkMessage(given: readonly UiMessageChunk[]): void {
  let step = false
  const texts = new Set<string>()
  const tools = new Map<string, 'written' | 'whole' | 'ended'>()
  for (const [at, one] of given.entries()) {
    // As it comes out at the other end of a wire.
    const chunk = JSON.parse(JSON.stringify(one)) as Record<string, unknown>
    const type = String(chunk['type'])
    const [must, may = []] = type.startsWith('data-') ? [['data'], ['id', 'transient']] : (shapes[type] ?? [])
    if (must === undefined) throw new Error(`unknown chunk ${type}`)
    const names = Object.keys(chunk).filter((name) => name !== 'type')
    const where = `chunk ${at} of ${JSON.stringify(given.map((each) => each.type))}`
    expect(names, where).toEqual(expect.arrayContaining([...must]))
    expect([...must, ...may], where).toEqual(expect.arrayContaining(names))
    for (const name of strings)
      if (name in chunk) expect(typeof chunk[name], `${name} of ${where}`).toBe('string')

    expect(type === 'start', where).toBe(at === 0)
    const text = String(chunk['id'])
    const id = String(chunk['toolCallId'])
    if (type === 'start-step' || type === 'finish-step') {
      expect(step, where).toBe(type === 'finish-step')
      expect(texts.size, where).toBe(0)
      step = type === 'start-step'
    } else if (/^(text|reasoning)-/.test(type)) {
      const kind = `${type.split('-')[0]} ${text}`
      expect(texts.has(kind), where).toBe(!type.endsWith('start'))
      if (type.endsWith('start')) texts.add(kind)
      if (type.endsWith('end')) texts.delete(kind)
      expect(step, where).toBe(true)
    } else if (type.startsWith('tool-')) {
      expect(step, where).toBe(true)
      if (type === 'tool-input-start') tools.set(id, 'written')
      else if (type === 'tool-input-delta') expect(tools.get(id), where).toBe('written')
      else if (type === 'tool-input-available') tools.set(id, 'whole')
      else if (type === 'tool-approval-request') expect(tools.get(id), where).toBe('whole')
      else {
        if (type !== 'tool-input-error') expect(tools.get(id), where).toBe('whole')
        tools.set(id, 'ended')
      }
    } else if (type === 'finish' || type === 'abort') {
      expect(at, where).toBe(given.length - 1)
    }
  }
  expect(step).toBe(false)
  expect([...texts]).toEqual([])
  expect([...tools.values()].filter((state) => state !== 'ended')).toEqual([])
}
