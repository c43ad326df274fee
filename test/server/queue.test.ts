import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { Worker } from '../../src/cluster/worker.js'
import { PostgresRunQueue, PostgresSessionStore } from '../../src/postgres/index.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import type { RunQueue } from '../../src/run-queue/run-queue.js'
import { StoreError } from '../../src/store/errors.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { notingTool } from '../persistence/kept.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'
import { directory, readAllEvents, readEvents, type Started, startServer, token } from './support.js'

const clusterKey = 'the key of the cluster in this test, 32 bytes'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Backend = { readonly store: SessionStore; readonly queue: RunQueue }

async function inProcess(): Promise<() => Backend> {
  const store = new MemorySessionStore()
  const queue = new InProcessRunQueue({ store })
  closing.push(() => queue.close())
  return () => ({ store, queue })
}

/** Each caller has connections of its own, as processes have. */
async function inPostgres(): Promise<() => Backend> {
  const options = await postgresSchema()
  return () => {
    const store = new PostgresSessionStore(options)
    const queue = new PostgresRunQueue(options)
    closing.push(
      () => store.close(),
      () => queue.close(),
    )
    return { store, queue }
  }
}

/** Two servers that execute nothing, and workers that do. */
async function cluster(backend: () => Promise<() => Backend>) {
  const connect = await backend()
  const workspace = realpathSync(directory())
  const api = (): Promise<Started> =>
    // A model of the server would answer something else.
    startServer({
      ...connect(),
      clusterKey,
      workspaces: [workspace],
      session: { model: scriptedModel(['The server has no hands.']) },
    })
  const ledger: { begun: string[]; done: string[] } = { begun: [], done: [] }
  const worker = async (steps: (ScriptedStep | string)[]): Promise<Worker> => {
    const agent = await Agent.create({}, { userDir: join(directory(), 'user') })
    const made = new Worker({
      ...connect(),
      agent,
      clusterKey,
      workspaces: { main: workspace },
      pollMs: 50,
      suspendAfterMs: 0,
      session: {
        model: scriptedModel(steps),
        tools: [notingTool(ledger, { name: 'look' }), notingTool(ledger, { name: 'change' })],
        permissionPolicy: { allow: ['look'], ask: ['change'] },
      },
    })
    closing.push(async () => {
      await made.drain({ deadlineMs: 0 })
      await agent.close()
    })
    await made.start()
    return made
  }
  /** A server whose only caller belongs to a tenant. */
  const tenant = (): Promise<Started> =>
    startServer({ ...connect(), workspaces: [workspace], token: [{ token, tenantId: 'a' }] })
  return { one: await api(), two: await api(), tenant, worker, ledger, connect }
}

const call = (name: string, word: string): ScriptedStep => ({
  text: `I ${name}. `,
  toolCalls: [{ id: `call-${word}`, name, args: { word } }],
})

async function untilStatus({ call: send }: Started, path: string, status: string): Promise<void> {
  await expect.poll(async () => (await send('GET', path)).body.status, { timeout: 60_000 }).toBe(status)
}

async function untilAsked({ call: send }: Started, sessionId: string): Promise<void> {
  await expect
    .poll(async () => (await send('GET', `/v1/sessions/${sessionId}/approvals`)).body.approvals, {
      timeout: 60_000,
    })
    .toHaveLength(1)
}

/** The same object, whose methods first call a function with their name and arguments, which can throw. */
function withCheck<Target extends object>(
  object: Target,
  check: (name: string | symbol, first: unknown) => void,
): Target {
  return new Proxy(object, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        check(name, given[0])
        return Reflect.apply(member, target, given)
      }
    },
  })
}

/** A store that fails to read a session so many times. */
function failingStore(store: SessionStore, failures: Map<string, number>): SessionStore {
  return withCheck(store, (name, sessionId) => {
    const left = failures.get(String(sessionId)) ?? 0
    if ((name !== 'read' && name !== 'readSync') || left === 0) return
    failures.set(String(sessionId), left - 1)
    throw new StoreError('store_failed', `The session ${String(sessionId)} cannot be read now.`)
  })
}

it('the stream of all sessions follows a run whose session could not be read at first, whatever other runs do', async () => {
  const { store, queue } = (await inProcess())()
  const workspace = realpathSync(directory())
  const failures = new Map<string, number>()
  const errors: unknown[] = []
  const common = { queue, clusterKey, workspaces: [workspace], session: { model: scriptedModel([]) } }
  const one = await startServer({ ...common, store })
  const two = await startServer({
    ...common,
    store: failingStore(store, failures),
    onError: (error: unknown) => void errors.push(error),
  })
  const submit = async (): Promise<string> => {
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    await one.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'look around' })
    return sessionId
  }
  const [late, damaged] = [await submit(), await submit()]
  failures.set(late, 1)
  failures.set(damaged, Number.POSITIVE_INFINITY)
  const all = readAllEvents(two.url, undefined, (events) =>
    events.some(({ data }) => data.includes('"agent_end"') && data.includes(late)),
  )
  await expect.poll(() => errors.length).toBe(2)
  const agent = await Agent.create({}, { userDir: join(directory(), 'user') })
  const worker = new Worker({
    store,
    queue,
    agent,
    clusterKey,
    workspaces: { main: workspace },
    pollMs: 50,
    session: { model: scriptedModel(['All is well.', 'All is well.']) },
  })
  closing.push(async () => {
    await worker.drain({ deadlineMs: 0 })
    await agent.close()
  })
  await worker.start()
  const events = await all
  expect(events.some(({ data }) => data.includes(damaged))).toBe(false)
  expect(errors).toHaveLength(2)
  expect(failures.get(late)).toBe(0)
})

it('the stream of all sessions continues a run whose events could not be read for a time', async () => {
  const { store, queue } = (await inProcess())()
  const workspace = realpathSync(directory())
  const errors: unknown[] = []
  let failures = 0
  const server = await startServer({
    store,
    queue: withCheck(queue, (name) => {
      if (name !== 'live' || failures === 0) return
      failures -= 1
      throw new StoreError('store_failed', 'The events cannot be read now.')
    }),
    clusterKey,
    workspaces: [workspace],
    session: { model: scriptedModel([]) },
    onError: (error: unknown) => void errors.push(error),
  })
  const agent = await Agent.create({}, { userDir: join(directory(), 'user') })
  const worker = new Worker({
    store,
    queue,
    agent,
    clusterKey,
    workspaces: { main: workspace },
    pollMs: 50,
    suspendAfterMs: 0,
    session: {
      model: scriptedModel([call('change', 'sea'), 'All is well.']),
      tools: [notingTool({ begun: [], done: [] }, { name: 'change' })],
      permissionPolicy: { ask: ['change'] },
    },
  })
  closing.push(async () => {
    await worker.drain({ deadlineMs: 0 })
    await agent.close()
  })
  await worker.start()
  const { sessionId } = (await server.call('POST', '/v1/sessions', {})).body
  let hasBegun = (): void => undefined
  const begun = new Promise<void>((resolve) => {
    hasBegun = resolve
  })
  const all = readAllEvents(server.url, undefined, (events) => {
    if (events.length > 0) hasBegun()
    return events.at(-1)?.data.includes('"agent_end"') === true
  })
  const runs = `/v1/sessions/${sessionId}/runs`
  const { runId } = (await server.call('POST', runs, { prompt: 'change it' })).body
  await begun
  failures = 2
  await expect.poll(() => failures).toBe(0)
  await untilAsked(server, sessionId)
  await server.call('POST', `/v1/sessions/${sessionId}/approvals/call-sea`, { decision: 'once' })
  const seen = (await all).map(({ data }) => JSON.parse(data).sequence)
  const wanted = (await readEvents(server.url, `${runs}/${runId}/events`)).map(({ sequence }) => sequence)
  // Text is only live, so the events of a run that has ended are fewer.
  expect(seen).toEqual(expect.arrayContaining(wanted))
  expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b))
  expect(errors).toHaveLength(1)
})

describe.each([
  { name: 'one process', backend: inProcess },
  ...(hasPostgres() ? [{ name: 'Postgres', backend: inPostgres }] : []),
])('servers that submit to a queue in $name', ({ backend }) => {
  it('start a run that a worker executes, and stream it from any server and any number on', async () => {
    const { one, two, worker, ledger } = await cluster(backend)
    const created = await one.call('POST', '/v1/sessions', { title: 'A voyage' })
    expect(created).toMatchObject({ status: 201, body: { title: 'A voyage', status: 'idle' } })
    const { sessionId } = created.body
    const all = readAllEvents(two.url, undefined, (events) =>
      events.some(({ data }) => data.includes('"agent_end"')),
    )
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const more = { 'idempotency-key': 'k1', traceparent, 'x-request-id': 'request-1' }
    const body = { prompt: 'look around', metadata: { a: 1 } }
    const started = await one.call('POST', `/v1/sessions/${sessionId}/runs`, body, more)
    expect(started).toMatchObject({ status: 202, body: { sessionId, status: 'queued' } })
    const { runId } = started.body
    // The same key on the other server is the same run, also with another trace.
    const again = { 'idempotency-key': 'k1' }
    expect((await two.call('POST', `/v1/sessions/${sessionId}/runs`, body, again)).body.runId).toBe(runId)
    const other = { prompt: 'something else' }
    expect(await two.call('POST', `/v1/sessions/${sessionId}/runs`, other, again)).toMatchObject({
      status: 422,
      body: { code: 'idempotency_key_reused' },
    })
    const path = `/v1/sessions/${sessionId}/runs/${runId}`
    expect((await two.call('GET', path)).body).toMatchObject({ status: 'queued', prompt: 'look around' })
    expect((await two.call('GET', `/v1/sessions/${sessionId}`)).body.status).toBe('running')
    const reading = readEvents(two.url, `${path}/events`)
    await worker([call('look', 'one'), 'all is done'])
    const events = await reading
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'all is done' } })
    const numbers = events.map(({ sequence }) => sequence ?? 0)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(events.some(({ event }) => event.type === 'text_delta')).toBe(true)
    expect(ledger.done).toEqual(['one'])
    const middle = numbers[2] ?? 0
    const rest = await readEvents(one.url, `${path}/events`, { from: middle })
    expect(rest.every(({ sequence }) => (sequence ?? 0) > middle)).toBe(true)
    expect(rest.at(-1)?.event.type).toBe('agent_end')
    await untilStatus(one, path, 'completed')
    expect((await one.call('GET', `${path}/events?from=${numbers.at(-1)}`)).status).toBe(204)
    expect((await one.call('GET', path)).body).toMatchObject({ resultText: 'all is done' })
    expect((await one.call('GET', `/v1/sessions/${sessionId}/runs`)).body.runs).toHaveLength(1)
    expect((await one.call('GET', `/v1/sessions/${sessionId}/history`)).body.history).toHaveLength(4)
    expect((await all).map(({ data }) => JSON.parse(data).runId)).toContain(runId)
    // The server changes the session in between, and the worker gets it again.
    expect((await one.call('PATCH', `/v1/sessions/${sessionId}`, { title: 'Home' })).status).toBe(200)
    const second = await two.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'again' })
    await untilStatus(one, `/v1/sessions/${sessionId}/runs/${second.body.runId}`, 'failed')
    expect((await one.call('DELETE', `/v1/sessions/${sessionId}`)).status).toBe(204)
    expect((await two.call('GET', `/v1/sessions/${sessionId}`)).status).toBe(404)
  })

  it('show an approval that a worker requests, and accept the answer once on another server', async () => {
    const { one, two, worker, ledger } = await cluster(backend)
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    await worker([call('change', 'sea'), 'changed'])
    const { runId } = (await one.call('POST', `/v1/sessions/${sessionId}/messages`, { text: 'change it' }))
      .body
    const approvals = `/v1/sessions/${sessionId}/approvals`
    await expect
      .poll(async () => (await two.call('GET', approvals)).body.approvals, { timeout: 60_000 })
      .toMatchObject([{ callId: 'call-sea', toolName: 'change' }])
    expect((await two.call('POST', `${approvals}/call-x`, { decision: 'once' })).body.code).toBe(
      'approval_not_found',
    )
    const answer = await two.call('POST', `${approvals}/call-sea`, { decision: 'once' })
    expect(answer).toMatchObject({ status: 200, body: { callId: 'call-sea', decision: 'once' } })
    const path = `/v1/sessions/${sessionId}/runs/${runId}`
    const events = await readEvents(one.url, `${path}/events`)
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'changed' } })
    expect(ledger.done).toEqual(['sea'])
    expect(await one.call('POST', `${approvals}/call-sea`, { decision: 'reject' })).toMatchObject({
      status: 409,
      body: { code: 'already_answered' },
    })
    expect((await one.call('POST', `${path}/cancel`)).body.code).toBe('run_not_active')
  })

  it('show a question of the model, and accept its answer on another server', async () => {
    const { one, two, worker } = await cluster(backend)
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    const args = { questions: [{ question: 'Which sea?', options: [{ label: 'North' }] }] }
    await worker([{ toolCalls: [{ id: 'call-ask', name: 'question', args }] }, 'North it is.'])
    const { runId } = (await one.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'ask me' })).body
    const questions = `/v1/sessions/${sessionId}/questions`
    await expect
      .poll(async () => (await two.call('GET', questions)).body.questions, { timeout: 60_000 })
      .toMatchObject([{ questionId: 'call-ask', questions: [{ question: 'Which sea?' }] }])
    expect((await two.call('POST', `${questions}/call-ask`, { answers: [] })).status).toBe(400)
    expect((await two.call('POST', `${questions}/call-ask`, { answers: [['North']] })).status).toBe(200)
    const events = await readEvents(one.url, `/v1/sessions/${sessionId}/runs/${runId}/events`)
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'North it is.' } })
  })

  it('queue a dead run again with the resume route, and no run that has its result', async () => {
    const { one, two, worker, connect } = await cluster(backend)
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    const { runId } = (await one.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'x' })).body
    const path = `/v1/sessions/${sessionId}/runs/${runId}`
    const node = { name: 'n', host: 'h', pid: 1, version: '0', slots: 1, lanes: ['default'] }
    const member = await connect().queue.join(node)
    const [claim] = await member.claim({ lanes: ['default'], max: 1 })
    if (claim === undefined) throw new Error('the run cannot be claimed')
    const error = { code: 'too_many_takeovers', message: 'It ended each of its nodes.' }
    expect(await member.settle(claim, { state: 'dead', error })).toBe(true)
    await member.leave()
    expect((await two.call('GET', path)).body).toMatchObject({ status: 'failed', error: error.message })
    await worker(['done'])
    expect(await two.call('POST', `${path}/resume`)).toMatchObject({
      status: 202,
      body: { runId, sessionId },
    })
    await untilStatus(one, path, 'completed')
    expect((await two.call('POST', `${path}/resume`)).body.code).toBe('run_not_resumable')
  })

  it('report the state of the cluster in their metrics, but not to the callers of a tenant', async () => {
    const { one, worker, tenant } = await cluster(backend)
    await worker([])
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    const first = (await one.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'x' })).body.runId
    await untilStatus(one, `/v1/sessions/${sessionId}/runs/${first}`, 'failed')
    const { body } = await one.call('GET', '/metrics')
    const lines = String(body).split('\n')
    expect(lines).toContain('capstan_queue_runs{state="failed"} 1')
    expect(lines).toContain('capstan_queue_runs{state="dead"} 0')
    expect(lines).toContain('capstan_takeovers_total 0')
    expect(lines).toContain('capstan_nodes 1')
    expect(body).toMatch(/^capstan_node_slots\{node="[^"]+",name="[^"]+"\} 4$/m)
    expect(body).toMatch(/^capstan_queue_latency_seconds [\d.e-]+$/m)
    expect((await (await tenant()).call('GET', '/metrics')).body).not.toContain('capstan_queue')
  })

  it('cancel and steer a run in another process', async () => {
    const { one, two, worker, ledger } = await cluster(backend)
    const { sessionId } = (await one.call('POST', '/v1/sessions', {})).body
    const runs = `/v1/sessions/${sessionId}/runs`
    const first = (await one.call('POST', runs, { prompt: 'never' })).body.runId
    expect((await two.call('POST', `${runs}/${first}/cancel`)).body).toMatchObject({ status: 'cancelled' })
    expect((await readEvents(one.url, `${runs}/${first}/events`)).at(-1)?.event.type).toBe('agent_cancelled')
    const second = (await one.call('POST', runs, { prompt: 'change' })).body.runId
    expect((await two.call('POST', `${runs}/${second}/steer`, { text: 'and the lake' })).status).toBe(202)
    await worker([call('change', 'sea'), 'unused'])
    await untilAsked(one, sessionId)
    expect((await two.call('POST', `${runs}/${second}/cancel`)).status).toBe(200)
    await untilStatus(one, `${runs}/${second}`, 'cancelled')
    const events = await readEvents(two.url, `${runs}/${second}/events`)
    expect(events.map(({ event }) => event.type)).toContain('steered')
    expect(ledger.begun).toEqual([])
  })
})
