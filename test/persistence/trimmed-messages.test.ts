import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { kernelOf } from '../../src/session/session-class.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const retentionLimits = { maxMessages: 4 }

async function openAgent(): Promise<{ agent: Agent; root: string }> {
  const root = temporaryDirectory()
  const agent = await Agent.create({}, { userDir: join(root, '.user'), env: {} })
  onTestFinished(() => agent.close())
  return { agent, root }
}

const echoing = () =>
  scriptedModel(({ chatHistory, instructions }) =>
    instructions === 'You write summaries.' ? 'A summary.' : `answer ${chatHistory.length}`,
  )

/** A session with six prompts and a summary after the fourth: the model is shown that, and the last two turns. */
async function talk(agent: Agent, root: string, options: SessionOptions): Promise<Session> {
  const session = agent.session(root, { model: echoing(), sessionId: 's', retentionLimits, ...options })
  for (const n of [1, 2, 3, 4]) await session.send(`prompt ${n}`)
  await session.compact()
  for (const n of [5, 6]) await session.send(`prompt ${n}`)
  return session
}

const inMemory = (session: Session): number => kernelOf(session).log.conversation.messages.length
const promptsOf = (session: Session): string[] =>
  session.messages().flatMap(({ role, text }) => (role === 'user' ? [text] : []))
const allPrompts = [1, 2, 3, 4, 5, 6].map((n) => `prompt ${n}`)

describe('messages that no request needs any more', () => {
  it('are dropped from the memory of a session with a store, and history() and messages() read them from the log', async () => {
    const { agent, root } = await openAgent()
    const sessionStore = new FileSessionStore(join(root, 'sessions'))
    const session = await talk(agent, root, { sessionStore })
    expect(inMemory(session)).toBe(4)
    expect(session.history()).toHaveLength(12)
    expect(promptsOf(session)).toEqual(allPrompts)
    const before = session.history()
    await session.close()
    const again = agent.resumeSession('s', { model: echoing(), sessionStore })
    expect(again.history()).toEqual(before)
  })

  it('stay in memory without a store', async () => {
    const { agent, root } = await openAgent()
    const session = await talk(agent, root, {})
    expect(inMemory(session)).toBe(12)
  })

  it('stay in memory as long as the model is shown them', async () => {
    const { agent, root } = await openAgent()
    const model = echoing()
    const session = agent.session(root, {
      model,
      retentionLimits: { maxMessages: 1 },
      sessionStore: new MemorySessionStore(),
    })
    for (const prompt of allPrompts) await session.send(prompt)
    expect(model.requests.at(-1)?.chatHistory).toHaveLength(11)
    expect(inMemory(session)).toBe(12)
  })

  it('can be rewound to: the model is then shown the same as in a process that reads the log', async () => {
    const { agent, root } = await openAgent()
    const sessionStore = new FileSessionStore(join(root, 'sessions'))
    const session = await talk(agent, root, { sessionStore })
    const third = session.messages().find(({ text }) => text === 'prompt 3')
    expect(await session.rewind(third?.id ?? '')).toEqual({ prompt: 'prompt 3', hidden: 8 })
    expect(promptsOf(session)).toEqual(['prompt 1', 'prompt 2'])
    expect(await session.unrewind()).toBe(8)
    expect(promptsOf(session)).toEqual(allPrompts)
    await session.rewind(third?.id ?? '')
    await session.send('another way')
    const shown = [...kernelOf(session).log.conversation.view]
    expect(shown).toHaveLength(6)
    await session.close()
    const again = agent.resumeSession('s', { model: echoing(), sessionStore })
    expect(promptsOf(again)).toEqual(['prompt 1', 'prompt 2', 'another way'])
    expect(kernelOf(again).log.conversation.view).toEqual(shown)
  })

  it('are read from the log when only hidden messages were dropped from memory', async () => {
    const { agent, root } = await openAgent()
    const sessionStore = new FileSessionStore(join(root, 'sessions'))
    const session = agent.session(root, { model: echoing(), retentionLimits, sessionStore })
    await session.send('prompt 1')
    await kernelOf(session).log.conversation.clear()
    for (const n of [2, 3]) await session.send(`prompt ${n}`)
    const { conversation } = kernelOf(session).log
    expect([inMemory(session), conversation.trimmed]).toEqual([4, 0])
    expect(await conversation.readAll()).toHaveLength(6)
  })

  it('are in a fork, and are cleared with the others', async () => {
    const { agent, root } = await openAgent()
    const sessionStore = new FileSessionStore(join(root, 'sessions'))
    const session = await talk(agent, root, { sessionStore })
    const fork = await agent.forkSession(session, { model: echoing() })
    expect(promptsOf(fork)).toEqual(allPrompts)
    expect((await session.send('/history')).text).toContain('12')
    await session.send('/clear')
    expect(session.history()).toEqual([])
    await session.close()
    expect(agent.resumeSession('s', { model: echoing(), sessionStore }).history()).toEqual([])
  })

  it('are read by asynchronous callers from a store that cannot be read synchronously', async () => {
    const { agent, root } = await openAgent()
    const memory = new MemorySessionStore()
    const sessionStore: SessionStore = {
      backend: 'remote',
      list: () => memory.list(),
      read: (id) => memory.read(id),
      open: (id, options) => memory.open(id, options),
      delete: (id) => memory.delete(id),
      readBlob: (id, digest) => memory.readBlob(id, digest),
    }
    const session = await talk(agent, root, { sessionStore })
    expect(session.history()).toHaveLength(4)
    const all = await kernelOf(session).log.conversation.readAll()
    expect(all.filter(({ row }) => row.role === 'user')).toHaveLength(6)
    const [first] = all
    expect(await session.rewind(first?.id ?? '')).toEqual({ prompt: 'prompt 1', hidden: 12 })
  })
})
