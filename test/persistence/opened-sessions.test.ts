import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { FixedClock, SequentialIdGenerator } from '../../src/loop/host-env.js'
import type { SessionOptions } from '../../src/session/options.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { recordsOf, stateOf } from './kept.js'

type Place = { readonly agent: Agent; readonly root: string; readonly base: string; readonly userDir: string }

async function openPlace(): Promise<Place> {
  const { base, root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return { agent, base, root, userDir }
}

const memory = new WeakMap<Place, MemorySessionStore>()
const stores: readonly [string, (place: Place) => SessionStore][] = [
  ['files', ({ base }) => new FileSessionStore(join(base, 'sessions'))],
  [
    'memory',
    (place) => {
      const store = memory.get(place) ?? new MemorySessionStore()
      memory.set(place, store)
      return store
    },
  ],
  ['SQLite', ({ base }) => new SqliteSessionStore(join(base, 'sessions.db'))],
]

describe.each(stores)('a session that was opened with a store in %s', (_, storeIn) => {
  const open = async (options: SessionOptions = {}) => {
    const place = await openPlace()
    const store = storeIn(place)
    whenDone(async () => store.close?.())
    const session = place.agent.session(place.root, {
      sessionStore: store,
      sessionId: 'docs-contract',
      model: scriptedModel(['one', 'two', 'three']),
      ...options,
    })
    return { ...place, place, store, session }
  }

  it('can be saved and resumed before its first message', async () => {
    const { session, agent, place, root } = await open({ autoSave: true, tenantId: 'acme' })
    await session.save()
    const resumed = agent.resumeSession('docs-contract', { sessionStore: storeIn(place) })
    expect(resumed.history()).toEqual([])
    expect([resumed.workspace, resumed.tenantId, resumed.initWarning]).toEqual([root, 'acme', null])
    // Saving did not take it: who speaks first, has it.
    const model = scriptedModel(['from the other'])
    await resumed.close()
    const other = agent.resumeSession('docs-contract', { sessionStore: storeIn(place), model })
    expect((await other.send('hello')).text).toBe('from the other')
  })

  it('exists at once, with one record, and is listed', async () => {
    const { store, session, root } = await open()
    await session.close()
    expect(await store.list()).toMatchObject([{ id: 'docs-contract', workspaceRoot: root }])
    expect(await recordsOf(store, 'docs-contract')).toMatchObject([
      { type: 'session', data: { id: 'docs-contract', workspaceRoot: root } },
    ])
  })

  it('writes its first record once, whether it is saved, closed or sent a message', async () => {
    const { store, session } = await open()
    await Promise.all([session.save(), session.save()])
    await session.send('first')
    await session.save()
    await session.close()
    const types = (await recordsOf(store, 'docs-contract')).map(({ type }) => type)
    // The second is the title.
    expect(types.filter((type) => type === 'session')).toHaveLength(2)
  })

  it('can be sent a message at once, and while it is being saved', async () => {
    const { store, session } = await open()
    const said = session.send('first')
    await Promise.all([session.save(), said])
    expect((await said).text).toBe('one')
    await session.send('second')
    expect((await stateOf(store, 'docs-contract')).messages).toHaveLength(4)
  })

  it('belongs to no process until a message is sent: two processes can open it, and the first that sends has it', async () => {
    const { session, place, agent, userDir, root } = await open()
    const second = await Agent.create({}, { userDir, env: {} })
    whenDone(() => second.close())
    const options = { sessionStore: storeIn(place), sessionId: 'docs-contract' }
    const other = second.session(root, { ...options, model: scriptedModel(['from there']) })
    await Promise.all([session.save(), other.save()])
    expect((await other.send('hello')).text).toBe('from there')
    await expect(session.send('and I')).rejects.toMatchObject({
      code: expect.stringMatching(/^(session_locked|store_stale)$/),
    })
    // There is nothing of its own that it could lose.
    await session.save()
    await second.close()
    await session.close()
    const resumed = agent.resumeSession('docs-contract', { ...options, model: scriptedModel(['again']) })
    expect(resumed.messages()).toHaveLength(2)
    await resumed.send('more')
  })

  it('can be forked, exported, pruned and deleted while it is empty', async () => {
    const { session, agent, store } = await open()
    await session.save()
    const fork = await agent.forkSession('docs-contract', { sessionStore: store, sessionId: 'copy' })
    expect(fork.messages()).toEqual([])
    await fork.close()
    const lines: string[] = []
    for await (const line of agent.exportSession('docs-contract', { sessionStore: store })) lines.push(line)
    expect(lines.length).toBeGreaterThan(0)
    await session.close()
    expect(await agent.pruneSession('docs-contract', { sessionStore: store })).toMatchObject({ records: 1 })
    expect(await store.delete('docs-contract')).toBe(true)
    expect((await store.list()).map(({ id }) => id)).toEqual(['copy'])
  })

  it('is named after the first words of its first prompt', async () => {
    const { session, store, agent, place } = await open()
    expect(session.title).toBe(null)
    await session.send('/help')
    expect(session.title).toBe(null)
    await session.send('  Fix the\n\tparser:  it drops the last token\u0007 ')
    expect(session.title).toBe('Fix the parser: it drops the last token')
    await session.send('And now something else')
    await session.close()
    expect(await store.list()).toMatchObject([{ title: 'Fix the parser: it drops the last token' }])
    const resumed = agent.resumeSession('docs-contract', {
      sessionStore: storeIn(place),
      model: scriptedModel(['ok']),
    })
    expect(resumed.title).toBe('Fix the parser: it drops the last token')
  })

  it('has the title that it is given, as an option or later', async () => {
    const { session, store, agent, place } = await open({ title: 'Release 3' })
    expect(session.title).toBe('Release 3')
    await session.send('Something else')
    expect(session.title).toBe('Release 3')
    await session.setTitle(' Release\n4 ')
    await session.send('More')
    await session.close()
    expect(await store.list()).toMatchObject([{ title: 'Release 4' }])
    const options = { sessionStore: storeIn(place), model: scriptedModel(['ok', 'ok']) }
    const resumed = agent.resumeSession('docs-contract', options)
    expect(resumed.title).toBe('Release 4')
    await resumed.close()
    await expect(resumed.setTitle('late')).rejects.toMatchObject({ code: 'session_closed' })
    const renamed = agent.resumeSession('docs-contract', { ...options, title: 'Release 5' })
    await renamed.send('continue')
    await renamed.close()
    expect((await store.list())[0]?.title).toBe('Release 5')
  })
})

describe('a title', () => {
  it.each([
    ['', /1 to 200/],
    [' \n', /1 to 200/],
    ['x'.repeat(201), /1 to 200/],
    [7, /must be a string/],
  ])('is rejected when it is %j', async (title, says) => {
    const { agent, root } = await openPlace()
    expect(() => agent.session(root, { title: title as string })).toThrow(says)
    const session = agent.session(root)
    await expect(session.setTitle(title as string)).rejects.toThrow(says)
    await expect(session.setTitle(undefined as never)).rejects.toThrow(/must be a string/)
    expect(session.title).toBe(null)
  })

  it('is cut at a word when the prompt is long, and never inside a character', async () => {
    const { agent, root } = await openPlace()
    const titled = async (prompt: string): Promise<string> => {
      const session = agent.session(root, { model: scriptedModel(['ok']) })
      await session.send(prompt)
      return session.title ?? ''
    }
    const words = await titled('word '.repeat(100_000))
    expect(words).toMatch(/^(word ){14}word…$/)
    const wide = await titled('🚢'.repeat(200))
    expect([...wide]).toHaveLength(80)
    expect(wide).toBe(`${'🚢'.repeat(79)}…`)
  })

  it('contains no secret of the prompt, when secrets are redacted in the log', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const config = {
      providers: [{ name: 'x', apiKey: 'sk-very-secret-key-1234567890', models: [{ id: 'm' }] }],
    }
    const agent = await Agent.create(config as never, { userDir, env: {} })
    whenDone(() => agent.close())
    const store = new FileSessionStore(join(base, 'sessions'))
    const session = agent.session(root, { sessionStore: store, sessionId: 's', model: scriptedModel(['ok']) })
    await session.send('Use sk-very-secret-key-1234567890 to deploy')
    await session.close()
    expect(session.title).not.toContain('very-secret')
    expect(await readFile(join(base, 'sessions', 's', 'log.jsonl'), 'utf8')).not.toContain('very-secret')
  })

  it('stays empty for a prompt on another history, which the session does not store', async () => {
    const { agent, root } = await openPlace()
    const session = agent.session(root, { model: scriptedModel(['ok']) })
    await session.send({ prompt: 'aside', history: [] })
    expect(session.title).toBe(null)
  })
})

describe('autoSave: false', () => {
  it('has no effect on a session with a store, and initWarning says why', async () => {
    const { agent, root } = await openPlace()
    const store = new MemorySessionStore()
    const options = { sessionStore: store, sessionId: 's', model: scriptedModel(['ok']) }
    const session = agent.session(root, { ...options, autoSave: false })
    expect(session.initWarning).toMatch(/autoSave: false has no effect.*so that a run can be resumed/)
    await session.send('hello')
    expect((await stateOf(store, 's')).messages).toHaveLength(2)
    await session.close()
    const resumed = agent.resumeSession('s', { ...options, autoSave: false })
    expect(resumed.initWarning).toContain('autoSave')
  })

  it('has no effect on a store of the configuration either', async () => {
    const { base, root, userDir } = await makeWorkspace()
    const storage = { storageBackend: 'file', storageUrl: join(base, 'sessions') } as const
    const agent = await Agent.create(storage, { userDir, env: {} })
    whenDone(() => agent.close())
    expect(agent.session(root, { autoSave: false }).initWarning).toContain('autoSave')
    expect(agent.session(root, { autoSave: true }).initWarning).toBe(null)
  })

  it('has no warning without a store', async () => {
    const { agent, root } = await openPlace()
    expect(agent.session(root, { autoSave: false }).initWarning).toBe(null)
  })
})

describe('a store that cannot be written', () => {
  it('fails the save and the first message, not the opening, and is tried again', async () => {
    const { agent, root } = await openPlace()
    let broken = true
    class Failing extends MemorySessionStore {
      override async create(...given: Parameters<MemorySessionStore['create']>): Promise<boolean> {
        if (broken) throw new Error('the disk is gone')
        return super.create(...given)
      }
      override async open(...given: Parameters<MemorySessionStore['open']>) {
        if (broken) throw new Error('the disk is gone')
        return super.open(...given)
      }
    }
    const store = new Failing()
    const session = agent.session(root, { sessionStore: store, sessionId: 's', model: scriptedModel(['ok']) })
    await expect(session.save()).rejects.toThrow('the disk is gone')
    await expect(session.send('hello')).rejects.toThrow('the disk is gone')
    broken = false
    await session.save()
    expect((await store.list()).map(({ id }) => id)).toEqual(['s'])
    expect((await session.send('hello')).text).toBe('ok')
  })

  it('creates sessions with their first message, or when they are saved, when it cannot create them before', async () => {
    const { agent, root } = await openPlace()
    class Plain extends MemorySessionStore {
      override create = undefined as never
    }
    const store = new Plain()
    const session = agent.session(root, { sessionStore: store, sessionId: 's', model: scriptedModel(['ok']) })
    expect(await store.list()).toEqual([])
    await session.save()
    expect(await recordsOf(store, 's')).toMatchObject([{ type: 'session' }])
    await session.send('hello')
    expect((await stateOf(store, 's')).messages).toHaveLength(2)
  })
})

it('many sessions that are opened at once are one file each, and none is kept open', async () => {
  const { agent, base, root } = await openPlace()
  const store = new FileSessionStore(join(base, 'sessions'))
  const before = (await readdir('/proc/self/fd')).length
  const sessions = Array.from({ length: 100 }, () => agent.session(root, { sessionStore: store }))
  const names = await readdir(join(base, 'sessions'))
  expect(names).toHaveLength(100)
  for (const name of names.slice(0, 5))
    expect(await readdir(join(base, 'sessions', name))).toEqual(['log.jsonl'])
  if (existsSync('/proc/self/fd')) expect((await readdir('/proc/self/fd')).length).toBeLessThan(before + 20)
  expect(new Set(sessions.map(({ sessionId }) => sessionId)).size).toBe(100)
})

it('the log of a session with the same ids and times is the same, however its opening and first message overlap', async () => {
  const { base, root, userDir } = await makeWorkspace()
  const written: string[] = []
  for (const wait of [false, true, false]) {
    const agent = await Agent.create({}, { userDir, env: {} })
    const store = new FileSessionStore(join(base, `sessions-${written.length}`))
    const session = agent.session(root, {
      sessionStore: store,
      hostEnv: { idGenerator: new SequentialIdGenerator('x'), clock: new FixedClock(1_000, 1) },
      model: scriptedModel(['ok']),
    })
    if (wait) await new Promise((resolve) => setTimeout(resolve, 30))
    await session.send('hello')
    await agent.close()
    written.push(JSON.stringify(await recordsOf(store, session.sessionId)))
  }
  expect(new Set(written).size).toBe(1)
})
