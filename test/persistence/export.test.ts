import { createHash } from 'node:crypto'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Agent } from '../../src/agent/agent.js'
import { exportSession } from '../../src/store/export-session.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { importSession } from '../../src/store/import-session.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { stateOf } from './kept.js'
import { openAgentPlace } from './open-agent.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace({ 'a.txt': 'one\n' })
  base = place.base
  work = place.work
  agent = place.agent
})

const now = () => 5

async function recorded(store: SessionStore): Promise<void> {
  const session = agent.session(work, {
    sessionId: 's',
    sessionStore: store,
    role: 'You are careful.',
    tenantId: 'acme',
    permissionPolicy: { allow: ['bash(*)'] },
    model: scriptedModel([
      { toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'two\n' } }] },
      { text: 'x'.repeat(70_000) },
    ]),
    onAsk: () => ({ decision: 'session' }),
  })
  await session.send('write it')
  await session.close()
}

async function linesOf(store: SessionStore, id = 's'): Promise<string[]> {
  const lines: string[] = []
  for await (const line of exportSession(store, id)) lines.push(line)
  return lines
}

describe.each<[string, () => SessionStore]>([
  ['files', () => new FileSessionStore(join(base, 'sessions'))],
  ['memory', () => new MemorySessionStore()],
  ['SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
])('a session exported from %s', (_, makeStore) => {
  it('is restored exactly, with what is stored next to its log', async () => {
    const store = makeStore()
    await recorded(store)
    const lines = await linesOf(store)
    const types = lines.map((line) => JSON.parse(line).type)
    expect(types[0]).toBe('session')
    expect(types).toContain('blob')
    const other = new MemorySessionStore()
    // However the text is cut.
    const text = lines.join('')
    const pieces = text.match(/[\s\S]{1,4099}/g) ?? []
    const outcome = await importSession(other, pieces, { trusted: true, now })
    expect(outcome).toMatchObject({ id: 's', leftOut: {}, notes: [] })
    expect((await other.read('s'))?.records).toEqual((await store.read('s'))?.records)
    expect(await linesOf(other)).toEqual(lines)
    const before = (await agent.openSession('s', { sessionStore: store })).history()
    expect((await agent.openSession('s', { sessionStore: other })).history()).toEqual(before)
  })

  it('gains no authority by the import', async () => {
    const store = makeStore()
    await recorded(store)
    const outcome = await agent.importSession(agent.exportSession('s', { sessionStore: store }), {
      sessionStore: store,
      id: 'copy',
    })
    expect(outcome.leftOut).toMatchObject({ rules: 1, 'file changes': 1, verdicts: expect.any(Number) })
    expect(outcome.leftOut['options']).toBeGreaterThan(0)
    const text = JSON.stringify((await store.read('copy'))?.records)
    expect(text).not.toContain('"rules"')
    expect(text).not.toContain('"decision"')
    expect(text).not.toContain('bash(*)')
    expect(text).not.toContain('You are careful.')
    expect(text).not.toContain('file_change')
    const session = await agent.openSession('copy', { sessionStore: store, workspace: work })
    expect(session.history()).toHaveLength(4)
    expect(await session.changes()).toEqual([])
  })

  it('has neither its owner nor its workspace, unless it is trusted', async () => {
    const store = makeStore()
    await recorded(store)
    const lines = await linesOf(store)
    const taken = (id: string, options: { workspace?: string; trusted?: boolean }) =>
      agent.importSession(lines, { sessionStore: store, id, ...options })
    expect((await taken('nowhere', {})).leftOut).toMatchObject({ workspaceRoot: 1, labels: 1 })
    const words = /workspace of 'nowhere' is not known/
    expect(() => agent.resumeSession('nowhere', { sessionStore: store })).toThrow(words)
    await expect(agent.forkSession('nowhere', { sessionStore: store })).rejects.toThrow(words)

    const elsewhere = join(base, 'elsewhere')
    await mkdir(elsewhere)
    await taken('here', { workspace: elsewhere })
    const here = agent.resumeSession('here', { sessionStore: store })
    expect(here.workspace).toBe(await realpath(elsewhere))
    expect(here.tenantId).toBeNull()

    await taken('ours', { trusted: true })
    const ours = agent.resumeSession('ours', { sessionStore: store })
    expect(ours.workspace).toBe(await realpath(work))
    expect(ours.tenantId).toBe('acme')
  })

  it('shows the start of a content that is not part of a message, and continues', async () => {
    const store = makeStore()
    const bad = ['no JSON', 'null', '[]', '{"type":"tool_call","id":"c"}', '{"type":"image","data":"aa"}']
    for (const [at, text] of bad.entries()) {
      const bytes = Buffer.from(text)
      const digest = createHash('sha256').update(bytes).digest('hex')
      const stub = { type: 'text', text: 'how it began' }
      const id = `s${at}`
      const records = [
        { type: 'session', data: { id, schemaVersion: 1, updatedAtMs: 1 } },
        { type: 'message', data: { id: 'm', sessionId: id, role: 'user', createdAtMs: 1 } },
        { type: 'blob', data: { digest, base64: bytes.toString('base64') } },
        {
          type: 'part',
          data: {
            id: 'p',
            messageId: 'm',
            sessionId: id,
            index: 0,
            content: { type: 'blob', digest, bytes: 9, stub },
          },
        },
      ]
      const lines = records.map((record) => `${JSON.stringify(record)}\n`)
      await importSession(store, lines, { now, workspace: work })
      expect((await stateOf(store, id)).missingBlobs).toEqual([digest])
      const session = agent.resumeSession(id, { sessionStore: store, model: scriptedModel(['on']) })
      expect(session.history()).toMatchObject([{ content: [{ text: 'how it began' }] }])
      expect((await session.send('continue')).text).toBe('on')
      await session.close()
      const stubless = lines.map((line) =>
        line.replace(JSON.stringify(stub), '{"type":"tool_call","id":"c"}'),
      )
      await expect(importSession(store, stubless, { now, id: 'bad' })).rejects.toThrow(
        /content of the type blob: stub/,
      )
    }
  })

  it('marks no step of a workflow as done that was not done on this machine', async () => {
    const store = makeStore()
    const task = {
      type: 'task',
      taskId: 't',
      childSessionId: 'c',
      agent: 'a',
      description: 'd',
      status: 'completed',
      background: false,
      startedAtMs: 1,
      updatedAtMs: 1,
      output: 'all is well',
      counters: {},
      workflow: { id: 'release', step: '0', digest: 'd' },
    }
    const lines = [
      '{"type":"session","data":{"id":"x","schemaVersion":1,"updatedAtMs":1}}\n',
      `${JSON.stringify({ type: 'part', data: { id: 'p', messageId: '', sessionId: 'x', index: -1, content: task } })}\n`,
    ]
    expect((await importSession(store, lines, { now })).leftOut).toEqual({ 'workflow steps': 1 })
    expect((await stateOf(store, 'x')).tasks.get('t')).toEqual({ ...task, workflow: null })
    await importSession(store, lines, { now, id: 'ours', trusted: true })
    expect((await stateOf(store, 'ours')).tasks.get('t')).toEqual(task)
  })

  it('is rejected with the line when it is invalid, and leaves nothing behind', async () => {
    const store = makeStore()
    const first = '{"type":"session","data":{"id":"x","schemaVersion":1,"updatedAtMs":1}}\n'
    const bad: [string, RegExp][] = [
      [`${first}{"type":"mess`, /^Line 2: it is not JSON/],
      [`${first}\n{"type":"other","data":{}}`, /^Line 3: the type "other" is not known/],
      [`${first}[1]`, /^Line 2: it is not of the form/],
      ['{"type":"run","data":{}}', /^Line 1: run\.id must be/],
      [
        `${first}{"type":"message","data":{"id":"m","sessionId":"x","role":"root","createdAtMs":1}}`,
        /message\.role must be one of/,
      ],
      [
        `${first}{"type":"part","data":{"id":"p","messageId":"m","sessionId":"x","index":1e9,"content":{"type":"text","text":""}}}`,
        /part\.index/,
      ],
      [`${first}{"type":"blob","data":{"digest":"00","base64":"AA=="}}`, /^Line 2: the content is not what/],
      ['{"type":"session","data":{"id":"x","schemaVersion":99,"updatedAtMs":1}}', /schema 99/],
      ['', /no session in these lines/],
    ]
    for (const [text, words] of bad)
      await expect(importSession(store, [text], { now })).rejects.toThrow(words)
    await expect(importSession(store, [first], { now, maxLineLength: 10 })).rejects.toMatchObject({
      code: 'import_too_large',
      line: 1,
    })
    await expect(importSession(store, [first, first], { now, maxRecords: 1 })).rejects.toMatchObject({
      code: 'import_too_large',
    })
    expect(await store.list()).toEqual([])
    await importSession(store, [first], { now })
    await expect(importSession(store, [first], { now })).rejects.toMatchObject({ code: 'import_exists' })
    await expect(linesOf(store, 'nowhere')).rejects.toMatchObject({ code: 'store_not_found' })
  })
})
