/** Webhooks and wake-ups of one schedule on several nodes, which share a database and nothing else. */
import { createHmac } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { PostgresSessionStore } from '../../src/postgres/index.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { directoryWith, EventCollector, HandClock, newAgent } from '../agent-dir/support.js'
import { stateOf } from '../persistence/kept.js'
import { startHost } from '../support/host-process.js'
import { hasPostgres, postgresSchema, type TestSchema } from '../support/postgres.js'

const secret = 'a-secret-of-the-test-0123456789'
const minutes = 60_000

async function nodesOn(front: string, options: { readonly clock?: HandClock; readonly place: TestSchema }) {
  const dir = await directoryWith({
    'instructions.md': 'You are the watch.',
    'schedules/job.md': `---\n${front}\n---\nDo the job.\n`,
  })
  const workspace = await directoryWith({})
  const state = new PostgresSessionStore(options.place)
  onTestFinished(() => state.close())
  return {
    /** The fires in the log of the schedule, by what made them. */
    fires: async () =>
      [...(await stateOf(state, 'schedule:job')).runs.values()].map(({ trigger }) => trigger),
    waiting: () => state.mailbox.waiting('schedule:job'),
    /** What a node, as a process of its own, said before it was killed. */
    async killed(order: object): Promise<Record<string, unknown>> {
      const place = JSON.stringify(options.place)
      const userDir = await directoryWith({})
      const env = { HOOK_SECRET: secret }
      const own = { backend: 'postgres', place, dir, workspace, userDir, env, ...order }
      const host = startHost('agent-dir/node-host.mjs', own)
      const lines: Record<string, unknown>[] = []
      for (let line: (typeof lines)[number] | undefined = {}; line !== undefined; ) {
        line = await host.next().catch(() => undefined)
        if (line !== undefined) lines.push(line)
      }
      expect(await host.exited).toMatchObject({ signal: 'SIGKILL' })
      return lines.find((line) => 'accepted' in line || 'ran' in line) ?? {}
    },
    async node(model = scriptedModel((_, n) => `answer ${n + 1}`)) {
      const store = new PostgresSessionStore(options.place)
      const agent = await newAgent({}, { HOOK_SECRET: secret })
      const collected = new EventCollector()
      const served = await agent.serveAgentDir(dir, workspace, {
        ...(options.clock !== undefined && { clock: options.clock }),
        // A clock of the test is not corrected by that of the database.
        sessionStore: options.clock === undefined ? store : withoutClock(store),
        sandbox: 'off',
        model,
        onEvent: collected.onEvent,
      })
      onTestFinished(async () => {
        await served.stop({ drainMs: 0 })
        await store.close()
      })
      const send = async (request: RequestInit): Promise<number> =>
        (await served.webhook(new Request('http://node/v1/hooks/job', request))).status
      return { served, collected, send, model }
    },
  }
}

function withoutClock(store: PostgresSessionStore): SessionStore {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'now') return undefined
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

function signed(body: string, seconds = Math.floor(Date.now() / 1_000)): RequestInit {
  const signature = `v1=${createHmac('sha256', secret).update(`${seconds}\njob\n${body}`).digest('hex')}`
  const headers = { 'capstan-timestamp': String(seconds), 'capstan-signature': signature }
  return { method: 'POST', body, headers }
}

describe.skipIf(!hasPostgres())('nodes with one database', () => {
  it(
    'accept each request of a webhook once, and fire for it on the node that has the session',
    async () => {
      const { node, fires, waiting } = await nodesOn('webhook_secret: HOOK_SECRET', {
        place: await postgresSchema(),
      })
      const [a, b] = [await node(), await node()]
      const first = signed('first')
      expect(await a.send(first)).toBe(202)
      await expect.poll(async () => (await fires()).length, { timeout: minutes }).toBe(1)
      expect([await a.send(first), await b.send(first)]).toEqual([409, 409])
      // Either node has the session now; the other one accepts requests too.
      for (const [at, one] of [a, b].entries()) {
        const request = signed(`more ${at}`)
        expect(await one.send(request)).toBe(202)
        await expect.poll(async () => (await fires()).length, { timeout: minutes }).toBe(2 + at)
        await expect.poll(waiting, { timeout: minutes }).toEqual([])
      }
      // A node that starts later knows what was accepted before it, and what came at the same time is accepted once.
      const c = await node()
      expect([await c.send(first), await b.send(first)]).toEqual([409, 409])
      const last = signed('last')
      const answers = await Promise.all([a, b, c].map((one) => one.send(last)))
      expect(answers.toSorted()).toEqual([202, 409, 409])
      await expect.poll(async () => (await fires()).length, { timeout: minutes }).toBe(4)
      const ended = () => [a, b, c].flatMap(({ collected }) => collected.ran()).map(({ status }) => status)
      await expect.poll(ended, { timeout: minutes }).toEqual(Array.from({ length: 4 }, () => 'completed'))
      const bodies = [a, b, c].flatMap(({ model }) =>
        model.requests.map((one) => JSON.stringify(one.chatHistory)),
      )
      expect(bodies.some((body) => body.includes('last'))).toBe(true)
    },
    5 * minutes,
  )

  it(
    'fire once for a request whose node was killed after it had accepted it, and accept it from no other',
    async () => {
      const { node, fires, waiting, killed } = await nodesOn('webhook_secret: HOOK_SECRET', {
        place: await postgresSchema(),
      })
      const requests = [signed('to a node alone'), signed('next to another')]
      // The first one is alone; the session is free again after it. The second one is next to the node that follows.
      for (const [at, request] of requests.entries()) {
        expect(await killed({ request })).toEqual({ accepted: 202 })
        if (at === 0) await node()
        await expect.poll(async () => (await fires()).length, { timeout: minutes }).toBe(at + 1)
        await expect.poll(waiting, { timeout: minutes }).toEqual([])
      }
      const last = await node()
      for (const request of requests) expect(await last.send(request)).toBe(409)
      expect(await fires()).toMatchObject([{ source: 'webhook' }, { source: 'webhook' }])
      expect(new Set((await fires()).map((trigger) => trigger?.['delivery'])).size).toBe(2)
    },
    5 * minutes,
  )

  it(
    'run a wake-up that the model of a killed node requested, once',
    async () => {
      const { node, fires, killed } = await nodesOn('cron: "0 0 1 1 *"\nwake_ups: 2', {
        place: await postgresSchema(),
      })
      const asks = [
        { toolCalls: [{ name: 'wake_up', args: { after_seconds: 60, note: 'look' } }] },
        'I wait.',
      ]
      // Its clock is slow by as long as it waits, so that the wake-up is due for the others.
      const order = { steps: asks, runs: 'job', skewMs: -60_000, ownClock: true }
      expect(await killed(order)).toEqual({ ran: 'completed' })
      const nodes = [await node(), await node()]
      const ran = () => nodes.flatMap(({ collected }) => collected.ran())
      await expect.poll(ran, { timeout: minutes }).toMatchObject([{ source: 'wake_up', status: 'completed' }])
      expect(await fires()).toMatchObject([{ source: 'api' }, { source: 'wake_up' }])
    },
    5 * minutes,
  )

  it(
    'run a wake-up that the model of another node requested, once, when that node has ended',
    async () => {
      const clock = new HandClock('2030-01-01T00:00:00Z')
      const { node, fires } = await nodesOn('cron: "0 0 1 1 *"\nwake_ups: 2\ncatch_up: last', {
        place: await postgresSchema(),
        clock,
      })
      const asking = scriptedModel([
        { toolCalls: [{ name: 'wake_up', args: { after_seconds: 86_400, note: 'look at the build' } }] },
        'I wait.',
      ])
      const [b, c] = [await node(), await node()]
      const a = await node(asking)
      expect(await a.served.runNow('job')).toMatchObject({ status: 'completed' })
      await a.served.stop({ drainMs: 0 })
      // The others look at the log, and find the wake-up. It is due a day later, because the clock of the test does not
      // wait for the database: one of them could make a wake-up that is due soon before the other one knows of it.
      const isKnown = () =>
        [b, c].every(({ served }) => (served.schedules()[0]?.nextFireAtMs ?? 0) <= Date.parse('2030-01-02'))
      while (!isKnown()) await clock.pass(2_000)
      clock.set('2030-01-01T23:59:00Z')
      while (b.collected.ran().length + c.collected.ran().length === 0) await clock.pass(2_000)
      for (let at = 0; at < 60; at++) await clock.pass(2_000)
      expect(await fires()).toMatchObject([{ source: 'api' }, { source: 'wake_up' }])
      expect([...b.collected.ran(), ...c.collected.ran()]).toMatchObject([
        { source: 'wake_up', status: 'completed' },
      ])
    },
    5 * minutes,
  )
})
