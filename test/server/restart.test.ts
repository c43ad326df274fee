import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { StoreError } from '../../src/store/errors.js'
import { FileSessionStore } from '../../src/store/file/file-session-store.js'
import { MemorySessionStore, type SessionStore } from '../../src/store/index.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'
import { SqliteSessionStore } from '../../src/store/sqlite/sqlite-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createJsonTool } from '../../src/tool/create-json-tool.js'
import { directory, readEvents, type Started, startServer } from './support.js'

const wait = { timeout: 60_000 }

/** Opens a session and starts a run in it. */
async function startRun({ call }: Started, body: object = { prompt: 'Work.' }) {
  const { sessionId } = (await call('POST', '/v1/sessions', {})).body
  const base = `/v1/sessions/${sessionId}`
  const { runId } = (await call('POST', `${base}/runs`, body)).body
  return { base, runId, events: `${base}/runs/${runId}/events` }
}

describe('a server that takes over from another', () => {
  it('lists a question that the earlier process asked, accepts its answer and continues the run', async () => {
    const shared = { store: new MemorySessionStore(), workspaces: [directory()] }
    const questions = [{ question: 'Which color?', options: [{ label: 'red' }, { label: 'blue' }] }]
    const asking = { text: 'I ask.', toolCalls: [{ name: 'question', args: { questions }, id: 'ask-1' }] }
    const first = await startServer({ ...shared, session: { model: scriptedModel([asking]) } })
    const { base, runId, events } = await startRun(first)
    await vi.waitFor(
      async () => expect((await first.call('GET', `${base}/questions`)).body.questions).toHaveLength(1),
      wait,
    )
    await first.stop()

    const model = scriptedModel(['Blue it is.'])
    const second = await startServer({ ...shared, session: { model } })
    const path = `${base}/questions/ask-1`
    expect((await second.call('GET', `${base}/questions`)).body.questions).toMatchObject([
      { questionId: 'ask-1', questions, fromBefore: true },
    ])
    expect((await second.call('POST', path, { answers: [] })).status).toBe(400)
    const answered = await second.call('POST', path, { answers: [['blue']] })
    expect(answered).toMatchObject({ status: 200, body: { questionId: 'ask-1', runId: expect.any(String) } })
    expect((await second.call('POST', path, { answers: [['red']] })).status).toBe(409)
    const all = await readEvents(second.url, events)
    expect(all.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'Blue it is.' } })
    expect(all.find(({ event }) => event.type === 'tool_end')?.event.toolOutput).toContain('blue')
    expect(JSON.stringify(model.requests)).toContain('blue')
    expect((await second.call('GET', `${base}/questions`)).body.questions).toEqual([])
    await second.stop()

    const third = await startServer(shared)
    expect((await third.call('POST', path, { answers: [['red']] })).body.code).toBe('already_answered')
    expect((await third.call('POST', `${base}/questions/x`, { answers: [] })).body.code).toBe(
      'question_not_found',
    )
    expect((await third.call('GET', `${base}/runs/${runId}`)).body.status).toBe('interrupted')
  })

  it('asks a question again for a reader that reconnects, and accepts the answer then', async () => {
    const shared = { store: new MemorySessionStore(), workspaces: [directory()] }
    const args = { questions: [{ question: 'Which?' }] }
    const asking = { toolCalls: [{ name: 'question', args, id: 'ask-1' }] }
    const first = await startServer({ ...shared, session: { model: scriptedModel([asking]) } })
    const { base, events } = await startRun(first)
    const before = await readEvents(first.url, events, { until: 'user_question' })
    await first.stop()
    const second = await startServer({ ...shared, session: { model: scriptedModel(['Done.']) } })
    const rest = readEvents(second.url, events, { from: before.at(-1)?.sequence ?? 0 })
    await vi.waitFor(async () => {
      const [one] = (await second.call('GET', `${base}/questions`)).body.questions
      expect(one).toMatchObject({ questionId: 'ask-1' })
      expect(one.fromBefore).toBeUndefined()
    }, wait)
    expect((await second.call('POST', `${base}/questions/ask-1`, { answers: [['this']] })).status).toBe(200)
    expect((await rest).at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'Done.' } })
  })

  it.each<[string, (place: string) => SessionStore]>([
    ['files', (place) => new FileSessionStore(place)],
    ['SQLite', (place) => new SqliteSessionStore(place)],
  ])('has the attachments and the whole prompt of a queued run, in %s', async (_, openStore) => {
    const shared = { store: openStore(join(directory(), 'sessions')), workspaces: [directory()] }
    const first = await startServer({ ...shared, session: { model: scriptedModel([{ hang: true }]) } })
    const { base } = await startRun(first)
    const text = 'A document of the user. '.repeat(10_000)
    const data = Buffer.from(text).toString('base64')
    const prompt = `Read this. ${'It is long. '.repeat(1_000)}`
    const attachments = [
      { data, mediaType: 'text/plain', name: 'long.txt' },
      { data: 'aGVsbG8=', mediaType: 'text/plain' },
    ]
    const queued = await first.call('POST', `${base}/runs`, { prompt, attachments })
    expect(queued).toMatchObject({ status: 202, body: { status: 'queued' } })
    await first.stop()

    const model = scriptedModel(['I have read it.'])
    const second = await startServer({ ...shared, session: { model } })
    const events = await readEvents(second.url, `${base}/runs/${queued.body.runId}/events`)
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'I have read it.' } })
    const content = model.requests[0]?.chatHistory.at(-1)?.content
    expect(content).toMatchObject([
      { type: 'text', text: prompt },
      { type: 'document', data: text, name: 'long.txt' },
      { type: 'document', data: 'hello' },
    ])
    await second.stop()
    await shared.store.close?.()
  })
})

describe('a run in another live process', () => {
  const writing = [
    {
      text: 'I write the file now.',
      toolCalls: [{ name: 'write', args: { file_path: 'a.txt', content: 'hello' }, id: 'call-1' }],
    },
    'The file is written.',
  ]

  it('is followed to its end, and is neither resumed nor answered from here', async () => {
    const shared = { store: new MemorySessionStore(), workspaces: [directory()] }
    const owner = await startServer({ ...shared, session: { model: scriptedModel(writing) } })
    const { base, runId, events } = await startRun(owner)
    const other = await startServer({ ...shared, session: { model: scriptedModel([]) } })
    const watched = readEvents(other.url, events)
    const asked = await readEvents(other.url, events, { until: 'confirmation_required' })
    expect(asked.map(({ event }) => (event.type === 'text_delta' ? event.text : '')).join('')).toBe(
      'I write the file now.',
    )
    const locked = { status: 409, body: { code: 'session_locked' } }
    expect(await other.call('POST', `${base}/approvals/call-1`, { decision: 'once' })).toMatchObject(locked)
    expect(await other.call('POST', `${base}/runs/${runId}/resume`)).toMatchObject(locked)
    expect(await other.call('POST', `${base}/runs`, { prompt: 'Me too.' })).toMatchObject(locked)
    expect((await owner.call('POST', `${base}/approvals/call-1`, { decision: 'once' })).status).toBe(200)
    const seen = await watched
    expect(seen.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'The file is written.' } })
    const all = await readEvents(owner.url, events)
    const isPiece = (type: string): boolean => type.endsWith('_delta')
    expect(seen.filter(({ event }) => !isPiece(event.type))).toEqual(
      all.filter(({ event }) => !isPiece(event.type)),
    )
    expect((await other.call('GET', `${base}/runs`)).body.runs).toMatchObject([
      { runId, status: 'completed', resultText: 'The file is written.' },
    ])
    expect((await other.call('GET', `${base}/history`)).body.history).toHaveLength(4)
  })

  it('is resumed by the reader when that process ends before the run', async () => {
    const shared = { store: new MemorySessionStore(), workspaces: [directory()] }
    const owner = await startServer({ ...shared, session: { model: scriptedModel([{ hang: true }]) } })
    const { events } = await startRun(owner)
    const other = await startServer({ ...shared, session: { model: scriptedModel(['Finished here.']) } })
    const started = await readEvents(other.url, events, { until: 'turn_start' })
    const rest = readEvents(other.url, events, { from: started.at(-1)?.sequence ?? 0 })
    await owner.stop()
    expect((await rest).at(-1)?.event).toMatchObject({
      type: 'agent_end',
      result: { text: 'Finished here.' },
    })
  })
})

it('a server that is closed waits for all sessions, also if the log of one cannot be written', async () => {
  const full = new Set<string>()
  class FullStore extends MemorySessionStore {
    override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
      const log = await super.open(id, options)
      const [append, close] = [log.append.bind(log), log.close.bind(log)]
      return Object.assign(log, {
        append: (...given: Parameters<SessionLog['append']>) =>
          full.has(id) ? Promise.reject(new StoreError('store_full', 'The disk is full.')) : append(...given),
        close: async () => {
          if (!full.has(id)) await setTimeout(200)
          await close()
        },
      })
    }
  }
  const store = new FullStore()
  const note = createJsonTool({
    name: 'note',
    description: 'Notes.',
    parameters: { type: 'object', properties: {} },
    execute: () => 'noted',
  })
  const questions = [{ question: 'Which color?', options: [{ label: 'red' }] }]
  const both = {
    toolCalls: [
      { name: 'note', args: {} },
      { name: 'question', args: { questions } },
    ],
  }
  const started = await startServer({
    store,
    session: { model: scriptedModel(() => both), tools: [note], permissionPolicy: { allow: ['note'] } },
  })
  const bases: string[] = []
  for (const _ of [1, 2]) {
    const { base, events } = await startRun(started)
    // The result of the first call is in memory until the round has ended.
    await readEvents(started.url, events, { until: 'tool_end' })
    await vi.waitFor(
      async () => expect((await started.call('GET', `${base}/questions`)).body.questions).toHaveLength(1),
      wait,
    )
    bases.push(base)
  }
  const [first = '', second = ''] = bases.map((base) => base.slice('/v1/sessions/'.length))
  full.add(first)
  await expect(started.server.close()).rejects.toMatchObject({ code: 'store_full' })
  await (await store.open(second, { holder: 'the next', now: () => Date.now() })).close()
})

it('a server reports that an idle session could not be closed, and continues', async () => {
  const disk = { isFull: false }
  class FullStore extends MemorySessionStore {
    override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
      const log = await super.open(id, options)
      const close = log.close.bind(log)
      return Object.assign(log, {
        close: () =>
          disk.isFull ? Promise.reject(new StoreError('store_full', 'The disk is full.')) : close(),
      })
    }
  }
  const errors: unknown[] = []
  const started = await startServer({
    store: new FullStore(),
    limits: { idleMs: 1_000 },
    onError: (error) => errors.push(error),
    session: { model: scriptedModel(() => 'Done.') },
  })
  const { base, events } = await startRun(started)
  disk.isFull = true
  await readEvents(started.url, events, { until: 'agent_end' })
  await vi.waitFor(() => expect(errors[0]).toMatchObject({ code: 'store_full' }), wait)
  expect((await started.call('GET', base)).status).toBe(200)
})
