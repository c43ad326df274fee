import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import { DefaultSecurityProvider } from '../../src/session/security/index.js'
import type { Session } from '../../src/session/session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { PartRow, SessionRecord } from '../../src/store/records.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { expectWhole, type Ledger, notingTool, recordsOf, stateOf, storeWith } from './kept.js'

let base: string
let work: string
let agents: Agent[]
beforeEach(async () => {
  base = temporaryDirectory()
  work = join(base, 'work')
  await mkdir(work)
  agents = []
})
afterEach(async () => {
  for (const agent of agents) await agent.close()
})

const id = 'asked'
const hour = 3_600_000
const clockAt = (ms: number): NonNullable<SessionOptions['hostEnv']> => ({ clock: { now: () => ms } })
const note = (word: string, at: number): NonNullable<ScriptedStep['toolCalls']>[number] => ({
  id: `call-${at}`,
  name: 'note',
  args: { word },
})
const asking: SessionOptions = {
  sessionId: id,
  permissionPolicy: { ask: ['note'] },
  confirmationPolicy: { enabled: true, defaultTimeoutMs: hour },
}

async function newSession(store: SessionStore, ledger: Ledger, more: SessionOptions): Promise<Session> {
  const agent = await Agent.create({}, { userDir: join(base, 'user') })
  agents.push(agent)
  return agent.session(work, { ...asking, sessionStore: store, tools: [notingTool(ledger)], ...more })
}

/** The log of a session as a process left it that ended while calls waited for a yes. */
async function leftWaiting(
  steps: readonly ScriptedStep[],
  more: SessionOptions & { readonly count?: number; before?(session: Session): Promise<void> } = {},
): Promise<{ readonly records: readonly SessionRecord[]; readonly runId: string }> {
  const { count = 1, before, ...options } = more
  const store = new MemorySessionStore()
  const session = await newSession(
    store,
    { begun: [], done: [] },
    { model: scriptedModel([...steps]), hostEnv: clockAt(1000), ...options },
  )
  const stream = await session.stream('note it')
  let asked = 0
  for await (const event of stream) {
    if (event.type !== 'confirmation_required') continue
    if (++asked < count) continue
    await before?.(session)
    const records = await recordsOf(store, id)
    const runId = (await session.currentRun())?.id ?? ''
    await session.close()
    return { records, runId }
  }
  throw new Error('no user was asked')
}

async function resumed(
  records: readonly SessionRecord[],
  more: SessionOptions = {},
): Promise<{
  session: Session
  ledger: Ledger
  store: SessionStore
  model: ReturnType<typeof scriptedModel>
}> {
  const store = await storeWith(id, records)
  const ledger = { begun: [], done: [] }
  const model = scriptedModel(['all is done', 'and again'])
  const session = await newSession(store, ledger, { model, hostEnv: clockAt(2000), ...more })
  return { session, ledger, store, model }
}

const one: readonly ScriptedStep[] = [{ toolCalls: [note('sea', 1)] }]

describe('a question that an earlier process left', () => {
  it('is on disk before the user is asked', async () => {
    const { records, runId } = await leftWaiting(one)
    const state = await stateOf(await storeWith(id, records), id)
    expect(state.openQuestions).toMatchObject([
      {
        question: {
          callId: 'call-1',
          toolName: 'note',
          args: '{"word":"sea"}',
          runId,
          askedAtMs: 1000,
          expiresAtMs: 1000 + hour,
          key: expect.stringMatching(/^[0-9a-f]{64}$/),
          policy: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
      },
    ])
    expect(state.openIntents).toEqual([])
  })

  it('is listed by the next process, and an approval makes exactly that call, once', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, store, model } = await resumed(records)
    expect(session.pendingConfirmations()).toMatchObject([
      {
        toolId: 'call-1',
        toolName: 'note',
        args: { word: 'sea' },
        fromBefore: true,
        remainingMs: hour - 1000,
      },
    ])
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    expect(session.pendingConfirmations()).toEqual([])
    expect(await session.confirmToolUse('call-1', true)).toBe(false)
    expect(ledger.begun).toEqual([])
    const result = await session.resumeRun(runId)
    expect(result).toMatchObject({ text: 'all is done', toolCallsCount: 1 })
    expect(ledger.done).toEqual(['sea'])
    expect(model.requests).toHaveLength(1)
    const state = await stateOf(store, id)
    expect(state.openQuestions).toEqual([])
    expect(state.openIntents).toEqual([])
    expectWhole(state.messages.map(({ message }) => message))
    await expect(session.resumeRun(runId)).resolves.toMatchObject({ text: 'all is done' })
    expect(ledger.done).toEqual(['sea'])
  })

  it('is approved once, whatever scope was given, because no rule was shown', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, store } = await resumed(records)
    await session.confirmToolUse('call-1', true, undefined, 'session')
    await session.resumeRun(runId)
    expect(ledger.done).toEqual(['sea'])
    expect((await stateOf(store, id)).session?.rules ?? []).toEqual([])
  })

  it('can be rejected as well', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, model } = await resumed(records)
    expect(await session.confirmToolUse('call-1', false, 'not today')).toBe(true)
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
    expect(JSON.stringify(model.requests[0]?.chatHistory.at(-1))).toContain('not today')
  })

  it('stays pending when the run resumes before it is answered, for its remaining time', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger } = await resumed(records)
    const running = session.resumeRun(runId)
    let asked = session.pendingConfirmations()
    while (asked[0]?.fromBefore ?? asked.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      asked = session.pendingConfirmations()
    }
    expect(asked).toMatchObject([{ toolId: 'call-1', remainingMs: hour - 1000 }])
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    await running
    expect(ledger.done).toEqual(['sea'])
  })

  it('expires at its time limit: an approval is rejected, and the call is not made', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, model } = await resumed(records, { hostEnv: clockAt(1000 + hour) })
    expect(session.pendingConfirmations()).toEqual([])
    expect(await session.confirmToolUse('call-1', true)).toBe(false)
    // The run is resumed; the call is answered with what is known of it, and not made.
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
    expect(JSON.stringify(model.requests[0]?.chatHistory)).toContain('it was not approved in time')
  })

  it('has no approval when its time ends before the call is made', async () => {
    const { records, runId } = await leftWaiting([{ toolCalls: [note('sea', 1)] }])
    let now = 2000
    const { session, ledger } = await resumed(records, { hostEnv: { clock: { now: () => now } } })
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    now = 1000 + hour
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
  })

  it('has an approval for its run only: another call is asked about again, and so is the same one later', async () => {
    const { records } = await leftWaiting(one)
    const { session, ledger } = await resumed(records, {
      model: scriptedModel([{ toolCalls: [note('sea', 1)] }, 'done']),
    })
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    const running = session.send('note it')
    let asked = session.pendingConfirmations()
    while (asked.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      asked = session.pendingConfirmations()
    }
    expect(ledger.begun).toEqual([])
    await session.confirmToolUse(asked[0]?.toolId ?? '', false)
    await running
    expect(ledger.begun).toEqual([])
  })

  it('expires when the user sends another prompt first', async () => {
    const { records } = await leftWaiting(one)
    const { session, model, store } = await resumed(records)
    await session.send('never mind')
    expect(session.pendingConfirmations()).toEqual([])
    expect(await session.confirmToolUse('call-1', true)).toBe(false)
    expect(JSON.stringify(model.requests[0]?.chatHistory)).toContain('while it waited for an approval')
    expect((await stateOf(store, id)).openQuestions).toEqual([])
  })

  it.each<[string, (question: object) => object]>([
    ['of which the log shows other arguments', (question) => ({ ...question, args: '{"word":"lake"}' })],
    ['of which the log shows other reasons', (question) => ({ ...question, reasons: ['it is harmless'] })],
    ['with another key', (question) => ({ ...question, key: '0'.repeat(64) })],
    ['under other rules', (question) => ({ ...question, policy: '0'.repeat(64) })],
  ])('%s is asked again, whatever was answered', async (_, change) => {
    const { records, runId } = await leftWaiting(one)
    const changed = records.map((record) =>
      record.type === 'part' && record.data.content.type === 'tool_question'
        ? { ...record, data: { ...record.data, content: change(record.data.content) as PartRow['content'] } }
        : record,
    )
    const { session, ledger } = await resumed(changed)
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    const running = session.resumeRun(runId)
    while (session.pendingConfirmations().length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(ledger.begun).toEqual([])
    await session.confirmToolUse('call-1', false)
    await running
    expect(ledger.begun).toEqual([])
  })

  it('about a call that differs in the log is ignored', async () => {
    const { records, runId } = await leftWaiting(one)
    const changed = JSON.parse(JSON.stringify(records), (_key, value: unknown) =>
      value === 'sea' ? 'lake' : value,
    ) as SessionRecord[]
    const { session, ledger } = await resumed(changed)
    expect(session.pendingConfirmations()).toEqual([])
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
  })

  it('about a secret contains no secret, and is not shown to a process that cannot read it', async () => {
    const secret = 'hunter2-named-secret-9876543210'
    const securityProvider = new DefaultSecurityProvider()
    securityProvider.addSecret(secret)
    const { records, runId } = await leftWaiting([{ toolCalls: [note(secret, 1)] }], { securityProvider })
    expect(JSON.stringify(records)).not.toContain(secret)
    expect((await stateOf(await storeWith(id, records), id)).openQuestions).toHaveLength(1)
    const { session, ledger } = await resumed(records, { securityProvider })
    // The log has another call than the one that was asked about, and that one must not run in its place.
    expect(session.pendingConfirmations()).toEqual([])
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
  })

  it('follows rules that have changed since: a deny counts, whatever was answered', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, model } = await resumed(records, { permissionPolicy: { deny: ['note'] } })
    await session.confirmToolUse('call-1', true)
    await session.resumeRun(runId)
    expect(ledger.begun).toEqual([])
    expect(JSON.stringify(model.requests[0]?.chatHistory.at(-1))).toContain('Refused')
  })

  it('next to calls that ran does not repeat these', async () => {
    const { records, runId } = await leftWaiting(
      [{ toolCalls: [note('sea', 1), note('sky', 2), note('sun', 3)] }],
      {
        count: 3,
        // The first is approved and starts, the third is rejected; then the process ends.
        async before(session) {
          await session.confirmToolUse('call-3', false, 'no sun')
          await session.confirmToolUse('call-1', true)
          const run = await session.currentRun()
          for (;;) {
            const events = await session.runEvents(run?.id ?? '')
            if (events.some(({ event }) => event.type === 'tool_end' && event.toolId === 'call-1')) return
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        },
      },
    )
    const { session, ledger, model, store } = await resumed(records)
    expect(session.pendingConfirmations().map(({ toolId }) => toolId)).toEqual(['call-2'])
    await session.confirmToolUse('call-2', true)
    expect(await session.resumeRun(runId)).toMatchObject({ toolCallsCount: 1 })
    expect(ledger.done).toEqual(['sky'])
    const results = JSON.stringify(model.requests[0]?.chatHistory.at(-1))
    expect(results).toContain('interrupted, outcome unknown')
    expect(results).toContain('noted sky')
    expect(results).toContain('no sun')
    expectWhole((await stateOf(store, id)).messages.map(({ message }) => message))
  })

  it('stays pending when the run was cancelled before it, and no call is left without a result', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger, store } = await resumed(records)
    session.registerHook('stop', 'session_start', null, null, () => {
      session.cancel()
    })
    await expect(session.resumeRun(runId)).rejects.toMatchObject({ code: 'cancelled' })
    expect(session.pendingConfirmations()).toMatchObject([{ toolId: 'call-1', fromBefore: true }])
    await session.send('never mind')
    expect(ledger.begun).toEqual([])
    expectWhole((await stateOf(store, id)).messages.map(({ message }) => message))
  })

  it('stays in its session when the session is forked, and is not copied to the fork', async () => {
    const { records, runId } = await leftWaiting(one)
    const { session, ledger } = await resumed(records)
    const fork = await agents.at(-1)?.forkSession(session, { sessionId: 'fork' })
    expect(fork?.pendingConfirmations()).toEqual([])
    expect(JSON.stringify(fork?.history().at(-1))).toContain('while it waited for an approval')
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    await session.resumeRun(runId)
    expect(ledger.done).toEqual(['sea'])
  })

  it('is not copied by an import', async () => {
    const { records } = await leftWaiting(one)
    const agent = await Agent.create({}, { userDir: join(base, 'user') })
    agents.push(agent)
    const target = new MemorySessionStore()
    const lines = records.map((record) => `${JSON.stringify(record)}\n`)
    const imported = await agent.importSession(lines, { sessionStore: target })
    expect(imported.leftOut).toMatchObject({ 'open questions': 1 })
    expect((await stateOf(target, id)).openQuestions).toEqual([])
  })
})

describe.each<[string, () => SessionStore]>([
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
])('a session in %s that was suspended', (_, makeStore) => {
  it('resumes in another process with the question that it waited for', async () => {
    const ledger: Ledger = { begun: [], done: [] }
    const first = await newSession(makeStore(), ledger, {
      model: scriptedModel([...one]),
      hostEnv: clockAt(1000),
    })
    const stream = await first.stream('note it')
    const ended: string[] = []
    let runId = ''
    for await (const event of stream) {
      if (event.type === 'agent_start') runId = event.runId
      if (event.type === 'confirmation_required') void first.suspend()
      ended.push(event.type)
    }
    expect(ended.at(-1)).toBe('agent_cancelled')
    await first.suspend()
    const second = await newSession(makeStore(), ledger, {
      model: scriptedModel(['all is done']),
      hostEnv: clockAt(2000),
    })
    expect(second.pendingConfirmations()).toMatchObject([{ toolId: 'call-1', fromBefore: true }])
    await second.confirmToolUse('call-1', true)
    expect(await second.resumeRun(runId)).toMatchObject({ text: 'all is done' })
    expect(ledger.done).toEqual(['sea'])
  })
})
