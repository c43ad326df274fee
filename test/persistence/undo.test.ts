import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import type { JsonValue } from '../../src/tool/json.js'
import { openAgentPlace } from './open-agent.js'

let base: string
let work: string
let agent: Agent
beforeEach(async () => {
  const place = await openAgentPlace()
  base = place.base
  work = place.work
  agent = place.agent
})

const call = (name: string, args: JsonValue): ScriptedStep => ({ toolCalls: [{ name, args }] })
const at = (path: string): string => join(work, path)
const text = (path: string): Promise<string> => readFile(at(path), 'utf8')
const there = (path: string): Promise<boolean> =>
  stat(at(path)).then(
    () => true,
    () => false,
  )
const allow: SessionOptions = { onAsk: () => ({ decision: 'once' }) }

describe.each<[string, () => SessionStore | undefined]>([
  ['in files', () => new FileSessionStore(join(base, 'sessions'))],
  ['in SQLite', () => new SqliteSessionStore(join(base, 'sessions.db'))],
  ['in memory', () => new MemorySessionStore()],
  ['nowhere', () => undefined],
])('the file changes of a run, stored %s', (name, makeStore) => {
  const open = (script: (ScriptedStep | string)[], store = makeStore(), more: SessionOptions = {}) =>
    agent.session(work, {
      ...allow,
      sessionId: 's',
      model: scriptedModel(script),
      ...(store !== undefined && { sessionStore: store }),
      ...more,
    })

  it('are undone by a caller that has just read the last event of the run', async () => {
    await writeFile(at('a.txt'), 'nine')
    const session = open([call('write', { file_path: 'a.txt', content: 'twelve' }), 'Done.'])
    for await (const event of await session.stream('go')) {
      if (event.type === 'agent_end') await session.undo()
    }
    expect(await text('a.txt')).toBe('nine')
  })

  it('are listed and undone: edits, new files, removed ones, with their modes', async () => {
    await writeFile(at('edited.txt'), 'one\ntwo\nthree\n')
    await writeFile(at('run.sh'), '#!/bin/sh\n')
    await chmod(at('run.sh'), 0o750)
    await writeFile(at('alone.txt'), 'mine\n')
    const patch = '--- a/run.sh\n+++ /dev/null\n@@ -1 +0,0 @@\n-#!/bin/sh\n'
    const session = open([
      call('edit', { file_path: 'edited.txt', old_string: 'two', new_string: '2\n2' }),
      call('edit', { file_path: 'edited.txt', old_string: 'three', new_string: '3' }),
      call('write', { file_path: 'new/deep/made.txt', content: 'a\nb\n' }),
      call('patch', { file_path: 'run.sh', diff: patch }),
      'done',
    ])
    const { runId } = await session.send('go')
    expect(await there('run.sh')).toBe(false)
    expect(await session.changes()).toEqual([
      { path: 'edited.txt', kind: 'modified', added: 3, removed: 2, undone: false },
      { path: 'new/deep/made.txt', kind: 'created', added: 2, removed: 0, undone: false },
      { path: 'run.sh', kind: 'removed', added: 0, removed: 1, undone: false },
    ])
    const outcome = await session.undo()
    expect(outcome).toMatchObject({ runId, refused: [] })
    expect(outcome.restored).toEqual(['edited.txt', 'new/deep/made.txt', 'run.sh'])
    expect(await text('edited.txt')).toBe('one\ntwo\nthree\n')
    expect(await there('new')).toBe(false)
    expect(await text('run.sh')).toBe('#!/bin/sh\n')
    expect((await stat(at('run.sh'))).mode & 0o777).toBe(0o750)
    expect(await text('alone.txt')).toBe('mine\n')
    expect((await session.changes(runId)).map(({ undone }) => undone)).toEqual([true, true, true])
    await expect(session.undo()).rejects.toMatchObject({ code: 'nothing_to_undo' })
    await expect(session.undo(runId)).rejects.toMatchObject({ code: 'nothing_to_undo' })
    // An undo can be taken back like anything else, and then the run can again.
    expect((await session.undo(outcome.undoId)).restored).toHaveLength(3)
    expect(await text('edited.txt')).toBe('one\n2\n2\n3\n')
    expect(await text('new/deep/made.txt')).toBe('a\nb\n')
    expect(await there('run.sh')).toBe(false)
    expect((await session.undo(runId)).restored).toHaveLength(3)
    expect(await text('edited.txt')).toBe('one\ntwo\nthree\n')
  })

  it('are not undone when the file has changed since the run, and that is reported', async () => {
    await writeFile(at('a.txt'), 'a\n')
    await writeFile(at('b.txt'), 'b\n')
    const session = open([
      call('write', { file_path: 'a.txt', content: 'run\n' }),
      call('write', { file_path: 'b.txt', content: 'run\n' }),
      call('write', { file_path: 'c.txt', content: 'run\n' }),
      'done',
      call('write', { file_path: 'b.txt', content: 'second run\n' }),
      'done',
    ])
    const first = await session.send('go')
    const second = await session.send('more')
    await writeFile(at('a.txt'), 'by hand\n')
    await rm(at('c.txt'))
    await mkdir(at('c.txt'))
    const { restored, refused } = await session.undo(first.runId)
    expect(restored).toEqual([])
    expect(refused.map(({ path }) => path)).toEqual(['a.txt', 'b.txt', 'c.txt'])
    expect(refused[0]?.why).toMatch(/not what the run wrote: another process/)
    expect(refused[1]?.why).toContain(second.runId)
    expect(await text('a.txt')).toBe('by hand\n')
    await session.undo(second.runId)
    expect((await session.undo(first.runId)).restored).toEqual(['b.txt'])
    expect(await text('b.txt')).toBe('b\n')
    expect(await text('a.txt')).toBe('by hand\n')
  })

  it('are not undone through a link that exists now', async () => {
    await writeFile(at('a.txt'), 'a\n')
    const session = open([call('write', { file_path: 'a.txt', content: 'run\n' }), 'done'])
    await session.send('go')
    await rm(at('a.txt'))
    await writeFile(at('other.txt'), 'run\n')
    await symlink('other.txt', at('a.txt'))
    expect((await session.undo()).refused).toMatchObject([{ path: 'a.txt', why: /link/ }])
    expect(await text('other.txt')).toBe('run\n')
  })

  it('include tools of a host, moves and direct calls, and name files that are too large', async () => {
    await writeFile(at('from.txt'), 'content\n')
    await writeFile(at('huge.bin'), Buffer.alloc(16 * 1024 * 1024 + 1))
    const mover = createJsonTool({
      name: 'mover',
      description: 'Moves a file and empties another.',
      requires: { fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] } },
      parameters: { type: 'object', properties: {} },
      touches: () => ['from.txt', 'to.txt', 'huge.bin'].map((path) => ({ fs: 'write' as const, path })),
      execute: async (_args, { runtime }) => {
        await runtime?.files?.move('from.txt', 'to.txt')
        await runtime?.files?.write('huge.bin', 'small')
        return 'moved'
      },
    })
    const session = open([call('mover', {}), 'done'], makeStore(), { tools: [mover] })
    await session.send('go')
    expect(await there('to.txt')).toBe(true)
    const changes = await session.changes()
    expect(changes.map(({ path, kind }) => `${kind} ${path}`)).toEqual([
      'created to.txt',
      'removed from.txt',
      'unknown huge.bin',
    ])
    expect(changes[2]?.whyNot).toMatch(/16777217 bytes/)
    const { restored, refused } = await session.undo()
    expect(restored).toEqual(['to.txt', 'from.txt'])
    expect(refused).toMatchObject([{ path: 'huge.bin' }])
    expect(await text('from.txt')).toBe('content\n')
    expect(await text('huge.bin')).toBe('small')

    await session.tool('write', { file_path: 'direct.txt', content: 'x' })
    // Direct calls are not a run: what is left of the last one stays what it is.
    expect((await session.undo()).restored).toEqual([])
    expect((await session.undo('host')).restored).toEqual(['direct.txt'])
    expect(await there('direct.txt')).toBe(false)
  })

  it('are undone although a later run wrote a file with the same content', async () => {
    await writeFile(at('a.txt'), 'a\n')
    const session = open([
      call('write', { file_path: 'a.txt', content: 'first\n' }),
      'done',
      call('write', { file_path: 'a.txt', content: 'second\n' }),
      'done',
      call('write', { file_path: 'a.txt', content: 'second\n' }),
      'done',
      call('write', { file_path: 'a.txt', content: 'second\n' }),
      'done',
    ])
    const [first, second] = [await session.send('1'), await session.send('2')]
    await session.send('3')
    await session.send('4')
    expect(await session.changes()).toMatchObject([{ path: 'a.txt', kind: 'modified' }])
    expect(await session.undo()).toMatchObject({ runId: second.runId, restored: ['a.txt'], refused: [] })
    expect(await text('a.txt')).toBe('first\n')
    expect(await session.undo()).toMatchObject({ runId: first.runId, restored: ['a.txt'] })
    expect(await text('a.txt')).toBe('a\n')
    await expect(session.undo()).rejects.toMatchObject({ code: 'nothing_to_undo' })
  })

  it('are undone although the file of a later run was changed by hand since', async () => {
    await writeFile(at('a.txt'), 'a\n')
    const session = open([
      call('write', { file_path: 'a.txt', content: 'run\n' }),
      'done',
      call('write', { file_path: 'b.txt', content: 'run\n' }),
      'done',
    ])
    const first = await session.send('1')
    await session.send('2')
    await writeFile(at('b.txt'), 'by hand\n')
    expect(await session.undo()).toMatchObject({
      runId: first.runId,
      restored: ['a.txt'],
      refused: [{ path: 'b.txt' }],
    })
    expect(await text('a.txt')).toBe('a\n')
    expect(await text('b.txt')).toBe('by hand\n')
  })

  it('are described by a diff on request', async () => {
    await writeFile(at('a.txt'), 'one\ntwo\n')
    const session = open([call('write', { file_path: 'a.txt', content: 'one\nthree\n' }), 'done'])
    await session.send('go')
    expect((await session.changes())[0]).not.toHaveProperty('diff')
    const [change] = await session.changes(undefined, { diff: true })
    expect(change?.diff).toBe('a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three')
  })

  it('can be undone by another process', async () => {
    const store = makeStore()
    if (store === undefined || name === 'in memory') return
    await writeFile(at('a.txt'), 'before\n')
    const session = open([call('write', { file_path: 'a.txt', content: 'after\n' }), 'done'], store)
    const { runId } = await session.send('go')
    await agent.close()
    agent = await Agent.create({}, { userDir: join(base, 'user') })
    const again = agent.resumeSession('s', { sessionStore: store })
    expect(await again.changes()).toMatchObject([{ path: 'a.txt', added: 1, removed: 1 }])
    expect(await again.undo()).toMatchObject({ runId, restored: ['a.txt'] })
    expect(await text('a.txt')).toBe('before\n')
    await again.close()
    const third = await agent.openSession('s', { sessionStore: store })
    expect(await third.changes(runId)).toMatchObject([{ undone: true }])
  })

  it('save no secret; the process that saw it can still restore the file', async () => {
    const secret = 'hunter2-is-a-long-secret'
    await writeFile(at('env.txt'), `KEY=${secret}\n`)
    const store = makeStore()
    const session = open([call('write', { file_path: 'env.txt', content: 'KEY=\n' }), 'done'], store, {
      securityProvider: { redactOutput: (said: string) => said.replaceAll(secret, '[hidden]') } as never,
    })
    await session.send('go')
    if (store !== undefined) {
      const lines = await store.read('s')
      expect(JSON.stringify(lines)).not.toContain(secret)
      const note = lines?.records.find(
        (one) => one.type === 'part' && one.data.content.type === 'file_change',
      )
      expect(note).toMatchObject({ data: { content: { before: { kind: 'file' } } } })
      expect(JSON.stringify(note)).not.toContain('digest')
    }
    expect((await session.undo()).restored).toEqual(['env.txt'])
    expect(await text('env.txt')).toBe(`KEY=${secret}\n`)
  })
})
