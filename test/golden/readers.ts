import { createHash } from 'node:crypto'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import {
  Agent,
  FileMemoryStore,
  FileSessionStore,
  MemorySessionStore,
  type Session,
  SqliteSessionStore,
} from '../../src/index.js'
import { load } from '../../src/session/journal/restore.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { EventCollector, HandClock } from '../agent-dir/support.js'
import { call } from '../contract/subagents.js'
import { longPrompt, type Places, scheduleFile, startMs } from './writers.js'

/** For each format, opens its golden files as a user would and checks what they say. */
export const readers: Readonly<Record<string, (places: Places) => Promise<void>>> = {
  'session-file': (places) => readSessions(new FileSessionStore(places.target), places),

  'session-sqlite': async (places) => {
    const store = new SqliteSessionStore(join(places.target, 'sessions.db'))
    try {
      await readSessions(store, places)
    } finally {
      await store.close()
    }
  },

  'session-export': (places) =>
    withAgent(places.user, async (agent) => {
      const sessionStore = new MemorySessionStore()
      const lines = await readFile(join(places.target, 'voyage.jsonl'), 'utf8')
      await agent.importSession([lines], { sessionStore, workspace: places.workspace })
      const session = agent.resumeSession('voyage', { sessionStore, model: scriptedModel(['Aye.']) })
      expectHistory(session)
      expect((await session.send('Continue.')).text).toBe('Aye.')
    }),

  memory: (places) =>
    withAgent(places.user, async (agent) => {
      const memoryStore = new FileMemoryStore(places.target)
      const session = agent.session(places.workspace, { memoryStore })
      expect(await session.memoryStats()).toMatchObject({ longTermCount: 2 })
      const [best] = await session.recallSimilar('why does the login test fail?')
      expect(best).toMatchObject({
        content: 'Success: run the login test\nTools: bash\nResult: needs the database on port 5433',
        memoryType: 'procedural',
        importance: 0.8,
        createdAtMs: startMs,
        tags: ['success', 'pattern', 'bash'],
      })
      expect(await session.recallByTags(['avoid'])).toHaveLength(1)
      expect(memoryStore.problems()).toEqual([])
    }),

  rules: async (places) => {
    // The directory of a project is named by its path.
    const name = createHash('sha256').update(places.workspace).digest('hex').slice(0, 32)
    const [written = ''] = await readdir(join(places.target, 'projects'))
    await mkdir(join(places.user, 'projects'), { recursive: true })
    await cp(join(places.target, 'projects', written), join(places.user, 'projects', name), {
      recursive: true,
    })
    await withAgent(places.user, async (agent) => {
      const asked: string[] = []
      const session = agent.session(places.workspace, {
        sandbox: 'off',
        onAsk: ({ toolName }) => {
          asked.push(toolName)
          return { decision: 'reject' }
        },
        model: scriptedModel([
          call('write', { file_path: 'ship.log', content: 'Day 2\n' }),
          call('bash', { command: 'mkdir -p hold' }),
          call('write', { file_path: 'other.log', content: 'Day 2\n' }),
          'Done.',
        ]),
      })
      await session.send('Continue.')
      expect(asked).toEqual(['write'])
      expect((await readdir(places.workspace)).toSorted()).toEqual(['hold', 'ship.log'])
    })
  },

  schedule: async (places) => {
    const dir = join(places.user, 'agent')
    await mkdir(join(dir, 'schedules'), { recursive: true })
    await writeFile(join(dir, 'instructions.md'), 'You are the night watch.\n')
    await writeFile(join(dir, 'schedules/tick.md'), scheduleFile)
    await withAgent(places.user, async (agent) => {
      const collected = new EventCollector()
      const clock = new HandClock('2026-05-02T09:10:00Z')
      const model = scriptedModel(['Still quiet.'])
      const served = await agent.serveAgentDir(dir, places.workspace, {
        clock,
        sessionStore: new FileSessionStore(places.target),
        model,
        onEvent: collected.onEvent,
      })
      // The log says what was fired on the first of May, so the second is what is left to catch up on.
      const reports = await collected.made(1)
      expect(reports).toMatchObject([{ status: 'completed', firedAtMs: Date.parse('2026-05-02T09:00:00Z') }])
      expect(JSON.stringify(model.requests[0]?.chatHistory)).toContain('All is quiet.')
      await served.stop()
    })
  },
}

async function readSessions(sessionStore: SessionStore, { workspace, user }: Places): Promise<void> {
  // As the session left it.
  await writeFile(join(workspace, 'a.txt'), 'two\n')
  await writeFile(join(workspace, 'c.txt'), 'new\n')
  await withAgent(user, async (agent) => {
    const asked: string[] = []
    const session = await agent.openSession('voyage', {
      sessionStore,
      // Without it a log may only narrow what the session is allowed.
      trustStore: true,
      workspace,
      sandbox: 'off',
      onAsk: ({ toolName }) => {
        asked.push(toolName)
        return { decision: 'reject' }
      },
      model: scriptedModel([call('bash', { command: 'echo hello' }), 'Aye.']),
    })
    expect(session.tenantId).toBe('acme')
    expectHistory(session)
    expect(session.todos()).toMatchObject([{ content: 'look', status: 'pending' }])
    expect(session.verificationReports()).toHaveLength(3)
    expect(await session.subagentTasks()).toMatchObject([{ agent: 'explore', status: 'completed' }])
    const runs = await session.runs()
    expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'completed'))
    const [first] = runs.toSorted((a, b) => a.id.localeCompare(b.id, 'en', { numeric: true }))
    expect((await session.changes(first?.id)).map(({ path }) => path).toSorted()).toEqual(['a.txt', 'c.txt'])
    // Versions before 1.4 have no decisions.
    const events = (await Promise.all(runs.map(({ id }) => session.runEvents(id)))).flat()
    for (const { event } of events)
      if (event.type === 'tool_end' && event.decision !== undefined)
        expect(event.decision).toMatchObject({ endedAt: expect.any(String), durationMs: expect.any(Number) })
    // A command that was approved for the session is not asked about again, and the check of the session holds.
    expect((await session.send('Continue.')).text).toBe('Aye.')
    expect(asked).toEqual([])
    await session.undo(first?.id)
    expect(await readFile(join(workspace, 'a.txt'), 'utf8')).toBe('one\n')
    expect(await readdir(workspace)).toEqual(['a.txt'])
    await session.close()

    const waiting = await agent.openSession('waiting', {
      sessionStore,
      workspace,
      hostEnv: { clock: { now: () => startMs + 1_000 } },
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 24 * 3_600_000 },
      model: scriptedModel(['Aye.']),
    })
    expect(waiting.pendingConfirmations()).toMatchObject([
      { toolId: 'call_1', toolName: 'write', fromBefore: true },
    ])
    expect((await waiting.send('Leave it.')).text).toBe('Aye.')
    expect(waiting.pendingConfirmations()).toEqual([])
    expect(await readdir(workspace)).toEqual(['a.txt'])

    // Versions before 1.5 have no lane queue in the log.
    if ((await sessionStore.read('lanes')) === undefined) return
    const lanes = await agent.openSession('lanes', {
      sessionStore,
      workspace,
      queueConfig: { enableDlq: true },
    })
    expect((await lanes.queueStats()).lanes.execute.mode).toBe('external')
    expect(await lanes.deadLetters()).toMatchObject([
      { commandType: 'bash', payload: { command: 'echo late' }, fromLog: true, mayHaveRun: false },
    ])
    const tasks = (await load(sessionStore, 'lanes'))?.queue?.tasks.values() ?? []
    expect([...tasks].map(({ task }) => task)).toMatchObject([
      { state: 'completed', args: '{"command":"echo one"}', completion: { success: true, result: 'one' } },
      { args: '{"command":"echo two"}' },
    ])
    // No task of the log is listed before the gate has judged its call again.
    expect(await lanes.pendingExternalTasks()).toEqual([])
  })
}

/** What the model is shown of the voyage, and what it is not: a rewound message. */
function expectHistory(session: Session): void {
  const texts = session.history().map(({ role, content }) => `${role}: ${content[0]?.text ?? ''}`)
  expect(texts[0]).toBe('user: Do all of it.')
  expect(texts).toContain(`user: ${longPrompt}`)
  expect(texts.join('\n')).not.toContain('This is rewound.')
  // The first files have no title.
  expect([null, 'Do all of it.']).toContain(session.title)
}

async function withAgent(userDir: string, work: (agent: Agent) => Promise<void>): Promise<void> {
  const agent = await Agent.create({}, { userDir, env: {} })
  try {
    await work(agent)
  } finally {
    await agent.close()
  }
}
