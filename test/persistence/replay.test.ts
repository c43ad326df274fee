import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import {
  type ReplayOptions,
  type ReplayStep,
  replaySession,
} from '../../src/session/replay/replay-session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { blobDigests, foldSession } from '../../src/store/fold-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionState } from '../../src/store/session-state.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { recordedModel } from '../../src/testing/index.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import type { Message } from '../../src/tool/completion.js'
import { openAgentPlace } from './open-agent.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace({ 'a.txt': 'one\n' })
  base = place.base
  work = place.work
  agent = place.agent
})

const read: ScriptedStep = { text: 'looking', toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }
const both: ScriptedStep = {
  toolCalls: [
    { name: 'read', args: { file_path: 'a.txt' } },
    { name: 'read', args: { file_path: 'missing.txt' } },
  ],
}

async function stateOf(store: SessionStore): Promise<SessionState> {
  const records = (await store.read('s'))?.records ?? []
  const blobs = new Map<string, Uint8Array | undefined>()
  for (const digest of blobDigests(records)) blobs.set(digest, await store.readBlob('s', digest))
  return foldSession(records, { readBlob: (digest) => blobs.get(digest) })
}

async function steps(source: SessionState, options?: ReplayOptions): Promise<ReplayStep[]> {
  const all: ReplayStep[] = []
  for await (const step of replaySession(source, options)) all.push(step)
  return all
}

const wrongSources: readonly [what: string, source: () => unknown][] = [
  ['nothing', () => undefined],
  ['null', () => null],
  ['a text', () => 'session-1'],
  ['a number', () => 7],
  ['an empty object', () => ({})],
  ['the records of a log', () => [{ type: 'session', data: {} }]],
  ['what a store gives', () => ({ records: [] })],
  ['an order that is not a list', () => ({ order: 'a' })],
  ['an order of messages without rows', () => ({ order: [{ role: 'user', content: [] }] })],
  ['messages with a text for their content', () => [{ role: 'user', content: 'hi' }]],
  ['a role that is not known', () => [{ role: 'human', content: [] }]],
  ['no role', () => [{ content: [{ type: 'text', text: 'hi' }] }]],
  [
    'parts of another API',
    () => [{ role: 'assistant', content: [{ type: 'tool_use', id: 'x', name: 'read' }] }],
  ],
  ['a list with holes', () => [undefined]],
]
describe('a source of the wrong shape', () => {
  it.each(wrongSources)('is rejected: %s', (_, source) => {
    expect(() => replaySession(source() as never)).toThrow(/^A recording is a session/)
    expect(() => recordedModel(source() as never)).toThrow(/^A recording is a session/)
  })

  it('is rejected when it is an open session or its history, and the error names the message', async () => {
    const session = agent.session(work, { model: scriptedModel([read, 'done']) })
    await session.send('look')
    expect(() => replaySession(session as never)).toThrow(TypeError)
    expect(() => replaySession(session.history() as never)).toThrow(/but message 2 has a part 2/)
  })

  it('ends, whatever the order of its messages is', async () => {
    const user: Message = { role: 'user', content: [{ type: 'text', text: 'a' }] }
    const says: Message = { role: 'assistant', content: [{ type: 'text', text: 'b' }] }
    const empty: Message = { role: 'assistant', content: [] }
    const result: Message = { role: 'tool', content: [{ type: 'tool_result', id: 'x', content: [] }] }
    for (const source of [
      [],
      [says],
      [empty],
      [result],
      [result, says],
      [says, says],
      [user, user],
      [user, empty, says],
    ]) {
      const found: ReplayStep[] = []
      for await (const step of replaySession(source)) found.push(step)
      expect(found.at(-1)?.type).toMatch(/^(end|difference)$/)
    }
  })
})

/** The same session with another text in one of its messages. */
function changed(state: SessionState, position: number, change: (message: Message) => Message): SessionState {
  const target = state.messages[position]
  const order = state.order.map((one) => (one === target ? { ...one, message: change(one.message) } : one))
  return { ...state, order }
}

describe.each<[string, () => SessionStore]>([
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['memory', () => new MemorySessionStore()],
])('a session recorded in %s', (_, makeStore) => {
  const record = async (script: (ScriptedStep | string)[], prompts: string[]) => {
    const store = makeStore()
    const session = agent.session(work, { sessionId: 's', sessionStore: store, model: scriptedModel(script) })
    for (const prompt of prompts) await session.send(prompt)
    await session.close()
    return stateOf(store)
  }

  it('runs again from its own log, step by step and without any effect', async () => {
    const state = await record([read, both, 'first', 'second'], ['one', 'two'])
    await rm(work, { recursive: true })
    const all = await steps(state)
    expect(all.at(-1)).toEqual({ type: 'end', messages: 8 })
    const replayed = all.flatMap((step) => (step.type === 'message' ? [step.message] : []))
    expect(replayed).toEqual(state.messages.map(({ message }) => message))
    expect(all[0]).toMatchObject({ position: 0, messageId: state.messages[0]?.id })
    // Nothing continues without a reader.
    const reader = replaySession(state)
    expect(await reader.next()).toMatchObject({ value: { position: 0 } })
    expect(await reader.next()).toMatchObject({ value: { position: 1 } })
    await reader.return()
    expect(await reader.next()).toEqual({ value: undefined, done: true })
    await mkdir(work)
  })

  it('starts at the given record', async () => {
    const state = await record(['first', 'second'], ['one', 'two'])
    const from = state.messages[2]?.id ?? ''
    const all = await steps(state, { from })
    expect(all).toMatchObject([{ position: 2 }, { position: 3 }, { type: 'end', messages: 4 }])
    await expect(steps(state, { from: 'nowhere' })).rejects.toMatchObject({ code: 'message_not_found' })
  })

  it('replays summaries, steering, empty answers and interrupted runs', async () => {
    const long = 'word '.repeat(3_000)
    const store = makeStore()
    const session = agent.session(work, {
      sessionId: 's',
      sessionStore: store,
      model: scriptedModel([
        long,
        'short',
        'the summary',
        read,
        {},
        'after all',
        { ...read, delayMs: 1 },
        'steered',
        { text: 'half', hang: true },
      ]),
    })
    await session.send(`q1 ${long}`)
    await session.send('q2')
    await session.send('/compact')
    await session.send('q3')
    const stream = await session.stream('q4')
    for await (const event of stream)
      if (event.type === 'turn_start' && event.turn === 1) session.steer('quick')
    const last = await session.stream('q5')
    for await (const event of last) if (event.type === 'text_delta') session.cancel()
    await session.close()
    const state = await stateOf(store)
    const all = await steps(state)
    expect(all.filter(({ type }) => type === 'difference')).toEqual([])
    expect(all.at(-1)).toEqual({ type: 'end', messages: state.messages.length })
    expect(JSON.stringify(all)).toContain('Your last answer was empty')
    // A model that is held against it sees what the other saw then: the summary.
    const from = state.messages.find(({ message }) => JSON.stringify(message).includes('"q3"'))?.id ?? ''
    const model = scriptedModel(['something else'])
    expect((await steps(state, { from, model })).at(-1)).toMatchObject({ type: 'difference' })
    const asked = JSON.stringify(model.requests[0]?.chatHistory)
    expect(asked).toContain('the summary')
    expect(asked).not.toContain('word word')
    expect(JSON.stringify(all)).toContain('quick')
  })

  it('replays a call that waited for its approval over a restart', async () => {
    const store = makeStore()
    const open = (model: SessionOptions['model']) =>
      agent.session(work, {
        sessionId: 's',
        sessionStore: store,
        permissionPolicy: { ask: ['read'] },
        confirmationPolicy: { enabled: true, defaultTimeoutMs: 3_600_000 },
        ...(model !== undefined && { model }),
      })
    const first = open(scriptedModel([read]))
    let runId = ''
    for await (const event of await first.stream('look')) {
      if (event.type === 'agent_start') runId = event.runId
      if (event.type === 'confirmation_required') void first.suspend()
    }
    await first.suspend()
    const second = open(scriptedModel(['seen', 'and on']))
    await second.confirmToolUse(second.pendingConfirmations()[0]?.toolId ?? '', true)
    await second.resumeRun(runId)
    await second.send('next')
    await second.close()
    const state = await stateOf(store)
    expect(state.messages.map(({ message }) => message.role)).toEqual([
      ...['user', 'assistant', 'tool', 'assistant'],
      ...['user', 'assistant'],
    ])
    expect((await steps(state)).at(-1)).toEqual({ type: 'end', messages: 6 })
  })

  it('stops at the first difference of another model and reports its position', async () => {
    const state = await record([read, 'It says one.', 'more'], ['what?', 'and?'])
    const same = scriptedModel([
      {
        text: 'looking',
        reasoning: 'hm',
        toolCalls: [{ id: 'own', name: 'read', args: { file_path: 'a.txt' } }],
      },
      'It says two.',
    ])
    const all = await steps(state, { model: same })
    expect(all.map(({ type }) => type)).toEqual(['message', 'message', 'message', 'difference'])
    const last = all.at(-1)
    expect(last).toMatchObject({
      difference: {
        position: 3,
        messageId: state.messages[3]?.id,
        words:
          'Message 4 (assistant) differs at content[0].text: expected "It says one.", found "It says two.".',
      },
    })
  })

  it('answers a real session, and rejects requests that it was not sent then', async () => {
    const state = await record([read, 'It says one.'], ['what?'])
    const session = agent.session(work, { model: recordedModel(state) })
    expect((await session.send('what?')).text).toBe('It says one.')
    await expect(session.send('more?')).rejects.toThrow(/^Message 5: nothing more was recorded/)

    await writeFile(join(work, 'a.txt'), 'two\n')
    const other = agent.session(work, { model: recordedModel(state) })
    await expect(other.send('what?')).rejects.toMatchObject({
      code: 'replay_difference',
      message: expect.stringMatching(
        /^Message 3 \(tool\) differs at content\[0\]\.content\[0\]\.text: expected .*one/,
      ),
    })
    const asked = agent.session(work, { model: recordedModel(state) })
    await expect(asked.send('what else?')).rejects.toThrow(
      'Message 1 (user) differs at content[0].text: expected "what?", found "what else?".',
    )
    const loose = agent.session(work, { model: recordedModel(state, { check: false }) })
    expect((await loose.send('anything')).text).toBe('It says one.')
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('two\n')
  })

  it('reports a recording that was changed', async () => {
    const state = await record([read, 'first', 'second'], ['one', 'two'])
    const without = { ...state, order: state.order.filter((_one, at) => at !== 2) }
    expect((await steps(without)).at(-1)).toMatchObject({
      type: 'difference',
      difference: { position: 2, expected: { role: 'assistant' }, found: { role: 'tool' } },
    })
    const more = changed(state, 2, (message) =>
      message.role === 'tool' ? { ...message, content: [...message.content, ...message.content] } : message,
    )
    expect((await steps(more)).at(-1)).toMatchObject({ type: 'difference', difference: { position: 2 } })
  })
})
