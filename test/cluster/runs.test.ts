import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { RunClient } from '../../src/cluster/run-client.js'
import { Worker } from '../../src/cluster/worker.js'
import type { WorkerOptions } from '../../src/cluster/worker-options.js'
import { PostgresRunQueue, PostgresSessionStore } from '../../src/postgres/index.js'
import { tenantCounter } from '../../src/run-queue/counter-period.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import type { RunMessage, RunQueue } from '../../src/run-queue/run-queue.js'
import type { RunEvent } from '../../src/session/run-events.js'
import { StoreError } from '../../src/store/errors.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog, SessionStore } from '../../src/store/session-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { notingTool } from '../persistence/kept.js'
import { hasPostgres, postgresSchema, runSql } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

type Place = Backend & {
  readonly ledger: { readonly begun: string[]; readonly done: string[] }
  worker(
    steps: (ScriptedStep | string)[],
    more?: Partial<WorkerOptions>,
    gate?: Promise<void>,
  ): Promise<Worker>
}

type Backend = {
  readonly store: SessionStore
  readonly queue: RunQueue
  /** Makes everything in the queue an hour older. */
  age(): Promise<void>
}

function inProcess(store: SessionStore = new MemorySessionStore()): Backend {
  let aheadMs = 0
  const queue = new InProcessRunQueue({ store, now: () => Date.now() + aheadMs })
  closing.push(() => queue.close())
  const age = async (): Promise<void> => {
    aheadMs += 3_600_000
  }
  return { store, queue, age }
}

async function inPostgres(): Promise<Backend> {
  const options = await postgresSchema()
  const store = new PostgresSessionStore(options)
  const queue = new PostgresRunQueue(options)
  closing.push(
    () => store.close(),
    () => queue.close(),
  )
  const age = async (): Promise<void> => {
    await runSql(options.url, `update ${options.schema}.queue_runs set updated_at = updated_at - 3600000`)
  }
  return { store, queue, age }
}

async function place(backend: () => Backend | Promise<Backend>): Promise<Place> {
  const base = realpathSync(temporaryDirectory())
  const { store, queue, age } = await backend()
  const ledger = { begun: [], done: [] }
  return {
    store,
    queue,
    age,
    ledger,
    async worker(steps, more = {}, gate) {
      const agent = await Agent.create({}, { userDir: join(base, 'user') })
      const worker = new Worker({
        agent,
        store,
        queue,
        workspaces: { main: base },
        pollMs: 50,
        suspendAfterMs: 0,
        ...more,
        session: {
          model: scriptedModel(steps),
          tools: [
            notingTool(ledger, { name: 'look', work: async () => gate }),
            notingTool(ledger, { name: 'change' }),
          ],
          permissionPolicy: { allow: ['look'], ask: ['change'] },
          ...more.session,
        },
      })
      closing.push(async () => {
        await worker.drain({ deadlineMs: 0 })
        await agent.close()
      })
      await worker.start()
      return worker
    },
  }
}

const call = (name: string, word: string): ScriptedStep => ({
  toolCalls: [{ id: `call-${word}`, name, args: { word } }],
})

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

async function untilState(client: RunClient, runId: string, state: string): Promise<void> {
  await expect.poll(async () => (await client.get(runId))?.state, { timeout: 60_000 }).toBe(state)
}

/** Resolves when a node that joins from now on has read a message, and has acted on it. */
function messageTaken(queue: RunQueue): Promise<void> {
  const join = queue.join.bind(queue)
  return new Promise((resolve) => {
    queue.join = async (node) => {
      const member = await join(node)
      const inspect = member.inspect.bind(member)
      member.inspect = async (claim) => {
        const found = await inspect(claim)
        if (found !== undefined && found.messages.length > 0) setImmediate(resolve)
        return found
      }
      return member
    }
  })
}

const types = (events: readonly RunEvent[]): string[] => events.map(({ event }) => event.type)

const backends = [
  { name: 'one process', backend: () => inProcess() },
  ...(hasPostgres() ? [{ name: 'Postgres', backend: inPostgres }] : []),
]

describe.each(backends)('a run in a queue in $name', ({ backend }) => {
  it('is executed by a worker, and its events are read from any number on', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const { runId, sessionId } = await client.submit({ prompt: 'look around', metadata: { a: 1 } })
    await worker([call('look', 'one'), 'all is done'])
    const events = await collect(client.events(runId))
    expect(types(events).slice(0, 2)).toEqual(['agent_start', 'turn_start'])
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'all is done', runId } })
    const numbers = events.map(({ sequence }) => sequence)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers)
    const [, second] = numbers
    const rest = await collect(client.events(runId, { from: second }))
    expect(rest.every(({ sequence }) => sequence > (second ?? 0))).toBe(true)
    expect(rest.at(-1)?.event.type).toBe('agent_end')
    expect(ledger.done).toEqual(['one'])
    expect(await client.get(runId)).toMatchObject({ state: 'completed', sessionId, attempt: 1 })
  })

  it('is the same run for the same key, and a conflict with another prompt', async () => {
    const { store, queue } = await place(backend)
    const client = new RunClient({ store, queue })
    const first = await client.submit({ prompt: 'a', idempotencyKey: 'k' })
    expect(await client.submit({ prompt: 'a', idempotencyKey: 'k' })).toEqual({ ...first, isNew: false })
    await expect(client.submit({ prompt: 'b', idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'run_conflict',
    })
    const other = new RunClient({ store, queue, tenantId: 't' })
    expect((await other.submit({ prompt: 'a', idempotencyKey: 'k' })).runId).not.toBe(first.runId)
  })

  it('releases its slot while a user must answer, and the answer makes exactly that call once', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const asking = await worker([call('change', 'sea'), 'changed'], { slots: 1 })
    const { runId } = await client.submit({ prompt: 'change it' })
    await untilState(client, runId, 'waiting')
    await expect.poll(() => asking.metrics(), { timeout: 60_000 }).toMatchObject({ suspended: 1, active: 0 })
    expect(await client.approvals(runId)).toMatchObject([{ callId: 'call-sea', toolName: 'change' }])
    expect(ledger.begun).toEqual([])
    const events = collect(client.events(runId))
    await client.answer(runId, 'call-sea', 'once')
    expect((await events).at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'changed' } })
    expect(ledger.done).toEqual(['sea'])
    await expect(client.answer(runId, 'call-sea', 'once')).rejects.toMatchObject({
      code: 'approval_not_found',
    })
    const numbers = (await events).map(({ sequence }) => sequence)
    expect(new Set(numbers).size).toBe(numbers.length)
  })

  it('is not approved by an answer that was forged, or signed for something else', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const asking = await worker([call('change', 'sea'), 'rejected'], { slots: 1 })
    const { runId, sessionId } = await client.submit({ prompt: 'change it' })
    await untilState(client, runId, 'waiting')
    const body = {
      kind: 'approval',
      runId,
      sessionId,
      callId: 'call-sea',
      key: 'k',
      askedAtMs: 1,
      decision: 'once',
      expiresAtMs: Date.now() + 60_000,
      nonce: 'n',
    }
    await queue.post(runId, { id: 'no-mac', body }, { wakes: true })
    await queue.post(runId, { id: 'bad-mac', body: { ...body, mac: 'ab'.repeat(32) } }, { wakes: true })
    const stranger = new RunClient({ store, queue, clusterKey: 'another key that is long enough, 32 b' })
    await stranger.answer(runId, 'call-sea', 'once')
    await expect.poll(() => asking.metrics().refusedAnswers, { timeout: 60_000 }).toBe(3)
    await untilState(client, runId, 'waiting')
    expect(ledger.begun).toEqual([])
    await client.answer(runId, 'call-sea', 'reject', 'not now')
    await untilState(client, runId, 'completed')
    expect(ledger.begun).toEqual([])
  })

  it('counts a refused answer once when the node is notified while it reads the messages', async () => {
    const { store, queue, worker } = await place(backend)
    const client = new RunClient({ store, queue })
    const forged = (id: string): RunMessage => ({ id, body: { kind: 'approval', callId: 'call-sea' } })
    const join = queue.join.bind(queue)
    queue.join = async (node) => {
      const member = await join(node)
      const inspect = member.inspect.bind(member)
      member.inspect = async (claim) => {
        const found = await inspect(claim)
        if (found?.messages.length === 1 && found.messages[0]?.id === 'first') {
          await queue.post(claim.run.runId, forged('second'))
          // Long enough for the notification of the second message to cause another look.
          await new Promise((resolve) => setTimeout(resolve, 300))
        }
        return found
      }
      return member
    }
    const asking = await worker([call('change', 'sea'), 'rejected'], { slots: 1 })
    const { runId } = await client.submit({ prompt: 'change it' })
    await untilState(client, runId, 'waiting')
    await queue.post(runId, forged('first'), { wakes: true })
    await expect.poll(() => asking.metrics().refusedAnswers, { timeout: 60_000 }).toBeGreaterThanOrEqual(2)
    await untilState(client, runId, 'waiting')
    await client.answer(runId, 'call-sea', 'reject', 'not now')
    await untilState(client, runId, 'completed')
    expect(asking.metrics().refusedAnswers).toBe(2)
  })

  it('is not approved by an answer that has expired, or was used for an earlier question', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const asking = await worker([call('change', 'sea'), call('change', 'sea'), 'done'], { slots: 1 })
    const { runId } = await client.submit({ prompt: 'change it' })
    await untilState(client, runId, 'waiting')
    // An answer is valid for a day on its way.
    const slow = new RunClient({ store, queue, now: () => Date.now() - 25 * 3_600_000 })
    await slow.answer(runId, 'call-sea', 'once')
    await expect.poll(() => asking.metrics().refusedAnswers, { timeout: 60_000 }).toBe(1)
    await untilState(client, runId, 'waiting')
    expect(ledger.begun).toEqual([])
    const post = queue.post.bind(queue)
    let posted: RunMessage | undefined
    queue.post = (id, message, options) => {
      posted = message
      return post(id, message, options)
    }
    await client.answer(runId, 'call-sea', 'once')
    await expect.poll(() => ledger.done, { timeout: 60_000 }).toEqual(['sea'])
    await untilState(client, runId, 'waiting')
    // Another call with the same arguments asks again, and the answer to the first does not count.
    if (posted === undefined) throw new Error('nothing was posted')
    await post(runId, { ...posted, id: 'again' }, { wakes: true })
    await expect.poll(() => asking.metrics().refusedAnswers, { timeout: 60_000 }).toBe(2)
    await untilState(client, runId, 'waiting')
    expect(ledger.begun).toEqual(['sea'])
  })

  it('is answered once: a second answer to the same question is refused while the first is pending', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const first = await worker([call('change', 'sea'), 'never'], { slots: 1 })
    const { runId } = await client.submit({ prompt: 'change it' })
    await untilState(client, runId, 'waiting')
    await first.drain()
    await client.answer(runId, 'call-sea', 'reject')
    await expect(client.answer(runId, 'call-sea', 'once')).rejects.toMatchObject({ code: 'already_answered' })
    await worker(['rejected'])
    await untilState(client, runId, 'completed')
    expect(ledger.begun).toEqual([])
  })

  it('releases its slot while a question waits; another process answers it, and another worker finishes the run', async () => {
    const { store, queue, worker } = await place(backend)
    const client = new RunClient({ store, queue })
    const args = {
      questions: [{ question: 'Which sea?', options: [{ label: 'North' }, { label: 'Baltic' }] }],
    }
    const asks: ScriptedStep = { toolCalls: [{ id: 'call-ask', name: 'question', args }] }
    const first = await worker([asks, 'never'], { slots: 1 })
    const { runId } = await client.submit({ prompt: 'ask me' })
    await untilState(client, runId, 'waiting')
    await first.drain()
    expect(await client.questions(runId)).toMatchObject([
      { questionId: 'call-ask', questions: [{ question: 'Which sea?' }] },
    ])
    await expect(client.answerQuestion(runId, [], 'call-ask')).rejects.toMatchObject({
      code: 'submission_invalid',
    })
    await expect(client.answerQuestion(runId, [['x']], 'other')).rejects.toMatchObject({
      code: 'question_not_found',
    })
    await client.answerQuestion(runId, [['Baltic']], 'call-ask')
    await expect(client.answerQuestion(runId, [['North']], 'call-ask')).rejects.toMatchObject({
      code: 'already_answered',
    })
    await worker(['The Baltic it is.'])
    const events = await collect(client.events(runId))
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'The Baltic it is.' } })
    const answered = events.filter(({ event }) => event.type === 'tool_end')
    expect(answered.map(({ event }) => event)).toMatchObject([
      { toolId: 'call-ask', toolOutput: expect.stringContaining('Baltic') },
    ])
    expect(await client.questions(runId)).toEqual([])
  })

  it('continues on another worker after the first was drained, without repeating a call', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const client = new RunClient({ store, queue })
    const first = await worker([call('look', 'one'), call('look', 'two'), 'never'], {}, gate)
    const { runId } = await client.submit({ prompt: 'look' })
    const reading = collect(client.events(runId))
    await expect.poll(() => ledger.begun, { timeout: 60_000 }).toEqual(['one'])
    const drained = first.drain({ deadlineMs: 3_600_000 })
    release()
    await drained
    expect(await client.get(runId)).toMatchObject({ state: 'queued', takeovers: 0 })
    await worker([call('look', 'two'), 'all is done'])
    const events = await reading
    expect(ledger.done).toEqual(['one', 'two'])
    expect(events.at(-1)?.event).toMatchObject({ type: 'agent_end', result: { text: 'all is done' } })
    const numbers = events.map(({ sequence }) => sequence)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers)
    expect(new Set(numbers).size).toBe(numbers.length)
  })

  it('is cancelled before it starts, while it runs and while it waits', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const early = await client.submit({ prompt: 'x' })
    expect(await client.cancel(early.runId)).toBe('cancelled')
    expect(types(await collect(client.events(early.runId)))).toEqual(['agent_cancelled'])
    await worker([call('change', 'sea'), 'unused'])
    const waiting = await client.submit({ prompt: 'change' })
    await untilState(client, waiting.runId, 'waiting')
    expect(await client.cancel(waiting.runId)).toBe('requested')
    await untilState(client, waiting.runId, 'cancelled')
    expect(ledger.begun).toEqual([])
    await worker([call('look', 'never'), 'unused'], { lanes: ['stuck'] }, new Promise(() => undefined))
    const active = await client.submit({ prompt: 'look', lane: 'stuck' })
    await expect.poll(() => ledger.begun, { timeout: 60_000 }).toEqual(['never'])
    expect(await client.cancel(active.runId)).toBe('requested')
    expect(types(await collect(client.events(active.runId))).at(-1)).toBe('agent_cancelled')
    await untilState(client, active.runId, 'cancelled')
    await expect(client.cancel('unknown')).rejects.toMatchObject({ code: 'run_not_found' })
  })

  it('is steered while it runs', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    let release = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const taken = messageTaken(queue)
    const client = new RunClient({ store, queue })
    await worker([call('look', 'one'), 'steered'], {}, gate)
    const { runId } = await client.submit({ prompt: 'look' })
    await expect.poll(() => ledger.begun, { timeout: 60_000 }).toEqual(['one'])
    await client.steer(runId, 'look at the sea, too')
    const seen = collect(client.events(runId))
    await taken
    release()
    expect(types(await seen)).toContain('steered')
    await untilState(client, runId, 'completed')
    await expect(client.steer(runId, 'again')).rejects.toMatchObject({ code: 'run_ended' })
  })

  it('fails with a clear code when the worker has no such workspace', async () => {
    const { store, queue, worker } = await place(backend)
    const client = new RunClient({ store, queue })
    const { runId } = await client.submit({ prompt: 'x', workspace: 'elsewhere' })
    await worker(['unused'])
    const [only] = await collect(client.events(runId))
    expect(only?.event).toMatchObject({ type: 'error', code: 'workspace_unknown' })
    expect(await client.get(runId)).toMatchObject({ state: 'failed', error: { code: 'workspace_unknown' } })
  })

  it('continues after its last finished round when it has failed and is queued again', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    const away = { error: new Error('the model is away') }
    await worker([call('look', 'one'), away, away, call('look', 'two'), 'done'], {
      session: { retry: { maxRetries: 0 } },
    })
    const { runId } = await client.submit({ prompt: 'x' })
    for (const attempt of [1, 2]) {
      await untilState(client, runId, 'failed')
      expect(await client.get(runId)).toMatchObject({ attempt })
      await client.redrive(runId)
    }
    await untilState(client, runId, 'completed')
    expect((await collect(client.events(runId))).at(-1)?.event).toMatchObject({
      type: 'agent_end',
      result: { text: 'done' },
    })
    expect(ledger.begun).toEqual(['one', 'two'])
    await expect(client.redrive(runId)).rejects.toMatchObject({ code: 'run_ended' })
  })

  it('can restrict the worker, and never widen it', async () => {
    const { store, queue, worker, ledger } = await place(backend)
    const client = new RunClient({ store, queue })
    await worker([call('look', 'one'), call('change', 'two'), 'done'], {
      session: { confirmationPolicy: { enabled: false } },
    })
    const { runId } = await client.submit({
      prompt: 'x',
      options: { permissionPolicy: { allow: ['change'], deny: ['look'] }, mode: 'full' },
    })
    const events = await collect(client.events(runId))
    expect(types(events).filter((type) => type === 'permission_denied')).toHaveLength(2)
    expect(ledger.begun).toEqual([])
  })
})

describe.each(backends)('tenants of a queue in $name', ({ backend }) => {
  it('see and touch only their own runs and sessions', async () => {
    const { store, queue, worker } = await place(backend)
    const [a, b] = [
      new RunClient({ store, queue, tenantId: 'a' }),
      new RunClient({ store, queue, tenantId: 'b' }),
    ]
    await worker([call('change', 'sea'), 'done', 'done', 'done'])
    const { runId, sessionId } = await a.submit({ prompt: 'x' })
    await untilState(a, runId, 'waiting')
    expect((await b.list()).runs).toEqual([])
    expect(await b.get(runId)).toBeUndefined()
    for (const attempt of [
      () => b.cancel(runId),
      () => b.steer(runId, 'x'),
      () => b.approvals(runId),
      () => b.answer(runId, 'call-sea', 'once'),
      () => b.questions(runId),
      () => b.answerQuestion(runId, []),
      () => b.redrive(runId),
      () => collect(b.events(runId)),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: 'run_not_found' })
    await expect(b.submit({ prompt: 'x', sessionId })).rejects.toMatchObject({ code: 'session_not_found' })
    // A session that is not in the store yet belongs to the tenant whose run comes first.
    const own = await a.submit({ prompt: 'x', sessionId: 'shared', notBefore: Date.now() + 500 })
    const others = await b.submit({ prompt: 'x', sessionId: 'shared', notBefore: Date.now() + 600 })
    await untilState(a, own.runId, 'completed')
    await untilState(b, others.runId, 'failed')
    expect((await b.get(others.runId))?.error?.code).toBe('session_not_found')
  })

  it('cannot use more than their quota', async () => {
    const { store, queue, worker } = await place(backend)
    const tenantQuotas = { default: { tokens: 1 } }
    await worker(['one', 'two', 'three'], { tenantQuotas })
    const limited = new RunClient({ store, queue, tenantId: 'a' })
    const first = await limited.submit({ prompt: 'x' })
    await untilState(limited, first.runId, 'completed')
    const second = await limited.submit({ prompt: 'x' })
    await untilState(limited, second.runId, 'failed')
    expect((await collect(limited.events(second.runId))).at(-1)?.event).toMatchObject({
      type: 'error',
      error: expect.stringContaining('tenant_tokens'),
    })
    const other = new RunClient({ store, queue, tenantId: 'b' })
    const third = await other.submit({ prompt: 'x' })
    await untilState(other, third.runId, 'completed')
  })
})

describe.each(backends)('quotas of tenants of a queue in $name', ({ backend }) => {
  it('count cost too, are larger for a tier, and apply to all workers together', async () => {
    const { store, queue, worker } = await place(backend)
    const tenantQuotas = { default: { costUsd: 0.001 }, tiers: { gold: { costUsd: 1_000 } } }
    const usage = { inputTokens: 10, outputTokens: 10 }
    const model = () =>
      scriptedModel(
        ['a', 'b', 'c'].map((text) => ({ text, usage })),
        { facts: { price: { input: 1_000, output: 1_000 } } },
      )
    const more = { tenantQuotas, slots: 1 }
    await worker([], { ...more, session: { model: model() } })
    const plain = new RunClient({ store, queue, tenantId: 'plain' })
    const gold = new RunClient({ store, queue, tenantId: 'rich', tier: 'gold' })
    await untilState(plain, (await plain.submit({ prompt: 'x' })).runId, 'completed')
    // A second worker has the same counters.
    await worker([], { ...more, session: { model: model() } })
    const second = await plain.submit({ prompt: 'x' })
    await untilState(plain, second.runId, 'failed')
    expect((await collect(plain.events(second.runId))).at(-1)?.event).toMatchObject({
      error: expect.stringContaining('tenant_cost'),
    })
    for (let at = 0; at < 2; at++)
      await untilState(gold, (await gold.submit({ prompt: 'x' })).runId, 'completed')
  })
})

describe.each(backends)(
  'quotas of tenants that send many requests at once, with a queue in $name',
  ({ backend }) => {
    const counter = () => tenantCounter('a', Date.now(), 'day')

    it('let no request start after the quota is reserved, and count the actual usage at the end', async () => {
      const { store, queue, worker } = await place(backend)
      let release = (): void => undefined
      const held = new Promise<void>((resolve) => {
        release = resolve
      })
      let asked = 0
      const model = scriptedModel(async () => {
        asked += 1
        await held
        return { text: 'done', usage: { inputTokens: 900, outputTokens: 100 } }
      })
      // A request reserves 4,096 tokens for its answer, and what it sends.
      await worker([], { slots: 8, tenantQuotas: { default: { tokens: 10_000 } }, session: { model } })
      const client = new RunClient({ store, queue, tenantId: 'a' })
      const runs = await Promise.all(Array.from({ length: 8 }, () => client.submit({ prompt: 'x' })))
      const states = async () => {
        const all = await Promise.all(runs.map(async ({ runId }) => (await client.get(runId))?.state))
        return all.toSorted()
      }
      const failed = async () => (await states()).filter((state) => state === 'failed').length
      await expect.poll(async () => asked + (await failed()), { timeout: 60_000 }).toBe(8)
      expect(asked).toBeGreaterThan(0)
      expect(asked).toBeLessThanOrEqual(3)
      release()
      await expect
        .poll(async () => (await states()).filter((state) => state === 'completed').length, {
          timeout: 60_000,
        })
        .toBe(asked)
      expect(await queue.count(counter())).toEqual({ tokens: asked * 1_000, costUsd: 0 })
    })

    it('refuse a model without a price when they are in dollars', async () => {
      const { store, queue, worker } = await place(backend)
      await worker(['never'], { tenantQuotas: { default: { costUsd: 1 } } })
      const client = new RunClient({ store, queue, tenantId: 'a' })
      const { runId } = await client.submit({ prompt: 'x' })
      await untilState(client, runId, 'failed')
      expect((await collect(client.events(runId))).at(-1)?.event).toMatchObject({
        type: 'error',
        error: expect.stringMatching(/tenant_cost.*the price of the model '.+' is not known/s),
      })
    })

    it('count nothing for a request that failed before the model answered', async () => {
      const { store, queue, worker } = await place(backend)
      const model = scriptedModel(() => {
        throw new Error('no model')
      })
      const session = { model, retry: { maxRetries: 0 } }
      await worker([], { tenantQuotas: { default: { tokens: 100_000 } }, session })
      const client = new RunClient({ store, queue, tenantId: 'a' })
      await untilState(client, (await client.submit({ prompt: 'x' })).runId, 'failed')
      expect(await queue.count(counter())).toEqual({ tokens: 0, costUsd: 0 })
    })

    it('are those of the configuration, when the worker has no others', async () => {
      const { store, queue, worker } = await place(backend)
      const agent = await Agent.create(
        'cluster { tenant { max_tokens = 1 } tiers { gold { max_tokens = 9000 } } }',
      )
      closing.push(() => agent.close())
      await worker(['one', 'two', 'three', 'four'], { agent })
      for (const [tier, ends] of [
        [undefined, 'failed'],
        ['gold', 'completed'],
      ] as const) {
        const client = new RunClient({ store, queue, tenantId: tier ?? 'plain', tier })
        await untilState(client, (await client.submit({ prompt: 'x' })).runId, 'completed')
        await untilState(client, (await client.submit({ prompt: 'x' })).runId, ends)
      }
    })
  },
)

describe.each(backends)('a run that was removed from a queue in $name', ({ backend }) => {
  it('is not executed again when its request is sent again with the same key', async () => {
    const { store, queue, worker, age } = await place(backend)
    await worker(['done'])
    const client = new RunClient({ store, queue })
    const request = { prompt: 'x', idempotencyKey: 'once' }
    const first = await client.submit(request)
    await untilState(client, first.runId, 'completed')
    await age()
    expect(await queue.removeEnded({ maxAgeMs: 1_800_000, maxRuns: 10 })).toBe(1)
    expect(await client.get(first.runId)).toBeUndefined()
    const second = await client.submit(request)
    expect(second).toEqual({ ...first, isNew: true })
    // The model has no second answer.
    await untilState(client, first.runId, 'completed')
    expect((await collect(client.events(first.runId))).at(-1)?.event).toMatchObject({ type: 'agent_end' })
  })
})

describe('the queue of one process', () => {
  it('survives a restart of the whole process', async () => {
    const store = new MemorySessionStore()
    const first = await place(() => inProcess(store))
    const client = new RunClient({ store, queue: first.queue })
    const { runId } = await client.submit({ prompt: 'later' })
    await first.queue.close()
    const second = await place(() => inProcess(store))
    await second.worker(['done'])
    const after = new RunClient({ store, queue: second.queue })
    expect((await collect(after.events(runId))).at(-1)?.event).toMatchObject({
      type: 'agent_end',
      result: { text: 'done' },
    })
  })
})

it('a worker that has lost a run reports no error for the records that it could not write any more', async () => {
  let lost: string | undefined
  class LostStore extends MemorySessionStore {
    override async open(id: string, options: OpenLogOptions): Promise<SessionLog> {
      const log = await super.open(id, options)
      const append = log.append.bind(log)
      return Object.assign(log, {
        append: (...given: Parameters<SessionLog['append']>) =>
          id === lost ? Promise.reject(new StoreError('store_lost_lease', 'It was lost.')) : append(...given),
      })
    }
  }
  const { queue, store, worker } = await place(() => inProcess(new LostStore()))
  const join = queue.join.bind(queue)
  queue.join = async (node) => {
    const member = await join(node)
    const inspect = member.inspect.bind(member)
    member.inspect = async (claim) => (lost === undefined ? inspect(claim) : undefined)
    return member
  }
  const errors: unknown[] = []
  // The result of the first call is in memory until the second one was approved.
  const both = {
    toolCalls: [...(call('look', 'one').toolCalls ?? []), ...(call('change', 'sea').toolCalls ?? [])],
  }
  const asking = await worker([both, 'never'], {
    slots: 1,
    suspendAfterMs: 3_600_000,
    onError: (error) => errors.push(error),
  })
  const client = new RunClient({ store, queue })
  const { runId, sessionId } = await client.submit({ prompt: 'Change it.' })
  for await (const { event } of client.events(runId)) {
    if (event.type !== 'confirmation_required') continue
    lost = sessionId
    break
  }
  await expect.poll(() => asking.metrics().lost, { timeout: 10_000 }).toBe(1)
  expect(errors).toEqual([])
})
