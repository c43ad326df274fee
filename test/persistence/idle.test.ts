import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { kernelOf } from '../../src/session/session-class.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { openAgentPlace } from './open-agent.js'

const note = 'Ä “quoted” line, 😀\n'.repeat(40)
let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace({ 'a.txt': 'one\n', 'note.txt': note })
  base = place.base
  work = place.work
  agent = place.agent
})

const read: ScriptedStep = {
  text: 'I read it.',
  toolCalls: [{ name: 'read', args: { file_path: 'note.txt' } }],
  usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 },
}
const edit: ScriptedStep = {
  toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } }],
}
const script = (): (ScriptedStep | string)[] => [
  read,
  { toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] },
  edit,
  'First answer.',
  'Second answer.',
]

/** Everything that a host can read of the runs so far. */
async function readAll(session: Session) {
  const runs = await session.runs()
  return {
    history: session.history(),
    messages: session.messages(),
    runs,
    events: await Promise.all(runs.map(({ id }) => session.runEvents(id))),
    trace: session.traceEvents(),
    spending: session.spending(),
    changes: await session.changes(),
    hooks: session.hookStatus(),
  }
}

function rest(session: Session): void {
  const { conversation } = kernelOf(session).log
  const before = conversation.messages
  kernelOf(session).takeTurn()
  // The messages were dropped, and are created again for this comparison.
  expect(conversation.messages).not.toBe(before)
  kernelOf(session).takeTurn()
}

describe.each<[string, () => SessionStore | undefined]>([
  ['in files', () => new FileSessionStore(join(base, 'sessions'))],
  ['in SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
  ['nowhere', () => undefined],
])('an idle session that is stored %s', (_, makeStore) => {
  const open = (store: SessionStore | undefined, more: SessionOptions = {}) => {
    const model = scriptedModel(script())
    const session = agent.session(work, {
      sessionId: 's',
      model,
      onAsk: () => ({ decision: 'once' }),
      hooks: [{ id: 'watch', event: 'pre_tool_use', handler: () => undefined }],
      ...(store !== undefined && { sessionStore: store }),
      ...more,
    })
    return { session, model }
  }

  it('reads the same afterwards, and sends the same history with its next run', async () => {
    const { session, model } = open(makeStore())
    await session.send('Change it.')
    const before = await readAll(session)
    expect(before.hooks).toMatchObject([{ id: 'watch', runs: 3 }])
    rest(session)
    expect(await readAll(session)).toStrictEqual(before)
    rest(session)
    const sent = kernelOf(session).log.conversation.messages
    expect((await session.send('And then?')).text).toBe('Second answer.')
    expect(model.requests.at(-1)?.chatHistory).toEqual([
      ...sent.slice(0, 8),
      { role: 'user', content: [{ type: 'text', text: 'And then?' }] },
    ])
    expect(session.history().slice(0, before.history.length)).toStrictEqual(before.history)
    expect((await session.runs()).map(({ status }) => status)).toEqual(['completed', 'completed'])
  })

  it('replays the events of its run from any position', async () => {
    const { session } = open(makeStore())
    const { runId } = await session.send('Change it.')
    const before = await session.runEvents(runId)
    rest(session)
    const watched = []
    for await (const event of kernelOf(session).runs.get(runId)?.events.watch(3) ?? []) watched.push(event)
    expect(watched).toStrictEqual(before.slice(3))
  })

  it('is forked with its messages', async () => {
    const { session } = open(makeStore())
    await session.send('Change it.')
    const history = session.history()
    rest(session)
    const fork = await agent.forkSession(session, { sessionId: 'fork', model: scriptedModel(['forked']) })
    expect(fork.history()).toStrictEqual(history)
    expect((await fork.send('continue')).text).toBe('forked')
  })

  it('undoes its file changes, and rewinds', async () => {
    const { session } = open(makeStore())
    await session.send('Change it.')
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('two\n')
    rest(session)
    await session.undo()
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('one\n')
    rest(session)
    await session.rewind(session.messages()[0]?.id ?? '')
    expect(session.history()).toEqual([])
    expect(await session.unrewind()).toBeGreaterThan(0)
    expect(session.history()).toHaveLength(8)
  })
})

it('an idle session is resumed elsewhere with what its run had recorded', async () => {
  const sessionStore = new FileSessionStore(join(base, 'sessions'))
  const options: SessionOptions = { sessionId: 's', sessionStore, onAsk: () => ({ decision: 'once' }) }
  const session = agent.session(work, { ...options, model: scriptedModel(script()) })
  await session.send('Change it.')
  const messages = session.messages()
  const history = session.history()
  const first = kernelOf(session).log.conversation.messages
  // By itself, after a second.
  await vi.waitFor(() => expect(kernelOf(session).log.conversation.messages).not.toBe(first), {
    timeout: 30_000,
    interval: 500,
  })
  await session.suspend()
  const next = await Agent.create({}, { userDir: join(base, 'user') })
  const resumed = next.resumeSession('s', { ...options, model: scriptedModel(['Resumed.']) })
  expect(resumed.messages()).toEqual(messages)
  expect(resumed.history()).toEqual(history)
  expect((await resumed.send('And then?')).text).toBe('Resumed.')
  await next.close()
})

it('an idle session whose log was continued elsewhere is refused like any other', async () => {
  const sessionStore = new FileSessionStore(join(base, 'sessions'))
  const options = { sessionId: 's', sessionStore } as const
  const one = agent.session(work, { ...options, model: scriptedModel(['One.']) })
  await one.send('First.')
  await one.close()
  const stale = agent.resumeSession('s', { ...options, model: scriptedModel(['Two.']) })
  kernelOf(stale).takeTurn()
  const other = await Agent.create({}, { userDir: join(base, 'user') })
  const writer = other.resumeSession('s', { ...options, model: scriptedModel(['Elsewhere.']) })
  await writer.send('Second.')
  await writer.close()
  await other.close()
  await expect(stale.send('Third.')).rejects.toMatchObject({ code: 'store_stale' })
})
