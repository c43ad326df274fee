/**
 * What a caller of one tenant can reach of another's: every method of the client, the queue and the store, and every
 * route of a server. The lists come from the code, so that a new method or route fails here until it is listed.
 */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { RunClient } from '../../src/cluster/run-client.js'
import { Worker } from '../../src/cluster/worker.js'
import { PostgresRunQueue, PostgresSessionStore } from '../../src/postgres/index.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import type { RunQueue } from '../../src/run-queue/run-queue.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { notingTool } from '../persistence/kept.js'
import { directory, startServer } from '../server/support.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'

const secret = 'the-secret-of-tenant-one'
const tokens = [
  { token: 'token-of-tenant-one-01', id: 'ann', tenantId: 'one' },
  { token: 'token-of-tenant-two-02', id: 'bob', tenantId: 'two' },
]
const as = (at: number) => ({ authorization: `Bearer ${tokens[at]?.token}` })

type Backend = { readonly store: SessionStore; readonly queue: RunQueue }

const backends: { readonly name: string; backend(): Promise<Backend> }[] = [
  {
    name: 'one process',
    async backend() {
      const store = new MemorySessionStore()
      return { store, queue: new InProcessRunQueue({ store }) }
    },
  },
  ...(hasPostgres()
    ? [
        {
          name: 'Postgres',
          async backend() {
            const options = await postgresSchema()
            return { store: new PostgresSessionStore(options), queue: new PostgresRunQueue(options) }
          },
        },
      ]
    : []),
]

/** A queue with a run of the tenant `one` that waits for an approval, and one that has failed. */
async function cluster(backend: () => Promise<Backend>) {
  const { store, queue } = await backend()
  const workspace = realpathSync(directory())
  const agent = await Agent.create({}, { userDir: join(directory(), 'user') })
  const change = { toolCalls: [{ id: 'call-sea', name: 'change', args: { word: secret } }] }
  const worker = new Worker({
    ...{ agent, store, queue, pollMs: 50, suspendAfterMs: 0 },
    workspaces: { main: workspace },
    session: {
      model: scriptedModel(({ chatHistory }) => {
        if (JSON.stringify(chatHistory).includes('fail')) throw new Error(secret)
        return { text: secret, ...change }
      }),
      retry: { maxRetries: 0 },
      tools: [notingTool({ begun: [], done: [] }, { name: 'change' })],
      permissionPolicy: { ask: ['change'] },
    },
  })
  onTestFinished(async () => {
    await worker.drain({ deadlineMs: 0 })
    await Promise.allSettled([queue.close(), store.close?.(), agent.close()])
  })
  await worker.start()
  const [own, foreign] = ['one', 'two'].map((tenantId) => new RunClient({ store, queue, tenantId }))
  if (own === undefined || foreign === undefined) throw new Error('there are two clients')
  const state = async (runId: string) => (await own.get(runId))?.state
  const waiting = await own.submit({ prompt: secret })
  await expect.poll(() => state(waiting.runId), { timeout: 60_000 }).toBe('waiting')
  const failed = await own.submit({ prompt: `fail ${secret}` })
  await expect.poll(() => state(failed.runId), { timeout: 60_000 }).toBe('failed')
  return { store, queue, own, foreign, waiting, failed, workspace }
}

/** The public methods of a class. */
function methodsOf(prototype: object): string[] {
  return Object.getOwnPropertyNames(prototype)
    .filter((name) => name !== 'constructor')
    .toSorted()
}

/** What a call returns, or the code of its error. */
async function outcomeOf(call: () => unknown): Promise<unknown> {
  try {
    return (await call()) ?? 'nothing'
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error
  }
}

async function drain(events: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = []
  for await (const event of events) all.push(event)
  return all
}

describe.each(backends)('a tenant of a cluster in $name', ({ backend }) => {
  it('gets from every method of its client the same answer as for a run that does not exist', async () => {
    const { store, queue, foreign, own, waiting, failed } = await cluster(backend)
    const onRun: Readonly<Record<string, (runId: string) => unknown>> = {
      get: (runId) => foreign.get(runId),
      events: (runId) => drain(foreign.events(runId)),
      cancel: (runId) => foreign.cancel(runId),
      steer: (runId) => foreign.steer(runId, 'x'),
      approvals: (runId) => foreign.approvals(runId),
      answer: (runId) => foreign.answer(runId, 'call-sea', 'once'),
      questions: (runId) => foreign.questions(runId),
      answerQuestion: (runId) => foreign.answerQuestion(runId, []),
      redrive: (runId) => foreign.redrive(runId),
    }
    // They take no run, and have a test of their own below.
    const others = ['submit', 'list', 'status']
    expect(methodsOf(RunClient.prototype)).toEqual([...Object.keys(onRun), ...others].toSorted())
    for (const [name, attempt] of Object.entries(onRun)) {
      const missing = await outcomeOf(() => attempt('run-that-is-not-there'))
      for (const { runId } of [waiting, failed])
        expect([name, await outcomeOf(() => attempt(runId))]).toEqual([name, missing])
    }
    expect((await foreign.list()).runs).toEqual([])
    expect((await foreign.list({ sessionId: waiting.sessionId })).runs).toEqual([])
    expect(await outcomeOf(() => foreign.status())).toBe('run_not_found')
    expect(await outcomeOf(() => foreign.submit({ prompt: 'x', sessionId: waiting.sessionId }))).toBe(
      'session_not_found',
    )
    // The id that a key of the other tenant will have cannot be taken before it is used.
    const idempotencyKey = 'report-of-today'
    const [taken] = [await foreign.submit({ prompt: 'x', idempotencyKey, notBefore: Date.now() + 3_600_000 })]
    const next = { prompt: 'y', sessionId: taken.sessionId }
    expect(await outcomeOf(() => own.submit(next))).toBe('session_not_found')
    expect(await outcomeOf(() => foreign.submit(next))).toMatchObject({ sessionId: taken.sessionId })
    // Nor a session that has no tenant, and a client without one does not use a session that has one.
    const all = new RunClient({ store, queue })
    const free = await all.submit({ prompt: secret })
    await expect.poll(async () => (await all.get(free.runId))?.state, { timeout: 60_000 }).toBe('waiting')
    expect(await outcomeOf(() => foreign.submit({ prompt: 'x', sessionId: free.sessionId }))).toBe(
      'session_not_found',
    )
    expect(await outcomeOf(() => all.submit({ prompt: 'x', sessionId: waiting.sessionId }))).toBe(
      'session_not_found',
    )
    expect((await own.get(waiting.runId))?.state).toBe('waiting')
    expect((await own.get(failed.runId))?.state).toBe('failed')
  })

  it('gets from every method of the queue the same answer as for a run that does not exist', async () => {
    const { queue, waiting, failed } = await cluster(backend)
    const scope = { tenantId: 'two' }
    const scoped: Readonly<Record<string, (runId: string) => unknown>> = {
      get: (runId) => queue.get(runId, scope),
      list: async (runId) => {
        const { sessionId = runId } = (await queue.get(runId)) ?? {}
        return queue.list({ ...scope, sessionId })
      },
      cancel: (runId) => queue.cancel(runId, scope),
      post: (runId) => queue.post(runId, { id: 'm', body: {} }, { ...scope, wakes: true }),
      redrive: (runId) => queue.redrive(runId, scope),
      live: (runId) => queue.live(runId, 0, scope),
    }
    // `submit` has the tenant in the submission, which a client sets; the others are for nodes and hosts.
    const ofHosts = ['submit', 'watch', 'count', 'reserve', 'removeEnded', 'join', 'drain', 'status', 'close']
    expect(methodsOf(Object.getPrototypeOf(queue))).toEqual([...Object.keys(scoped), ...ofHosts].toSorted())
    const before = [await queue.get(waiting.runId), await queue.get(failed.runId)]
    for (const [name, attempt] of Object.entries(scoped)) {
      const missing = await outcomeOf(() => attempt('run-that-is-not-there'))
      for (const { runId } of [waiting, failed])
        expect([name, await outcomeOf(() => attempt(runId))]).toEqual([name, missing])
    }
    expect([await queue.get(waiting.runId), await queue.get(failed.runId)]).toEqual(before)
    const known = before[0]
    if (known === undefined) throw new Error('the run is there')
    expect((await queue.submit({ ...known, ...scope })).outcome).toBe('conflict')
  })

  it('gets from every route of a server the same answer as for a session that does not exist', async () => {
    const { store, queue, own, waiting, failed, workspace } = await cluster(backend)
    const { call, server, url } = await startServer({
      ...{ store, queue, token: tokens },
      workspaces: [workspace],
      session: { model: scriptedModel(['x']) },
    })
    const { sessionId, runId } = waiting
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }]
    /** What each route needs to come as far as the session: by its path, or by the last part of it. */
    const bodies: Readonly<Record<string, (id: string) => object>> = {
      '/v1/chat': (id) => ({ id, messages }),
      '/v1/ag-ui': (id) => ({
        threadId: id,
        runId: 'r',
        messages: [{ id: 'm', role: 'user', content: 'Hi.' }],
      }),
      runs: () => ({ prompt: 'x' }),
      messages: () => ({ text: 'x' }),
      steer: () => ({ text: 'x' }),
      '{callId}': () => ({ decision: 'once' }),
      '{questionId}': () => ({ answers: [] }),
      rewind: () => ({ messageId: 'x' }),
      explain: () => ({ toolName: 'read' }),
      '{toolName}': () => ({ args: {} }),
      'side-questions': () => ({ question: 'x' }),
      objects: () => ({ prompt: 'x', schema: {} }),
      links: () => ({ minutes: 1 }),
    }
    const filled = (path: string, id: string): string =>
      path
        .replace(/\{(sessionId|id|chatId)\}/, id)
        .replace('{runId}', runId)
        .replace('{callId}', 'call-sea')
        .replace(/\{\w+\}/, 'x')
    const tried: string[] = []
    for (const [path, methods] of Object.entries(server.openapi['paths'] as Record<string, object>))
      for (const method of Object.keys(methods).map((name) => name.toUpperCase())) {
        const body = bodies[path] ?? bodies[path.split('/').at(-1) ?? '']
        const answerFor = async (id: string): Promise<string> => {
          const response = await fetch(`${url}${filled(path, id)}`, {
            method,
            headers: { ...as(1), 'content-type': 'application/json' },
            ...(method !== 'GET' && { body: JSON.stringify(body?.(id) ?? {}) }),
          })
          // A stream of events has an opening, and does not end.
          const isStream = response.headers.get('content-type')?.includes('event-stream') === true
          const reader = isStream ? response.body?.getReader() : undefined
          const text = reader ? new TextDecoder().decode((await reader.read()).value) : await response.text()
          await reader?.cancel()
          return `${response.status} ${text}`
        }
        // Another one for each route, since some create it.
        const missing = await answerFor(`not-there-${method}-${path.replaceAll(/\W/g, '')}`.slice(0, 60))
        const foreign = await answerFor(sessionId)
        expect([path, foreign.includes(secret) || foreign.includes(runId)]).toEqual([path, false])
        if (!path.includes('{sessionId}')) continue
        expect([path, foreign]).toEqual([path, missing])
        expect([path, foreign.slice(0, 3)]).toEqual([path, '404'])
        tried.push(`${method} ${path}`)
      }
    expect(tried.length).toBeGreaterThan(25)
    // Nothing of it has changed, and its own tenant sees it.
    expect((await own.get(runId))?.state).toBe('waiting')
    expect((await own.get(failed.runId))?.state).toBe('failed')
    const list = (await call('GET', '/v1/sessions', undefined, as(0))).body.sessions as {
      sessionId: string
    }[]
    expect(list.map((one) => one.sessionId)).toContain(sessionId)
  })
})

describe.skipIf(!hasPostgres())('a store in Postgres', () => {
  it('lists the sessions of one tenant, and has no other method that is not for hosts', async () => {
    const store = new PostgresSessionStore(await postgresSchema())
    onTestFinished(() => store.close())
    // They take the id of a session: clients and servers check its tenant before they call them.
    const ofHosts = [
      'backend',
      'close',
      'countRecords',
      'create',
      'delete',
      'now',
      'open',
      'read',
      'readBlob',
    ]
    const names = methodsOf(PostgresSessionStore.prototype).filter((name) => name !== 'rewrite')
    expect(names).toEqual(['list', ...ofHosts.filter((name) => name !== 'backend')].toSorted())
    const row = { schemaVersion: 1, createdAtMs: 1, updatedAtMs: 1 }
    for (const tenantId of ['one', 'two'])
      await store.create(
        `of-${tenantId}`,
        [{ type: 'session', data: { ...row, id: `of-${tenantId}`, labels: { tenantId } } }],
        {
          holder: 'the test',
          now: () => 1,
        },
      )
    const listed = async (tenantId: string) => (await store.list({ tenantId })).map(({ id }) => id)
    expect(await listed('one')).toEqual(['of-one'])
    expect(await listed('two')).toEqual(['of-two'])
    expect(await listed('three')).toEqual([])
  })
})
