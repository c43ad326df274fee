/**
 * FT-28: the same script with the same ids and times, on the same workspace, gives the same bytes. What a machine adds
 * of its own is not in the log: no durations but the clock's, no ids but the generator's. One thing is the machine's
 * all the same, and emitted as it happened: which of several calls ends first.
 */
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FixedClock, SequentialIdGenerator } from '../../src/loop/host-env.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { byPrompt, call } from '../contract/subagents.js'
import { factor } from '../support/fault-factor.js'
import { recordsOf, storeWith } from './kept.js'

const sessionId = 'again'
const script: (ScriptedStep | string)[] = [
  { toolCalls: [{ name: 'todo', args: { todos: [{ content: 'look', status: 'pending' }] } }] },
  {
    text: 'Reading.',
    reasoning: 'First this.',
    toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }],
  },
  { toolCalls: [{ name: 'glob', args: { pattern: '**/*.txt' } }] },
  { toolCalls: [{ name: 'grep', args: { pattern: 'o' } }] },
  { toolCalls: [{ name: 'ls', args: {} }] },
  { toolCalls: [{ name: 'edit', args: { file_path: 'a.txt', old_string: 'one', new_string: 'two' } }] },
  { toolCalls: [{ name: 'write', args: { file_path: 'c.txt', content: 'new\n' } }] },
  {
    toolCalls: [
      { name: 'nothing_like_this', args: {} },
      { name: 'read', input: '{"file_path":' },
    ],
  },
  {
    toolCalls: [
      { name: 'slow', args: {} },
      { name: 'quick', args: {} },
    ],
  },
  'All of it was done.',
]

async function record(base: string, userDir: string, store: SessionStore): Promise<void> {
  const root = join(base, 'same')
  await rm(root, { recursive: true, force: true })
  await mkdir(root)
  for (const name of ['a.txt', 'b.txt']) await writeFile(join(root, name), 'one\n')
  const timed = (name: string, ms: number) =>
    createJsonTool({
      name,
      description: 'Waits.',
      parameters: { type: 'object', properties: {} },
      execute: async (_, { progress }) => {
        progress?.('half')
        await new Promise((resolve) => setTimeout(resolve, ms))
        return name
      },
    })
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const session = agent.session(root, {
    sessionId,
    sessionStore: store,
    sandbox: 'off',
    tools: [timed('slow', 30), timed('quick', 1)],
    hostEnv: { idGenerator: new SequentialIdGenerator('x'), clock: new FixedClock(1_700_000_000_000) },
    permissionPolicy: { allow: ['bash', 'edit', 'write', 'slow', 'quick'] },
    model: scriptedModel(script),
  })
  await session.send('Do all of it.')
  await session.close()
}

const lines = async (store: SessionStore): Promise<string> =>
  (await recordsOf(store, sessionId)).map((record) => JSON.stringify(record)).join('\n')

it('the same run twice writes byte-identical records', async () => {
  const { base, userDir } = await makeWorkspace()
  const first = new MemorySessionStore()
  await record(base, userDir, first)
  const expected = await lines(first)
  expect(expected.split('\n').length).toBeGreaterThan(60)
  for (let n = 0; n < Math.min(500, 3 * factor); n++) {
    const next = new MemorySessionStore()
    await record(base, userDir, next)
    expect(await lines(next)).toBe(expected)
  }
  // In a file too.
  const file = new FileSessionStore(join(base, 'sessions'))
  await record(base, userDir, file)
  expect(await lines(file)).toBe(expected)
})

it('a run with commands, a program, another agent and verification does too', async () => {
  const { base, userDir } = await makeWorkspace()
  const root = join(base, 'same')
  const source = `export default async (ctx) => ({ summary: 'read', text: await ctx.readFile('a.txt') })`
  const steps = [
    call('bash', { command: 'echo hello' }),
    call('program', { source }),
    call('task', { agent: 'explore', description: 'looks', prompt: 'look' }),
  ]
  const made: string[] = []
  for (let n = 0; n < 2; n++) {
    await rm(root, { recursive: true, force: true })
    await mkdir(root)
    await writeFile(join(root, 'a.txt'), 'one\n')
    const store = new MemorySessionStore()
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(root, {
      sessionId,
      sessionStore: store,
      sandbox: 'off',
      hostEnv: { idGenerator: new SequentialIdGenerator('x'), clock: new FixedClock(1_700_000_000_000) },
      permissionPolicy: { allow: ['bash', 'program', 'task'] },
      verify: { commands: [{ id: 'ok', command: 'true' }] },
      model: byPrompt(({ prompt, turn }) => (prompt === 'look' ? 'seen' : (steps[turn] ?? 'done'))),
    })
    await session.send('Do all of it.')
    await session.close()
    const ids = (await store.list()).map(({ id }) => id).toSorted()
    expect(ids).toHaveLength(2)
    const logs = await Promise.all(ids.map((id) => recordsOf(store, id)))
    made.push(logs.flatMap((log) => log.map((record) => JSON.stringify(record))).join('\n'))
  }
  expect(made[1]).toBe(made[0])
  for (const type of ['tool_step', 'task', 'verification']) expect(made[0]).toContain(`"type":"${type}"`)
})

it('a session that resumes from the same log with the same ids and times continues in the same way', async () => {
  const { base, userDir } = await makeWorkspace()
  const recorded = new MemorySessionStore()
  await record(base, userDir, recorded)
  const records = await recordsOf(recorded, sessionId)
  const cut = records.findLastIndex(({ type }) => type === 'checkpoint')
  const runId =
    records.flatMap(({ type, data }) => (type === 'run' && 'id' in data ? [data.id] : []))[0] ?? ''
  const ends: string[] = []
  for (let n = 0; n < 2; n++) {
    const store = await storeWith(sessionId, records.slice(0, cut + 1))
    const agent = await Agent.create({}, { userDir, env: {} })
    whenDone(() => agent.close())
    const session = agent.session(join(base, 'same'), {
      sessionId,
      sessionStore: store,
      sandbox: 'off',
      hostEnv: { idGenerator: new SequentialIdGenerator('y'), clock: new FixedClock(1_800_000_000_000) },
      model: scriptedModel(['Done.']),
    })
    await session.resumeRun(runId)
    await session.close()
    ends.push(await lines(store))
  }
  expect(ends[0]).toBe(ends[1])
})
