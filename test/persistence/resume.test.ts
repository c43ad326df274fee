import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

let base: string
let work: string
beforeEach(async () => {
  base = temporaryDirectory()
  work = join(base, 'work')
  await mkdir(work)
  await writeFile(join(work, 'a.txt'), 'one\n')
})

const newAgent = (): Promise<Agent> => Agent.create({}, { userDir: join(base, 'user') })
const read = (n: number): ScriptedStep => ({
  toolCalls: [{ name: 'read', args: { file_path: 'a.txt', limit: n } }],
  usage: { inputTokens: 10, outputTokens: 1, totalTokens: 11 },
})

it('a session that is resumed reads its log once', async () => {
  let reads = 0
  class CountingStore extends MemorySessionStore {
    override readSync(sessionId: string) {
      reads++
      return super.readSync(sessionId)
    }
  }
  const store = new CountingStore()
  const agent = await newAgent()
  const options = { sessionId: 'once', sessionStore: store }
  const one = agent.session(work, { ...options, model: scriptedModel(['one']) })
  await one.send('first')
  await one.close()
  reads = 0
  const two = agent.resumeSession('once', { ...options, model: scriptedModel(['two']) })
  await two.send('second')
  expect(reads).toBe(1)
  await two.close()
  await agent.close()
})

const memory = new MemorySessionStore()
describe.each<[string, () => SessionStore]>([
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['memory', () => memory],
  ['SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
])('a session stored in %s', (name, makeStore) => {
  const sessionId = `kept-${name}`

  it('continues in another agent with its messages, approvals and plan', async () => {
    const first = await newAgent()
    const todos = [{ content: 'look', status: 'in_progress' }]
    const session = first.session(work, {
      sessionId,
      sessionStore: makeStore(),
      autoSave: true,
      tenantId: 'acme',
      maxToolRounds: 7,
      permissionPolicy: { deny: ['bash(rm *)'] },
      model: scriptedModel([
        {
          toolCalls: [{ name: 'todo', args: { todos } }],
          usage: { inputTokens: 5, outputTokens: 5, totalTokens: 10 },
        },
        { toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } }] },
        'done',
      ]),
      onAsk: () => ({ decision: 'session' }),
    })
    await session.send('change it')
    await session.save()
    const before = session.history()
    const usage = (await session.runs())[0]
    await first.close()

    const second = await newAgent()
    const resumed = second.resumeSession(sessionId, {
      sessionStore: makeStore(),
      trustStore: true,
      model: scriptedModel([
        {
          toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: 'two', new_string: 'three' } }],
        },
        'again',
      ]),
    })
    expect(resumed.history()).toEqual(before)
    expect(resumed.tenantId).toBe('acme')
    expect(resumed.todos()).toEqual(todos)
    expect(resumed.workspace).toBe(session.workspace)
    expect(await resumed.runSnapshot(usage?.id ?? '')).toMatchObject({
      status: 'completed',
      prompt: 'change it',
    })
    // What was approved for the session is not asked about again: the host vouches for the store.
    await resumed.send('once more')
    expect(await readFile(join(work, 'a.txt'), 'utf8')).toBe('three\n')
    expect(resumed.history().length).toBeGreaterThan(before.length)
    await second.close()

    const third = await newAgent()
    const last = await third.openSession(sessionId, { sessionStore: makeStore() })
    expect(last.history()).toHaveLength(before.length + 4)
    await third.close()
  })

  it('is refused to a second writer, with the name of the process that holds it', async () => {
    const agent = await newAgent()
    const id = `${sessionId}-locked`
    const store = makeStore()
    const one = agent.session(work, { sessionId: id, sessionStore: store, model: scriptedModel(['hello']) })
    await one.send('hi')
    const two = agent.resumeSession(id, { sessionStore: store, model: scriptedModel(['no', 'more']) })
    expect(two.history()).toHaveLength(2)
    await expect(two.send('me too')).rejects.toMatchObject({ code: 'session_locked' })
    expect(two.history()).toHaveLength(2)
    await one.close()
    expect((await two.send('now')).text).toBe('no')
    expect(two.history()).toHaveLength(4)
    // What one wrote after the other had read is not written over.
    const stale = agent.resumeSession(id, { sessionStore: store, model: scriptedModel(['never']) })
    await two.send('more').catch(() => undefined)
    await two.close()
    await expect(stale.send('late')).rejects.toMatchObject({ code: 'store_stale' })
    await agent.close()
  })

  it('cannot resume a run without a checkpoint or without a store', async () => {
    const agent = await newAgent()
    const plain = agent.session(work, { model: scriptedModel([]) })
    await expect(plain.resumeRun('x')).rejects.toThrow(/^resume_run requires a session_store$/)
    const kept = agent.session(work, {
      sessionId: `${sessionId}-none`,
      sessionStore: makeStore(),
      model: scriptedModel([]),
    })
    await expect(kept.resumeRun('x')).rejects.toThrow(/^no loop checkpoint found for run 'x'$/)
    expect(() => agent.resumeSession('nowhere', { sessionStore: makeStore() })).toThrow(
      /has no session 'nowhere'/,
    )
    await agent.close()
  })

  it('resumes a run that was interrupted in a call, without repeating finished calls', async () => {
    const id = `${sessionId}-cut`
    const agent = await newAgent()
    // A model that asks for a third round and a process that ends before it: the log is copied as it is then.
    const store = makeStore()
    const session = agent.session(work, {
      sessionId: id,
      sessionStore: store,
      model: scriptedModel([
        read(1),
        read(2),
        { ...read(3), text: 'third', toolCalls: [{ name: 'bash', args: { command: 'sleep 30' } }] },
      ]),
      permissionPolicy: { allow: ['bash(sleep *)'] },
    })
    const running = session.send('work')
    const started = async (): Promise<string> => {
      for (;;) {
        const run = await session.currentRun()
        const events = run === null ? [] : await session.runEvents(run.id)
        if (events.some(({ event }) => event.type === 'tool_execution_start' && event.toolName === 'bash'))
          return run?.id ?? ''
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    }
    const runId = await started()
    for (let tries = 0; tries < 100; tries++) {
      const kept = await store.read(id)
      if (JSON.stringify(kept?.records).includes('"tool_intent","callId":"call_3_1"')) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const asItStood = await store.read(id)
    session.cancel()
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    await agent.close()

    const copy = new MemorySessionStore()
    const log = await copy.open(id, { holder: 'test', now: () => 0 })
    await log.append(asItStood?.records ?? [])
    await log.close()
    const other = await newAgent()
    const model = scriptedModel(['all done'])
    const resumed = other.session(work, { sessionId: id, sessionStore: copy, model })
    const result = await resumed.resumeRun(runId)
    expect(result).toMatchObject({ text: 'all done', toolCallsCount: 2 })
    expect(result.totalTokens).toBeGreaterThan(33)
    expect(result.runId).not.toBe(runId)
    const [request] = model.requests
    expect(JSON.stringify(request?.chatHistory.at(-1))).toContain('interrupted, outcome unknown')
    expect(model.requests).toHaveLength(1)
    expect(await resumed.runSnapshot(runId)).toMatchObject({ status: 'interrupted' })
    await other.close()
  })
})
