import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Agent,
  FileMemoryStore,
  FileSessionStore,
  type Session,
  type SessionOptions,
  SqliteSessionStore,
} from '../../src/index.js'
import { FixedClock, SequentialIdGenerator } from '../../src/loop/host-env.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { EventCollector, HandClock } from '../agent-dir/support.js'
import { byPrompt, call } from '../contract/subagents.js'

/** Where a writer works. `target` is the directory that becomes the golden one; the others are thrown away. */
export type Places = { readonly target: string; readonly workspace: string; readonly user: string }

/** Contents past 64 KB are stored next to the log. */
export const longPrompt = 'All hands on deck. '.repeat(3_600)
export const startMs = Date.UTC(2026, 0, 31, 8)

const program = `export default async (ctx) => ({ summary: 'read', text: await ctx.readFile('a.txt') })`
const steps = [
  call('todo', { todos: [{ content: 'look', status: 'pending' }] }),
  { text: 'Reading.', reasoning: 'First this.', ...call('read', { file_path: 'a.txt' }) },
  call('edit', { file_path: 'a.txt', old_string: 'one', new_string: 'two' }),
  call('write', { file_path: 'c.txt', content: 'new\n' }),
  call('bash', { command: 'echo hello' }),
  call('program', { source: program }),
  call('task', { agent: 'explore', description: 'looks', prompt: 'look' }),
  call('no_such_tool', {}),
]

/** Options that say the same on every run. */
function fixed(prefix: string): Pick<SessionOptions, 'hostEnv' | 'sandbox'> {
  return {
    sandbox: 'off',
    hostEnv: { idGenerator: new SequentialIdGenerator(prefix), clock: new FixedClock(startMs) },
  }
}

async function emptyWorkspace(workspace: string): Promise<void> {
  await rm(workspace, { recursive: true, force: true })
  await mkdir(workspace, { recursive: true })
  await writeFile(join(workspace, 'a.txt'), 'one\n')
}

/**
 * One session with every kind of record: prompts (one stored next to the log), answers with reasoning, calls with and
 * without effects, a program, a subagent, a verification, a compaction, a rewind; and one that was suspended while a
 * call waited for an approval.
 */
export async function writeSessions(store: SessionStore, { workspace, user }: Places): Promise<void> {
  await emptyWorkspace(workspace)
  const agent = await Agent.create({}, { userDir: user, env: {} })
  try {
    const session = agent.session(workspace, {
      ...fixed('voyage'),
      sessionId: 'voyage',
      sessionStore: store,
      tenantId: 'acme',
      permissionPolicy: { allow: ['edit', 'program', 'task', 'write'] },
      onAsk: () => ({ decision: 'session' }),
      verify: { commands: [{ id: 'there', command: 'test -e c.txt' }] },
      model: byPrompt(({ prompt, turn }) =>
        prompt === 'Do all of it.' ? (steps[turn] ?? 'All of it was done.') : `About ${prompt.slice(0, 20)}.`,
      ),
    })
    await session.send('Do all of it.')
    await session.send(longPrompt)
    await session.send('/compact')
    await session.send('This is rewound.')
    const rewound = session.messages().findLast(({ role }) => role === 'user')
    await session.rewind(rewound?.id ?? '')
    await session.close()

    const waiting = agent.session(workspace, {
      ...fixed('waiting'),
      sessionId: 'waiting',
      sessionStore: store,
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 24 * 3_600_000 },
      model: scriptedModel([call('write', { file_path: 'ship.log', content: 'Day 1\n' }, 'call_1')]),
    })
    for await (const event of await waiting.stream('Begin the log.'))
      if (event.type === 'confirmation_required') void waiting.suspend()

    await writeLanes(
      agent.session(workspace, {
        ...fixed('lanes'),
        sessionId: 'lanes',
        sessionStore: store,
        permissionPolicy: { allow: ['bash'] },
        queueConfig: { enableDlq: true, retryPolicy: { strategy: 'none' } },
        model: scriptedModel([
          {
            toolCalls: [
              { id: 'call_1', name: 'bash', args: { command: 'echo one' } },
              { id: 'call_2', name: 'bash', args: { command: 'echo two' } },
            ],
          },
        ]),
      }),
    )
  } finally {
    await agent.close()
  }
}

/** A dead letter, and a session that was suspended while workers had tasks: one was completed, one was not begun. */
async function writeLanes(session: Session): Promise<void> {
  await session.setLaneHandler('execute', { mode: 'external', timeoutMs: 1 })
  await session.tool('bash', { command: 'echo late' })
  await session.setLaneHandler('execute', { mode: 'external', timeoutMs: 24 * 3_600_000 })
  let isFirst = true
  for await (const event of await session.stream('Echo.')) {
    if (event.type !== 'external_task_pending') continue
    if (isFirst) await session.completeExternalTask(event.taskId, { success: true, result: 'one' })
    else void session.suspend()
    isFirst = false
  }
}

export async function writeFileSessions(places: Places): Promise<void> {
  await writeSessions(new FileSessionStore(places.target), places)
}

export async function writeSqliteSessions(places: Places): Promise<void> {
  const store = new SqliteSessionStore(join(places.target, 'sessions.db'))
  try {
    await writeSessions(store, places)
  } finally {
    await store.close()
  }
}

export async function writeExport(places: Places): Promise<void> {
  const store = new FileSessionStore(join(places.user, 'exported'))
  await writeSessions(store, places)
  const agent = await Agent.create({}, { userDir: places.user, env: {} })
  let lines = ''
  for await (const line of agent.exportSession('voyage', { sessionStore: store })) lines += line
  await agent.close()
  await writeFile(join(places.target, 'voyage.jsonl'), lines)
}

export async function writeMemories({ target, workspace, user }: Places): Promise<void> {
  await emptyWorkspace(workspace)
  const agent = await Agent.create({}, { userDir: user, env: {} })
  const session = agent.session(workspace, { ...fixed('memory'), memoryStore: new FileMemoryStore(target) })
  await session.rememberSuccess('run the login test', ['bash'], 'needs the database on port 5433')
  await session.rememberFailure('publish the package', 'no token in this shell', ['bash'])
  await agent.close()
}

/**
 * The rules that a user agreed to permanently, as `always` writes them. The names of the files depend on the path of
 * the workspace.
 */
export async function writeRules({ target, workspace, user }: Places): Promise<void> {
  await emptyWorkspace(workspace)
  const agent = await Agent.create({}, { userDir: target, env: {} })
  const model = scriptedModel([
    call('write', { file_path: 'ship.log', content: 'Day 1\n' }),
    call('bash', { command: 'mkdir -p hold' }),
    'Done.',
  ])
  const session = agent.session(workspace, {
    ...fixed('rules'),
    onAsk: () => ({ decision: 'always' }),
    model,
  })
  await session.send('Begin the log.')
  await agent.close()
  await rm(user, { recursive: true, force: true })
}

/** What a schedule has fired is in the log of its session. */
export async function writeSchedule({ target, workspace, user }: Places): Promise<void> {
  await emptyWorkspace(workspace)
  const dir = join(user, 'agent')
  await mkdir(join(dir, 'schedules'), { recursive: true })
  await writeFile(join(dir, 'instructions.md'), 'You are the night watch.\n')
  await writeFile(join(dir, 'schedules/tick.md'), scheduleFile)
  const agent = await Agent.create({}, { userDir: user, env: {} })
  const clock = new HandClock('2026-05-01T08:59:30Z')
  const collected = new EventCollector()
  const served = await agent.serveAgentDir(dir, workspace, {
    clock,
    sessionStore: new FileSessionStore(target),
    model: scriptedModel(['All is quiet.']),
    onEvent: collected.onEvent,
  })
  await clock.pass(30_000)
  await collected.made(1)
  await served.stop()
  await agent.close()
}

export const scheduleFile = '---\ncron: "0 9 * * *"\ncatch_up: last\n---\nLook around.\n'
