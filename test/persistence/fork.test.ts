import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { foldSession } from '../../src/store/fold-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
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

const usage = { inputTokens: 10, outputTokens: 1, totalTokens: 11 }
const edit = (from: string, to: string): ScriptedStep => ({
  toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: from, new_string: to } }],
  usage,
})
const said = (text: string): ScriptedStep => ({ text, usage })

describe.each<[string, () => SessionStore | undefined]>([
  ['in files', () => new FileSessionStore(join(base, 'sessions'))],
  ['in memory', () => new MemorySessionStore()],
  ['nowhere', () => undefined],
])('a session that is stored %s', (_, makeStore) => {
  const parent = async (store: SessionStore | undefined) => {
    const asked: string[] = []
    const session = agent.session(work, {
      sessionId: 'parent',
      model: scriptedModel([edit('one', 'two'), said('a1'), said('a2')]),
      ...(store !== undefined && { sessionStore: store }),
      tenantId: 'acme',
      maxToolRounds: 5,
      onAsk: ({ toolName }) => {
        asked.push(toolName)
        return { decision: 'session' }
      },
    })
    await session.send('change it')
    await session.send('and then?')
    return { session, asked }
  }

  it('is forked as a whole: its messages with new ids, labels and options, and no permission', async () => {
    const store = makeStore()
    const { session, asked } = await parent(store)
    expect(asked).toEqual(['edit'])
    const fork = await agent.forkSession(session, {
      sessionId: 'child',
      model: scriptedModel([edit('two', 'three'), said('forked')]),
    })
    expect(fork.history()).toEqual(session.history())
    expect(fork.tenantId).toBe('acme')
    const ids = session.messages().map(({ id }) => id)
    if (store !== undefined) expect(fork.messages().some(({ id }) => ids.includes(id))).toBe(false)
    expect(await fork.runs()).toEqual([])
    // The fork has no approvals: it asks again.
    expect((await fork.send('continue')).text).toBe('forked')
    expect(asked).toEqual(['edit', 'edit'])
    expect(session.history()).toHaveLength(6)
    if (store === undefined) return
    await fork.close()
    const state = foldSession((await store.read('child'))?.records ?? [])
    expect(state.session).toMatchObject({
      parentId: 'parent',
      parentMessageId: ids.at(-1),
      labels: { tenantId: 'acme' },
      options: { maxToolRounds: 5 },
    })
    const kept = state.messages.filter(({ row }) => row.usage !== undefined)
    expect(kept).toHaveLength(5)
  })

  it('is forked at any round, with another prompt and another model', async () => {
    const { session } = await parent(makeStore())
    const [, calls] = session.messages()
    const model = scriptedModel(['another way'])
    // The results of the calls come along: half a round is not a history.
    const fork = await agent.forkSession(session, { fromMessageId: calls?.id ?? '', model })
    expect(fork.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(fork.history()).toEqual(session.history().slice(0, 3))
    expect((await fork.send('do it another way')).text).toBe('another way')
    expect(model.requests[0]?.chatHistory).toHaveLength(4)
    const second = session.messages().find(({ text }) => text === 'and then?')
    const before = await agent.forkSession(session, { beforeMessageId: second?.id ?? '', model })
    expect(before.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    await expect(agent.forkSession(session, { fromMessageId: 'nowhere' })).rejects.toMatchObject({
      code: 'message_not_found',
    })
    await expect(
      agent.forkSession(session, { beforeMessageId: session.messages()[2]?.id ?? '' }),
    ).rejects.toMatchObject({ code: 'fork_point' })
  })

  it('omits hidden messages from a fork, and includes its summary', async () => {
    const long = 'word '.repeat(3_000)
    const store = makeStore()
    const model = scriptedModel([long, 'a2', 'the summary', 'a3', 'a4', 'in the fork'])
    const session = agent.session(work, { model, ...(store !== undefined && { sessionStore: store }) })
    await session.send(`q1 ${long}`)
    await session.send('q2')
    await session.send('/compact')
    await session.send('q3')
    await session.send('q4')
    await session.rewind(session.messages().at(-2)?.id ?? '')
    const fork = await agent.forkSession(session)
    expect(fork.messages().map(({ text }) => text.slice(0, 2))).toEqual(['q1', 'wo', 'q2', 'a2', 'q3', 'a3'])
    await fork.send('q5')
    const asked = JSON.stringify(model.requests.at(-1)?.chatHistory)
    expect(asked).toContain('the summary')
    expect(asked).not.toContain('q4')
    expect(asked.length).toBeLessThan(5_000)
  })

  it('is forked from its store when it is not open', async () => {
    const store = makeStore()
    if (store === undefined) return
    const { session } = await parent(store)
    const history = session.history()
    await session.close()
    const log = await store.open('parent', { holder: 'test', now: () => 0 })
    await log.append([
      { type: 'session', data: { id: 'parent', schemaVersion: 1, updatedAtMs: 0, title: 'Work' } },
    ])
    await log.close()
    const fork = await agent.forkSession('parent', { sessionStore: store, sessionId: 'c1' })
    expect(fork.history()).toEqual(history)
    expect(fork.workspace).toBe(session.workspace)
    await fork.close()
    const state = foldSession((await store.read('c1'))?.records ?? [])
    expect(state.session?.title).toBe('Work (copy)')
    expect(state.session?.rules).toBeUndefined()
    await expect(agent.forkSession('nowhere', { sessionStore: store })).rejects.toMatchObject({
      code: 'session_not_found',
    })
    await expect(agent.forkSession('parent', { sessionStore: store, sessionId: 'c1' })).rejects.toMatchObject(
      { code: 'session_option' },
    )
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('two\n')
  })

  it('is not forked while another process runs it, and reports what was cut off when that process died', async () => {
    const store = makeStore()
    if (store === undefined) return
    const { session } = await parent(store)
    await session.close()
    const log = await store.open('parent', { holder: 'another', now: () => 0 })
    const row = { sessionId: 'parent', createdAtMs: 1 }
    await log.append([
      {
        type: 'run',
        data: {
          id: 'r',
          sessionId: 'parent',
          status: 'running',
          prompt: 'p',
          createdAtMs: 1,
          updatedAtMs: 1,
        },
      },
      { type: 'message', data: { ...row, id: 'm', role: 'assistant', runId: 'r' } },
      {
        type: 'part',
        data: {
          id: 'm.0',
          messageId: 'm',
          sessionId: 'parent',
          index: 0,
          content: { type: 'tool_call', id: 'c', function: { name: 'bash', arguments: { command: 'x' } } },
        },
      },
      {
        type: 'part',
        data: {
          id: 'm.c',
          messageId: 'm',
          sessionId: 'parent',
          index: -1,
          content: {
            type: 'tool_intent',
            callId: 'c',
            toolName: 'bash',
            args: '{}',
            idempotent: false,
            startedAtMs: 1,
          },
        },
      },
    ])
    await expect(agent.forkSession('parent', { sessionStore: store })).rejects.toMatchObject({
      code: 'session_busy',
    })
    await log.close()
    const fork = await agent.forkSession('parent', { sessionStore: store })
    expect(JSON.stringify(fork.history().at(-1))).toContain('interrupted, outcome unknown')
  })
})
