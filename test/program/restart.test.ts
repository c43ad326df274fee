import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { exportSession } from '../../src/store/export-session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { importSession } from '../../src/store/import-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionRecord } from '../../src/store/records.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import type { AnyTool } from '../../src/tool/contract.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { BatchStore, expectWhole, recordsOf, stateOf, storeWith } from '../persistence/kept.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

let base: string
let work: string
let agents: Agent[]
beforeEach(async () => {
  base = temporaryDirectory()
  work = join(base, 'work')
  await mkdir(work)
  await writeFile(join(work, 'a.txt'), 'one\r\n')
  agents = []
})
afterEach(async () => {
  for (const agent of agents) await agent.close()
})

const sessionId = 'paused'
const script = `export default async function run(ctx) {
  const text = await ctx.readFile('a.txt')
  const first = await ctx.tools.effect({ n: 1 })
  const second = await ctx.tools.careful({ n: 2 })
  const third = await ctx.tools.effect({ n: 3 })
  return { summary: 'did it', said: [text, first.output, second.output, third.output] }
}`
const call = { id: 'call-1', name: 'program', args: { source: script } }

/** Tools whose effects are noted outside of the session; `careful` must be asked about. */
function tools(done: string[], work: (name: string, n: number) => unknown = () => 'ok'): AnyTool[] {
  return ['effect', 'careful'].map((name) =>
    createJsonTool<{ n: number }>({
      name,
      description: '',
      limits: { maxBytes: 2_000_000 },
      parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
      async execute({ n }) {
        done.push(`${name} ${n}`)
        return `${name} ${n} ${await work(name, n)}`
      },
    }),
  )
}

const policy: SessionOptions = {
  permissionPolicy: { allow: ['effect'], ask: ['careful'] },
  confirmationPolicy: { enabled: true, defaultTimeoutMs: 3_600_000 },
}

async function open(store: SessionStore, options: SessionOptions): Promise<Session> {
  const agent = await Agent.create({}, { userDir: join(base, 'user') })
  agents.push(agent)
  return agent.session(work, { sessionId, sessionStore: store, ...policy, ...options })
}

/** The log that a process leaves which ends while the program waits for a yes. */
async function leftWaiting(
  store: MemorySessionStore,
): Promise<{ records: readonly SessionRecord[]; runId: string }> {
  const done: string[] = []
  const session = await open(store, { model: scriptedModel([{ toolCalls: [call] }]), tools: tools(done) })
  for await (const event of await session.stream('go')) {
    if (event.type !== 'confirmation_required') continue
    expect(event).toMatchObject({ toolId: 'call-1/3', toolName: 'careful' })
    expect(done).toEqual(['effect 1'])
    const runId = (await session.currentRun())?.id ?? ''
    const records = await recordsOf(store, sessionId)
    await session.close()
    return { records, runId }
  }
  throw new Error('no user was asked')
}

const resultOf = (session: Session): string => JSON.stringify(session.history().at(-2))

describe('a program that waits for an approval', () => {
  it('resumes after a restart with the answer that is given then, and repeats nothing', async () => {
    const { records, runId } = await leftWaiting(new MemorySessionStore())
    await writeFile(join(work, 'a.txt'), 'changed since\n')
    const done: string[] = []
    const model = scriptedModel(['all done'])
    const session = await open(await storeWith(sessionId, records), { model, tools: tools(done) })
    expect(session.pendingConfirmations()).toMatchObject([
      { toolId: 'call-1/3', toolName: 'careful', args: { n: 2 }, fromBefore: true },
    ])
    expect(await session.confirmToolUse('call-1/3', true)).toBe(true)
    expect((await session.resumeRun(runId)).text).toBe('all done')
    expect(done).toEqual(['careful 2', 'effect 3'])
    expect(resultOf(session)).toContain('did it')
    expect(resultOf(session)).toMatch(/one\\+r\\+n.*effect 1 ok.*careful 2 ok.*effect 3 ok/)
    expectWhole(model.requests[0]?.chatHistory ?? [])
  })

  it('receives a denial that is given after a restart', async () => {
    const { records, runId } = await leftWaiting(new MemorySessionStore())
    const done: string[] = []
    const session = await open(await storeWith(sessionId, records), {
      model: scriptedModel(['all done']),
      tools: tools(done),
    })
    await session.confirmToolUse('call-1/3', false, 'not today')
    await session.resumeRun(runId)
    expect(done).toEqual(['effect 3'])
    expect(resultOf(session)).toContain('not today')
  })

  it('is not resumed by a new message: the model decides what to do', async () => {
    const { records } = await leftWaiting(new MemorySessionStore())
    const done: string[] = []
    const session = await open(await storeWith(sessionId, records), {
      model: scriptedModel(['fine']),
      tools: tools(done),
    })
    await session.send('something else')
    expect(done).toEqual([])
    expect(JSON.stringify(session.history())).toContain('interrupted, outcome unknown')
  })

  it('is not resumed from a log that is not trusted', async () => {
    const { records } = await leftWaiting(new MemorySessionStore())
    const from = await storeWith(sessionId, records)
    const lines: string[] = []
    for await (const line of exportSession(from, sessionId)) lines.push(line)
    for (const trusted of [true, false]) {
      const store = new MemorySessionStore()
      const taken = await importSession(store, lines, { trusted, now: () => 0 })
      expect((await stateOf(store, taken.id)).openSteps.size).toBe(trusted ? 1 : 0)
    }
  })

  it('is rejected when its file has changed since', async () => {
    await writeFile(join(work, 'script.js'), script)
    const store = new MemorySessionStore()
    const byPath = { id: 'call-1', name: 'program', args: { path: 'script.js' } }
    const first = await open(store, { model: scriptedModel([{ toolCalls: [byPath] }]), tools: tools([]) })
    for await (const event of await first.stream('go')) {
      if (event.type !== 'confirmation_required') continue
      const runId = (await first.currentRun())?.id ?? ''
      const records = await recordsOf(store, sessionId)
      await first.close()
      await writeFile(join(work, 'script.js'), `${script}\n// changed`)
      const done: string[] = []
      const model = scriptedModel(['I see'])
      const session = await open(await storeWith(sessionId, records), { model, tools: tools(done) })
      await session.resumeRun(runId)
      expect(done).toEqual([])
      expect(resultOf(session)).toContain('the script has changed')
      return
    }
    throw new Error('no user was asked')
  })
})

describe.each<[string, () => SessionStore]>([
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
])('a program in a session that is stored in %s', (_, makeStore) => {
  it('resumes with large answers, in the TypeScript that it is written in', async () => {
    const long = 'x'.repeat(150_000)
    await writeFile(join(work, 'long.txt'), long)
    const source = `export default async function run(ctx: any): Promise<object> {
      const text: string = await ctx.readFile('long.txt')
      await sleep(5)
      const said = await ctx.tools.careful({ n: text.length })
      return { summary: said.output as string }
    }`
    const args = { source, language: 'typescript', limits: { maxOutputBytes: 200_000 } }
    const model = scriptedModel([{ toolCalls: [{ ...call, args }] }])
    const first = await open(makeStore(), { model, tools: tools([]) })
    let runId = ''
    for await (const event of await first.stream('go')) {
      if (event.type !== 'confirmation_required') continue
      runId = (await first.currentRun())?.id ?? ''
      await first.suspend()
      break
    }
    await writeFile(join(work, 'long.txt'), 'shorter now')
    const done: string[] = []
    const session = await open(makeStore(), { model: scriptedModel(['all done']), tools: tools(done) })
    await session.confirmToolUse('call-1/3', true)
    await session.resumeRun(runId)
    expect(done).toEqual([`careful ${long.length}`])
    expect(resultOf(session)).toContain(`careful ${long.length} ok`)
  })
})

describe('a program whose process ends at any point', () => {
  it('has no effect twice, and reports which effects have an unknown outcome', async () => {
    const free: SessionOptions = { permissionPolicy: { allow: ['effect', 'careful'] } }
    const store = new BatchStore()
    const first = await open(store, {
      ...free,
      model: scriptedModel([{ toolCalls: [call] }, 'end']),
      tools: tools([]),
    })
    const { runId } = await first.send('go')
    await first.close()
    const all = await recordsOf(store, sessionId)
    const done = all.findIndex(
      ({ type, data }) => type === 'part' && 'content' in data && data.content.type === 'tool_result',
    )
    let resumed = 0
    let unknown = 0
    for (const cut of store.cuts.filter((at) => at <= done)) {
      const before = all.slice(0, cut)
      const begun = before.flatMap(({ type, data }) =>
        type === 'part' && 'content' in data && data.content.type === 'tool_intent'
          ? [data.content.callId]
          : [],
      )
      const effects: string[] = []
      const model = scriptedModel(['end'])
      const session = await open(await storeWith(sessionId, before), {
        ...free,
        model,
        tools: tools(effects),
      })
      try {
        await session.resumeRun(runId)
      } catch (error) {
        expect(error).toMatchObject({ code: expect.stringMatching(/no_checkpoint/) })
        expect(begun.filter((id) => id.includes('/'))).toEqual([])
        continue
      } finally {
        await session.close()
      }
      // Nothing is stored of what the program did, and it had made no call: the result says so, and the model may call
      // it again.
      if (effects.length === 0 && !begun.some((id) => id.includes('/'))) continue
      resumed++
      // An effect that had begun in the first process is not made in the second.
      const inFirst = begun.filter((id) => id.includes('/')).length
      expect(effects).toEqual(['effect 1', 'careful 2', 'effect 3'].slice(inFirst))
      if (resultOf(session).includes('interrupted, outcome unknown')) unknown++
      expectWhole(model.requests[0]?.chatHistory ?? [])
    }
    expect(resumed).toBeGreaterThan(3)
    expect(unknown).toBeGreaterThan(0)
  })

  it('stores no more of a program than the limit, and does not resume a larger one', async () => {
    const large = `export default async function run(ctx) {
      for (let at = 0; at < 12; at++) await ctx.tools.effect({ n: at })
      return 'end'
    }`
    const store = new MemorySessionStore()
    const session = await open(store, {
      permissionPolicy: { allow: ['effect'] },
      model: scriptedModel([
        {
          toolCalls: [{ ...call, args: { source: large, limits: { maxOutputBytes: 2_000_000 } } }],
        },
        'end',
      ]),
      tools: tools([], () => 'x'.repeat(1_000_000)),
    })
    await session.send('go')
    const steps = (await recordsOf(store, sessionId)).flatMap(({ type, data }) =>
      type === 'part' && 'content' in data ? [data.content] : [],
    )
    expect(steps.filter(({ type }) => type === 'blob').length).toBeLessThanOrEqual(9)
    expect(steps.filter((one) => one.type === 'tool_step' && one.over)).toHaveLength(1)
  })
})
