import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  Agent,
  AgentBuilder,
  builtinSkills,
  FileSessionStore,
  FixedClock,
  LocalWorkspaceBackend,
  MemorySessionStore,
  SequentialIdGenerator,
  type ServeHandle,
  Session,
  type SessionOptions,
} from '../../src/index.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { calls, makeWorkspace, openSession, whenDone, writeFiles } from './open-session.js'

async function openAgent() {
  const { base, root, userDir } = await makeWorkspace({ 'a.txt': 'here' })
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return { agent, base, root }
}

describe('Session', () => {
  it('is the class of every session, and cannot be constructed', async () => {
    const { agent, root } = await openAgent()
    const session = agent.session(root, { model: scriptedModel([]) })
    expect(session).toBeInstanceOf(Session)
    expect(agent.sessionForAgent(root, 'explore', [], { model: scriptedModel([]) })).toBeInstanceOf(Session)
    expect(await agent.forkSession(session)).toBeInstanceOf(Session)
    expect({}).not.toBeInstanceOf(Session)
    expect(Session.name).toBe('Session')
    const Constructor = Session as unknown as new () => unknown
    expect(() => new Constructor()).toThrow('agent.session(workspace, options)')
  })

  it('and Agent have a property that says whether they are closed', async () => {
    const { agent, root } = await openAgent()
    const session = agent.session(root)
    expect([session.isClosed, agent.isClosed]).toEqual([false, false])
    await session.close()
    await agent.close()
    expect([session.isClosed, agent.isClosed]).toEqual([true, true])
  })
})

describe('a served directory', () => {
  it('has methods that say whether it is ready and whether it has stopped', async () => {
    const { agent, base, root } = await openAgent()
    await writeFiles(base, { 'dir/instructions.md': 'You wait.' })
    const handle: ServeHandle = await agent.serveAgentDir(join(base, 'dir'), root)
    expect([handle.isReady(), handle.isStopped()]).toEqual([true, false])
    await handle.stop()
    await handle.stop()
    expect([handle.isReady(), handle.isStopped()]).toEqual([false, true])
  })

  it('keeps no more history than the command does, unless configured', async () => {
    const { agent, base, root } = await openAgent()
    await writeFiles(base, {
      'dir/instructions.md': 'You wait.',
      'dir/schedules/daily.md': '---\ncron: "0 9 * * *"\n---\nLook.',
    })
    const kept = async (options: SessionOptions): Promise<unknown> => {
      const sessionStore = new MemorySessionStore()
      const handle = await agent.serveAgentDir(join(base, 'dir'), root, { sessionStore, ...options })
      await handle.session('daily')?.save()
      await handle.stop()
      const records = (await sessionStore.read('schedule:daily'))?.records
      return records?.flatMap(({ type, data }) =>
        type === 'session' ? [data.options?.['retentionLimits']] : [],
      )[0]
    }
    expect(await kept({})).toMatchObject({ maxRuns: 100, maxEventsPerRun: 10_000, maxTraceEvents: 10_000 })
    expect(await kept({ retentionLimits: { maxRuns: 3 } })).toEqual({ maxRuns: 3 })
  })
})

describe('retention', () => {
  it.each<[string, SessionOptions]>([
    ['no limits', {}],
    ['null', { retentionLimits: { maxRuns: null, maxEventsPerRun: null, maxTraceEvents: null } }],
    [
      'Infinity',
      { retentionLimits: { maxRuns: Number.POSITIVE_INFINITY, maxTraceEvents: Number.POSITIVE_INFINITY } },
    ],
    ['null for all of them', { retentionLimits: null as never }],
  ])('keeps everything with %s', async (_, options) => {
    const { agent, root } = await openAgent()
    const session = agent.session(root, { model: scriptedModel(['ok']), ...options })
    for (let count = 0; count < 120; count++) await session.send('/cost')
    expect(await session.runs()).toHaveLength(120)
    expect(session.initWarning).toBe(null)
  })

  it('without limits stays without them in a resumed session too', async () => {
    const { agent, base, root } = await openAgent()
    const sessionStore = new FileSessionStore(join(base, 'sessions'))
    const limits = { maxRuns: Number.POSITIVE_INFINITY, maxTraceEvents: 5 }
    await agent.session(root, { sessionStore, sessionId: 's', retentionLimits: limits }).close()
    const session = agent.resumeSession('s', { sessionStore, model: scriptedModel([]) })
    for (let count = 0; count < 110; count++) await session.send('/cost')
    expect(await session.runs()).toHaveLength(110)
    for (let count = 0; count < 8; count++) await session.readFile('a.txt')
    expect(session.traceEvents()).toHaveLength(5)
  })
})

describe('builtinSkills', () => {
  it('lists the skills that the option adds to a session', async () => {
    const { agent, root } = await openAgent()
    const skills = builtinSkills()
    expect(skills.map(({ name }) => name)).toEqual(['review-change', 'find-cause', 'write-skill'])
    for (const skill of skills)
      expect(skill).toMatchObject({ source: 'builtin', description: expect.any(String) })
    const session = agent.session(root, { builtinSkills: true })
    const found = await session.tool('search_skills', { query: 'review a change', limit: 20 })
    expect(found.output).toContain('review-change')
  })
})

describe('LocalWorkspaceBackend', () => {
  it('is the workspace of a session, in place of the argument', async () => {
    const { agent, base, root } = await openAgent()
    const workspaceBackend = new LocalWorkspaceBackend(root)
    expect(workspaceBackend).toMatchObject({ kind: 'local', root })
    const session = agent.session(base, { workspaceBackend })
    expect([session.workspace, session.initWarning]).toEqual([root, null])
    expect(await session.readFile('a.txt')).toBe('here')
    expect(agent.session(base, { workspaceBackend: { kind: 'local', root } }).workspace).toBe(root)
    const named = agent.sessionForAgent(base, 'explore', [], { workspaceBackend, model: scriptedModel([]) })
    expect(named.workspace).toBe(root)
  })

  it('applies to a resumed and to a forked session', async () => {
    const { agent, base, root } = await openAgent()
    await writeFiles(base, { 'other/a.txt': 'there' })
    const sessionStore = new MemorySessionStore()
    await agent.session(root, { sessionStore, sessionId: 's' }).close()
    const workspaceBackend = new LocalWorkspaceBackend(join(base, 'other'))
    const resumed = agent.resumeSession('s', { sessionStore, workspaceBackend })
    expect(await resumed.readFile('a.txt')).toBe('there')
    const fork = await agent.forkSession('s', { sessionStore, workspaceBackend })
    expect(fork.workspace).toBe(join(base, 'other'))
  })

  it('is limited to its root like every workspace', async () => {
    const { agent, base, root } = await openAgent()
    await writeFiles(base, { 'outside.txt': 'secret' })
    const session = agent.session(base, { workspaceBackend: new LocalWorkspaceBackend(root) })
    expect((await session.tool('read', { file_path: '../outside.txt' })).output).not.toContain('secret')
  })

  it.each<[string, unknown, RegExp]>([
    ['a kind that there is not', { kind: 's3', root: '/' }, /Unsupported workspace backend kind 's3'/],
    ['no kind', { root: '/' }, /Unsupported workspace backend kind/],
    ['no root', { kind: 'local' }, /requires a root path/],
    ['a text', '/tmp', /must be an object/],
  ])(
    'is rejected with %s, and no session is opened on this machine instead',
    async (_, workspaceBackend, says) => {
      const { agent, root } = await openAgent()
      expect(() => agent.session(root, { workspaceBackend: workspaceBackend as never })).toThrow(says)
      expect(() => new LocalWorkspaceBackend('')).toThrow('LocalWorkspaceBackend requires a root path')
      expect(() => new LocalWorkspaceBackend(undefined as never)).toThrow(TypeError)
    },
  )
})

describe('the short form of a host environment', () => {
  it('equals the objects that it names', async () => {
    const written: string[] = []
    const { agent, root } = await openAgent()
    for (const hostEnv of [
      { sequentialIdPrefix: 'p', fixedTimeMs: 7_000 },
      { idGenerator: new SequentialIdGenerator('p'), clock: new FixedClock(7_000) },
    ]) {
      const sessionStore = new MemorySessionStore()
      const model = scriptedModel([{ toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }, 'done'])
      const session = agent.session(root, { sessionStore, hostEnv, model })
      expect(session.sessionId).toBe('p-0')
      await session.send('look')
      expect((await session.runs())[0]).toMatchObject({ createdAtMs: 7_000 })
      await session.close()
      written.push(JSON.stringify((await sessionStore.read('p-0'))?.records))
    }
    expect(written[0]).toBe(written[1])
  })

  it('works for a fork, with its own ids, and a built agent', async () => {
    const { agent, root } = await openAgent()
    const session = agent.session(root, { model: scriptedModel(['ok', 'ok']), sessionId: 's' })
    await session.send('hello')
    const fork = await agent.forkSession(session, { hostEnv: { sequentialIdPrefix: 'f', fixedTimeMs: 1 } })
    await fork.send('more')
    const ids = [...fork.messages().map(({ id }) => id), ...(await fork.runs()).map(({ id }) => id)]
    expect(fork.sessionId).toBe('f-0')
    expect(new Set(ids).size).toBe(ids.length)
    const built = new AgentBuilder('b', scriptedModel(['ok'])).hostEnv({ sequentialIdPrefix: 'b' }).build()
    expect(built).toBeDefined()
  })

  it.each<[unknown, RegExp]>([
    [{ sequentialIdPrefix: 7 }, /sequentialIdPrefix must be a string/],
    [{ fixedTimeMs: Number.NaN }, /fixedTimeMs must be a whole number/],
    [{ fixedTimeMs: -1 }, /fixedTimeMs/],
    [{ fixedTimeMs: 1, clock: new FixedClock(1) }, /clock and fixedTimeMs/],
    [
      { sequentialIdPrefix: 'a', idGenerator: new SequentialIdGenerator('b') },
      /idGenerator and sequentialIdPrefix/,
    ],
  ])('is rejected as %j', async (hostEnv, says) => {
    const { agent, root } = await openAgent()
    expect(() => agent.session(root, { hostEnv: hostEnv as never })).toThrow(says)
  })
})

it('metadataJson exists for every result of a tool', async () => {
  const { session } = await openSession([calls(['read', { file_path: 'a.txt' }]), 'ok'], {}, { 'a.txt': 'a' })
  for (const result of [
    await session.tool('read', { file_path: 'a.txt' }),
    await session.tool('read', { file_path: 'none' }),
    await session.tool('no_such_tool', {}),
  ])
    expect(JSON.parse(result.metadataJson)).toEqual(result.metadata)
})
