/**
 * FT-05 to FT-07 end to end: a store that fails at any of its operations. What the file and SQLite stores make of a
 * full or broken disk is tested next to them.
 */
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { hooksFeature } from '../../src/hooks/feature.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import { StoreError } from '../../src/store/errors.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { createMemoryBackend, createMemoryFiles } from '../../src/workspace/index.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { FailingStore, type StoreOperation } from './failing-store.js'
import {
  expectWhole,
  type Ledger,
  notingTool,
  planModel,
  type Round,
  recordsOf,
  stateOf,
  storeWith,
} from './kept.js'

const sessionId = 'failing'

async function open(options: SessionOptions): Promise<Session> {
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  return agent.session(root, {
    sessionId,
    sandbox: 'off',
    permissionPolicy: { allow: ['note', 'long'] },
    ...options,
  })
}

/** Its results are stored next to the log. */
const longTool = createJsonTool({
  name: 'long',
  description: 'Says much.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  limits: { maxBytes: 1_000_000 },
  execute: ({ word }) => `noted ${word} ${'x'.repeat(100_000)}`,
})
/** Its disk can become full. */
class FullStore extends MemorySessionStore {
  readonly #disk: { readonly isFull: boolean }

  constructor(disk: { readonly isFull: boolean }) {
    super()
    this.#disk = disk
  }

  override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(id, options)
    const append = log.append.bind(log)
    return Object.assign(log, {
      append: (...given: Parameters<SessionLog['append']>) =>
        this.#disk.isFull
          ? Promise.reject(new StoreError('store_full', 'The disk is full.'))
          : append(...given),
    })
  }
}

/** Releasing a session takes a while. */
class SlowStore extends MemorySessionStore {
  override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(id, options)
    const close = log.close.bind(log)
    return Object.assign(log, {
      close: async () => {
        await setTimeout(100)
        await close()
      },
    })
  }
}

const rounds: Round[] = [
  [
    { tool: 'note', word: 'a0' },
    { tool: 'note', word: 'a1' },
  ],
  [{ tool: 'long', word: 'b0' }],
  [{ tool: 'note', word: 'c0' }],
]

describe('a store that fails at its k-th operation', () => {
  it('ends the run with its error; nothing starts after it, and everything that was acknowledged is stored', async () => {
    const seen = new Set<StoreOperation>()
    let reported = 0
    let k = 1
    for (; ; k++) {
      const store = new FailingStore(k)
      const ledger: Ledger = { begun: [], done: [] }
      const model = planModel(rounds)
      const session = await open({ sessionStore: store, tools: [notingTool(ledger), longTool], model })
      const outcome = await session.send('Note them.').then(
        ({ text }) => text,
        (error: unknown) => error,
      )
      const where = `operation ${k} (${store.failed})`
      if (store.failed === undefined) {
        expect(outcome).toBe('All is noted.')
        await session.close()
        break
      }
      seen.add(store.failed)
      expect(outcome, where).toBeInstanceOf(StoreError)
      expect(outcome, where).toMatchObject({ code: 'store_full' })
      const requests = model.requests.length
      const begun = ledger.begun.length
      const [run] = await session.runs()
      expect(run?.status, where).toBe('failed')
      const events = (await session.runEvents(run?.id ?? '')).map(({ event }) => event)
      expect(events.at(-1), where).toMatchObject({ type: 'error', code: 'store_full' })
      if (events.some(({ type }) => type === 'persistence_failed')) reported++
      // The session says so at once from then on, and asks no model.
      const before = session.history()
      await expect(session.send('And now?'), where).rejects.toMatchObject({ code: 'store_full' })
      // At the first one the log was not even opened, and there is nothing to save.
      if (k > 1) await expect(session.save(), where).rejects.toMatchObject({ code: 'store_full' })
      expect(session.history(), where).toEqual(before)
      expect(model.requests.length, where).toBe(requests)
      expect(ledger.begun.length, where).toBe(begun)
      await session.close()

      // With a healthy store everything that the model was shown as done is there, and the work can be ended.
      const shown = JSON.stringify(model.requests.at(-1)?.chatHistory ?? [])
      const records = await recordsOf(store, sessionId)
      const healthy = await storeWith(sessionId, records, (digest) => store.readBlobSync(sessionId, digest))
      const kept = await stateOf(healthy, sessionId)
      for (const word of shown.matchAll(/noted (\w+)/g))
        expect(JSON.stringify(kept.messages), where).toContain(word[0])
      const next = await open({
        sessionStore: healthy,
        tools: [notingTool(ledger), longTool],
        model: planModel(rounds),
      })
      const last = (await next.runs()).at(-1)
      const ended =
        last !== undefined && kept.checkpoints.has(last.id) ? next.resumeRun(last.id) : next.send('Continue.')
      expect((await ended).text, where).toBe('All is noted.')
      await next.close()
      expectWhole((await stateOf(healthy, sessionId)).messages.map(({ message }) => message))
    }
    console.info(
      `FT-06: a store that fails at each of ${k - 1} operations; ${reported} times the end of the run could not be written`,
    )
    expect(seen).toEqual(new Set(['append', 'blob']))
    expect(reported).toBeGreaterThan(0)
  })

  it('fails a save that cannot be made, and the session with it', async () => {
    class NoFlush extends MemorySessionStore {
      override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
        const log = await super.open(id, options)
        return {
          lease: log.lease,
          append: (records) => log.append(records),
          writeBlob: (bytes) => log.writeBlob(bytes),
          flush: () => Promise.reject(new StoreError('store_failed', 'The disk said no.')),
          close: () => log.close(),
        }
      }
    }
    const model = scriptedModel(['one', 'two'])
    const session = await open({ sessionStore: new NoFlush(), model })
    await session.send('Say one.')
    await expect(session.save()).rejects.toMatchObject({ code: 'store_failed' })
    await expect(session.send('Say two.')).rejects.toMatchObject({ code: 'store_failed' })
    expect(model.requests).toHaveLength(1)
    await session.close()
  })

  it('reports records that could not be written at the latest when the session is closed, and only once', async () => {
    const disk = { isFull: false }
    const unreported = await open({ sessionStore: new FullStore(disk), model: scriptedModel(['one']) })
    await unreported.send('Say one.')
    await unreported.setTitle('A title')
    disk.isFull = true
    // Closing writes the title again, for lists that read only the end of a log.
    await expect(unreported.close()).rejects.toMatchObject({ code: 'store_full' })
    disk.isFull = false
    const reported = await open({ sessionStore: new FullStore(disk), model: scriptedModel(['one', 'two']) })
    await reported.send('Say one.')
    disk.isFull = true
    await expect(reported.send('Say two.')).rejects.toMatchObject({ code: 'store_full' })
    await reported.close()
  })

  it.each<[string, string, (session: Session) => unknown]>([
    ['closed', 'session_closed', () => undefined],
    ['cancelled', 'cancelled', (session) => session.cancel()],
  ])('reports at close that the end of a run could not be written, which was %s', async (_, code, cancel) => {
    const disk = { isFull: false }
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const waiting = createJsonTool({
      name: 'note',
      description: 'Waits.',
      parameters: { type: 'object', properties: {} },
      execute: (_args, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason))
          begin()
        }),
    })
    const session = await open({
      sessionStore: new FullStore(disk),
      tools: [waiting],
      model: scriptedModel([{ toolCalls: [{ name: 'note', args: {} }] }, 'Done.']),
    })
    const sent = expect(session.send('Wait.')).rejects.toMatchObject({ code })
    await begun
    disk.isFull = true
    await cancel(session)
    if (code === 'cancelled') await sent
    const closed = expect(session.close()).rejects.toMatchObject({ code: 'store_full' })
    await sent
    await closed
  })

  it('closes a session by its signal, and reports the error to the next caller of close', async () => {
    const disk = { isFull: false }
    const host = new AbortController()
    const sessionStore = new FullStore(disk)
    const session = await open({ sessionStore, model: scriptedModel(['one']), signal: host.signal })
    await session.send('Say one.')
    await session.setTitle('A title')
    disk.isFull = true
    // An unhandled rejection would fail this file.
    host.abort()
    await expect.poll(() => sessionStore.open(sessionId, { holder: 'the next', now: () => 0 })).toBeDefined()
    await expect(session.close()).rejects.toMatchObject({ code: 'store_full' })
  })

  it('is closed, and its last records are written, also if the workspace and a feature cannot be closed', async () => {
    const sessionStore = new MemorySessionStore()
    const backend = createMemoryBackend(createMemoryFiles({}))
    const workspaceBackend: typeof backend = {
      ...backend,
      open: async (options) => ({
        ...(await backend.open(options)),
        close: () => Promise.reject(new Error('the workspace is stuck')),
      }),
    }
    const session = await open({ sessionStore, workspaceBackend, model: scriptedModel(['one']) })
    await session.send('Say one.')
    await session.setTitle('A title')
    await session.tool('ls', { path: '.' })
    const ended = vi.spyOn(hooksFeature, 'ended').mockRejectedValue(new Error('the hooks are stuck'))
    whenDone(async () => ended.mockRestore())
    const before = (await recordsOf(sessionStore, sessionId)).length
    const error: unknown = await session.close().catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      message: 'the hooks are stuck; the workspace is stuck',
      errors: [{ message: 'the hooks are stuck' }, { message: 'the workspace is stuck' }],
    })
    expect((await recordsOf(sessionStore, sessionId)).length).toBeGreaterThan(before)
    await (await sessionStore.open(sessionId, { holder: 'the next', now: () => 0 })).close()
  })

  it('does not keep an agent from closing its other sessions', async () => {
    const disk = { isFull: false }
    const { root, userDir } = await makeWorkspace()
    const agent = await Agent.create({}, { userDir, env: {} })
    const [full, working] = [new FullStore(disk), new SlowStore()]
    for (const [id, sessionStore] of [
      ['first', full],
      ['second', working],
    ] as const) {
      const session = agent.session(root, { sessionId: id, sessionStore, model: scriptedModel(['one']) })
      await session.send('Say one.')
      await session.setTitle('A title')
    }
    disk.isFull = true
    await expect(agent.close()).rejects.toMatchObject({ code: 'store_full' })
    await (await working.open('second', { holder: 'the next', now: () => 0 })).close()
    await (await full.open('first', { holder: 'the next', now: () => 0 })).close()
  })

  it('leaves nothing of a refused run in a session that is released right after it', async () => {
    let refused = 0
    class OnceLocked extends MemorySessionStore {
      override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
        if (refused++ === 0) throw new StoreError('store_lost_lease', 'Another process has it.')
        return super.open(id, options)
      }
    }
    const store = new OnceLocked()
    const session = await open({ sessionStore: store, model: scriptedModel([]) })
    await expect(session.send('Hi.')).rejects.toMatchObject({ code: 'store_lost_lease' })
    await session.close()
    // The session was opened, and that is all.
    expect((await recordsOf(store, sessionId)).map(({ type }) => type)).toEqual(['session'])
  })

  it('that cannot be opened can be tried again', async () => {
    let closed = true
    class Opening extends MemorySessionStore {
      override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
        if (closed) throw new StoreError('store_unwritable', 'The directory may not be written.')
        return super.open(id, options)
      }
    }
    const model = scriptedModel(['hello'])
    const store = new Opening()
    const session = await open({ sessionStore: store, model })
    await expect(session.send('Hi.')).rejects.toMatchObject({ code: 'store_unwritable' })
    expect(model.requests).toHaveLength(0)
    expect(session.history()).toEqual([])
    closed = false
    expect((await session.send('Hi.')).text).toBe('hello')
    await session.close()
    expect((await stateOf(store, sessionId)).messages).toHaveLength(2)
  })
})
