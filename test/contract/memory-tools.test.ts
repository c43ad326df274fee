import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FileMemoryStore, InProcessMemoryStore } from '../../src/memory/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import {
  calls,
  configFor,
  eventsOf,
  makeWorkspace,
  ofType,
  openServer,
  openSession,
  shownTools,
  toolResults,
  whenDone,
} from './open-session.js'

const names = ['remember', 'recall', 'forget']

describe('the memory tools of the model', () => {
  it('are absent unless the host turns them on, and need a store', async () => {
    const off = await openSession(['hi'], { memoryStore: new InProcessMemoryStore() })
    await off.session.send('hello')
    for (const name of names) expect(shownTools(off.server, 0)).not.toContain(name)
    const { session } = await openSession([], { memory: { tools: true } })
    expect(session.initWarning).toContain('memory.tools has no effect')
    expect(session.toolNames()).not.toContain('remember')
  })

  it('save a note with its session, run and time, which a later session finds and a person can read', async () => {
    const place = temporaryDirectory()
    const first = await openSession(
      [calls(['remember', { text: 'The login test needs port 5433.', tags: ['tests', 'success'] }]), 'saved'],
      { memoryStore: new FileMemoryStore(place), memory: { tools: true }, builtinTools: ['read'] },
    )
    const events = await eventsOf(first.session, 'note the port')
    const [stored] = ofType(events, 'memory_stored')
    const [start] = ofType(events, 'agent_start')
    expect(stored?.tags).toEqual(['model', 'tests'])
    const [file] = readdirSync(place)
    const text = readFileSync(join(place, file ?? ''), 'utf8')
    expect(text).toContain('The login test needs port 5433.')
    expect(text).toContain(first.session.sessionId)
    expect(text).toContain(start?.runId)
    await first.session.close()

    const second = await openSession(
      [calls(['recall', { query: 'login port' }]), calls(['forget', { id: stored?.memoryId ?? '' }]), 'done'],
      { memoryStore: new FileMemoryStore(place), memory: { tools: true, recall: false } },
    )
    await second.session.send('what about it?')
    const [found = ''] = toolResults(second.server, 1)
    expect(found).toContain('<recalled_memory>')
    expect(found).toContain('"tags":["model","tests"],"text":"The login test needs port 5433."')
    expect(toolResults(second.server, 2).at(-1)).toContain('Deleted.')
    expect(readdirSync(place)).toEqual([])
  })

  it('are limited in length and number', async () => {
    const memoryStore = new InProcessMemoryStore()
    const { server, session } = await openSession(
      [
        calls(['remember', { text: 'x'.repeat(2_001) }]),
        calls(['remember', { text: 'one' }], ['remember', { text: 'two' }]),
        calls(['remember', { text: 'three' }]),
        'done',
      ],
      { memoryStore, memory: { tools: { maxNotes: 2 } } },
    )
    await session.rememberSuccess('of the host', [], 'not counted')
    await session.send('remember much')
    expect(toolResults(server, 1)[0]).toMatch(/2000/)
    expect(toolResults(server, 3).at(-1)).toMatch(/2 is the limit/)
    expect((await memoryStore.list()).size).toBe(3)
  })

  it('are turned on by the configuration', async () => {
    const { root, userDir, base } = await makeWorkspace()
    const server = await openServer(['hi'])
    const config = `${configFor(`${server.url}/v1`)}\nmemory_dir = "${join(base, 'memory')}"\nmemory { tools = true }\n`
    const agent = await Agent.create(config, { userDir, env: {} })
    whenDone(() => agent.close())
    await agent.session(root).send('hello')
    expect(shownTools(server, 0)).toEqual(expect.arrayContaining(names))
  })

  it('let the host delete any memory', async () => {
    const { session } = await openSession([], { memoryStore: new InProcessMemoryStore() })
    const { id } = await session.rememberSuccess('build it', ['bash'], 'use make')
    expect(await session.forgetMemory(id)).toBe(true)
    expect(await session.forgetMemory(id)).toBe(false)
    expect(await session.memoryStats()).toEqual({ longTermCount: 0, shortTermCount: 0, workingCount: 0 })
  })
})
