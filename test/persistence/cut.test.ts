/**
 * FT-02 and FT-10, without processes: a run is recorded, and its log is cut after every write. A store writes a batch
 * whole or not at all, so these are all the places where a process can end. A session is resumed from each piece.
 */
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { foldSession } from '../../src/store/fold-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionRecord } from '../../src/store/records.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { later, makeWorkspace, whenDone } from '../contract/open-session.js'
import {
  BatchStore,
  callsIn,
  expectWhole,
  type Ledger,
  notingTool,
  planModel,
  type Round,
  recordsOf,
  resultsIn,
  stateOf,
  storeWith,
} from './kept.js'

const sessionId = 'cut'

async function open(options: SessionOptions): Promise<Session> {
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return agent.session(root, { sessionId, sandbox: 'off', ...options })
}

const newLedger = (): Ledger => ({ begun: [], done: [] })
const allowed = { permissionPolicy: { allow: ['note', 'again'] } }

/** Resumes from the first `k` records as a host would: the run when that is possible, else with a message. */
async function continueRun(
  records: readonly SessionRecord[],
  k: number,
  options: SessionOptions,
): Promise<{ store: MemorySessionStore; resumed: boolean; before: ReturnType<typeof foldSession> }> {
  const store = await storeWith(sessionId, records.slice(0, k))
  const before = foldSession(records.slice(0, k))
  const session = await open({ ...options, sessionStore: store })
  const runId = [...before.runs.keys()].at(-1)
  const resumed = runId !== undefined && before.checkpoints.has(runId)
  const over = runId !== undefined && before.runs.get(runId)?.status === 'completed'
  if (resumed && !over) {
    const result = await session.resumeRun(runId)
    expect(result.text).toBe('All is noted.')
    expect((await session.runs()).at(-1)).toMatchObject({ id: result.runId, status: 'completed' })
  } else await session.send('Continue.')
  const statuses = (await session.runs()).map(({ status }) => status)
  for (const status of statuses.slice(0, -1)) expect(['interrupted', 'completed']).toContain(status)
  await session.close()
  return { store, resumed, before }
}

describe.each([1, 2, 5])('a log that ends after any write of a run with %i call(s) at once', (calls) => {
  it('is resumed: nothing runs twice, and what was cut off is reported as cut off', async () => {
    const rounds: Round[] = [0, 1, 2].map((round) =>
      Array.from({ length: calls }, (_, at) => ({
        tool: at === 1 ? 'again' : 'note',
        word: `w${round}${at}`,
      })),
    )
    const first = newLedger()
    const tools = (ledger: Ledger) => [
      notingTool(ledger),
      notingTool(ledger, { name: 'again', idempotent: true }),
    ]
    const recorded = new BatchStore()
    const session = await open({
      sessionStore: recorded,
      tools: tools(first),
      model: planModel(rounds),
      ...allowed,
    })
    const whole = await session.send('Note them.')
    await session.close()
    const records = await recordsOf(recorded, sessionId)
    let resumedTimes = 0
    for (const k of recorded.cuts) {
      const ledger = newLedger()
      const { store, resumed, before } = await continueRun(records, k, {
        tools: tools(ledger),
        model: planModel(rounds),
        ...allowed,
      })
      if (resumed) resumedTimes++
      const where = `cut after record ${k} of ${records.length}`
      const state = await stateOf(store, sessionId)
      const messages = state.messages.map(({ message }) => message)
      expectWhole(messages)
      expectWhole(state.view.map(({ message }) => message))
      // What was there is there still, in front.
      const kept = before.messages.filter(({ message }) => message.content.length > 0)
      expect(messages.slice(0, kept.length), where).toEqual(kept.map(({ message }) => message))
      const results = resultsIn(messages)
      const finished = new Set(
        [...resultsIn(kept.map(({ message }) => message)).values()].map(
          (text) => /noted (\w+)/.exec(text)?.[1],
        ),
      )
      for (const word of ledger.begun) expect(finished, where).not.toContain(word)
      expect(new Set(ledger.done).size, where).toBe(ledger.done.length)
      // The calls without results: had they begun, or not?
      const begun = new Set(before.openIntents.map(({ intent }) => intent.callId))
      for (const id of callsIn(kept.map(({ message }) => message))) {
        const result = results.get(id) ?? ''
        if (result.includes('noted')) continue
        if (begun.has(id)) expect(result, where).toContain('interrupted, outcome unknown')
        else expect(result, where).toContain('not started')
      }
      expect(state.openIntents, where).toEqual([])
      const words = new Set([...results.values()].flatMap((text) => /noted (\w+)/.exec(text)?.[1] ?? []))
      if (!resumed && state.runs.size > 1) continue
      expect(words.size, where).toBe(rounds.length * calls)
      expect(whole.toolCallsCount).toBe(rounds.length * calls)
    }
    expect(resumedTimes).toBeGreaterThan(recorded.cuts.length / 3)
    console.info(`FT-02: ${calls} call(s) at once: ${recorded.cuts.length} places, ${records.length} records`)
  })
})

describe('a run that is resumed again and again', () => {
  it('keeps counting, and can be named by any of its ids', async () => {
    const rounds: Round[] = Array.from({ length: 6 }, (_, n) => [{ tool: 'note', word: `x${n}` }])
    // Ends after two more rounds each time, as a process would that is killed there.
    let store = new MemorySessionStore()
    let runId: string | undefined
    const ids: string[] = []
    for (let life = 0; life < 4; life++) {
      const session = await open({
        sessionStore: store,
        tools: [notingTool(newLedger())],
        model: planModel(rounds),
        ...allowed,
      })
      const from = (await recordsOf(store, sessionId)).length
      const result = runId === undefined ? await session.send('Note them.') : await session.resumeRun(runId)
      await session.close()
      if (life === 3) {
        expect(result).toMatchObject({ toolCallsCount: 6, rounds: 7, totalTokens: 77 })
        break
      }
      const records = await recordsOf(store, sessionId)
      const checkpoints = records.flatMap(({ type }, at) => (type === 'checkpoint' && at >= from ? [at] : []))
      store = await storeWith(sessionId, records.slice(0, (checkpoints[1] ?? 0) + 1))
      const state = await stateOf(store, sessionId)
      runId = [...state.runs.keys()].at(-1)
      ids.push(runId ?? '')
    }
    expect(new Set(ids).size).toBe(3)
  })

  it('resumes from the run before it when it has no round of its own', async () => {
    const rounds: Round[] = Array.from({ length: 3 }, (_, n) => [{ tool: 'note', word: `x${n}` }])
    const recorded = new MemorySessionStore()
    const options = { tools: [notingTool(newLedger())], model: planModel(rounds), ...allowed }
    const session = await open({ sessionStore: recorded, ...options })
    const { runId } = await session.send('Note them.')
    await session.close()
    const records = await recordsOf(recorded, sessionId)
    const first = records.findIndex(({ type }) => type === 'checkpoint')
    const second = await storeWith(sessionId, records.slice(0, first + 1))
    const again = await open({ sessionStore: second, ...options })
    const { runId: nextId } = await again.resumeRun(runId)
    await again.close()
    const more = await recordsOf(second, sessionId)
    const started = more.findIndex(({ type, data }) => type === 'run' && 'id' in data && data.id === nextId)
    const third = await storeWith(sessionId, more.slice(0, started + 1))
    const last = await open({ sessionStore: third, ...options })
    expect(await last.resumeRun(nextId)).toMatchObject({ toolCallsCount: 3, rounds: 4, totalTokens: 44 })
    await last.close()
    // Another request, under any name, gets the same answer and no second one.
    const asked = scriptedModel([])
    const idle = await open({ sessionStore: third, model: asked, ...allowed })
    expect(await idle.resumeRun(runId)).toMatchObject({ text: 'All is noted.', rounds: 4 })
    expect(asked.requests).toEqual([])
    await idle.close()
  })

  it('does not read the answer of another run as its own', async () => {
    const rounds: Round[] = Array.from({ length: 2 }, (_, n) => [{ tool: 'note', word: `x${n}` }])
    const recorded = new MemorySessionStore()
    const options = { tools: [notingTool(newLedger())], ...allowed }
    const session = await open({ sessionStore: recorded, model: planModel(rounds), ...options })
    const { runId } = await session.send('Note them.')
    await session.close()
    const records = await recordsOf(recorded, sessionId)
    const store = await storeWith(
      sessionId,
      records.slice(0, records.findIndex(({ type }) => type === 'checkpoint') + 1),
    )
    const between = await open({ sessionStore: store, model: scriptedModel(['Something else.']), ...options })
    await between.send('By the way?')
    await between.close()
    const model = planModel(rounds)
    const last = await open({ sessionStore: store, model, ...options })
    expect((await last.resumeRun(runId)).text).toBe('All is noted.')
    expect(model.requests[0]?.chatHistory.at(-1)?.role).not.toBe('assistant')
    expectWhole((await stateOf(store, sessionId)).messages.map(({ message }) => message))
    await last.close()
  })

  it('does not read a partial answer as a complete one', async () => {
    const rounds: Round[] = [[{ tool: 'note', word: 'x0' }]]
    const store = new MemorySessionStore()
    const options = { tools: [notingTool(newLedger())], ...allowed }
    const plan = planModel(rounds)
    const breaking = scriptedModel(({ chatHistory }) =>
      chatHistory.length < 3
        ? { toolCalls: [{ id: 'a', name: 'note', args: { word: 'x0' } }] }
        : { text: 'All is', error: new Error('the wire was cut') },
    )
    const session = await open({ sessionStore: store, model: breaking, ...options })
    await expect(session.send('Note them.')).rejects.toThrow('the wire was cut')
    const runId = (await session.runs())[0]?.id ?? ''
    await session.close()
    const last = await open({ sessionStore: store, model: plan, ...options })
    expect((await last.resumeRun(runId)).text).toBe('All is noted.')
    expect(plan.requests[0]?.chatHistory.at(-1)?.role).toBe('user')
    await last.close()
  })
})

describe('a log that ends while the user is asked', () => {
  it('says that the call was not started', async () => {
    const store = new MemorySessionStore()
    const asked = later()
    const ledger = newLedger()
    const session = await open({
      sessionStore: store,
      tools: [notingTool(ledger)],
      model: planModel([
        [
          { tool: 'note', word: 'a' },
          { tool: 'note', word: 'b' },
        ],
      ]),
      onAsk: () => {
        asked.resolve()
        return new Promise(() => undefined)
      },
    })
    const run = session.send('Note them.')
    run.catch(() => undefined)
    await asked.promise
    await session.save()
    const records = await recordsOf(store, sessionId)
    void session.close()
    const { store: next } = await continueRun(records, records.length, {
      tools: [notingTool(ledger)],
      model: scriptedModel(['I see.']),
    })
    const messages = (await stateOf(next, sessionId)).messages.map(({ message }) => message)
    expectWhole(messages)
    expect([...resultsIn(messages).values()]).toEqual([
      expect.stringContaining('not started'),
      expect.stringContaining('not started'),
    ])
    expect(ledger.begun).toEqual([])
  })
})

describe('FT-29: a log that ends after any write around a compaction', () => {
  it('shows the state before it or after it, never neither', async () => {
    const recorded = new BatchStore()
    const long = 'word '.repeat(3000)
    // A model with a small window: what is said soon does not fit, and is summarised.
    const make = () =>
      scriptedModel(
        ({ chatHistory, instructions }) =>
          JSON.stringify([instructions, chatHistory.at(-1)]).includes('ummar')
            ? 'The summary of all that.'
            : { text: `Answer ${chatHistory.length}. ${long}` },
        { facts: { contextTokens: 16_000 } },
      )
    const session = await open({ sessionStore: recorded, model: make() })
    for (let n = 0; n < 5; n++) await session.send(`Question ${n}? ${long}`)
    await session.close()
    const records = await recordsOf(recorded, sessionId)
    const compactions = records.flatMap(({ type, data }, at) =>
      type === 'message' && 'role' in data && data.role === 'compaction' ? [at] : [],
    )
    expect(compactions.length).toBeGreaterThan(0)
    for (const at of compactions)
      for (const k of recorded.cuts.filter((cut) => cut >= at - 6 && cut <= at + 6)) {
        const before = foldSession(records.slice(0, k))
        expect(before.view.length, `cut after record ${k}`).toBeGreaterThan(0)
        const model = make()
        const store = await storeWith(sessionId, records.slice(0, k))
        const next = await open({ sessionStore: store, model })
        await next.send('And now?')
        const request = model.requests.at(-1)
        expectWhole(request?.chatHistory ?? [])
        expect(request?.chatHistory.length, `cut after record ${k}`).toBeGreaterThan(1)
        await next.close()
        const { view, messages } = await stateOf(store, sessionId)
        expectWhole(view.map(({ message }) => message))
        expect(messages.length).toBe(
          before.messages.filter(({ message }) => message.content.length > 0).length + 2,
        )
      }
  })
})
