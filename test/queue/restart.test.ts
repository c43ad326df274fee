/** A session with workers whose process is killed: what another process finds of its tasks and dead letters. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  Agent,
  createTool,
  FileSessionStore,
  type QueueConfig,
  type Session,
  type SessionOptions,
  SqliteSessionStore,
} from '../../src/index.js'
import { PostgresSessionStore } from '../../src/store/postgres/postgres-store.js'
import type { SessionStore } from '../../src/store/session-store.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { isRecord, type JsonObject } from '../../src/tool/json.js'
import { whenDone } from '../contract/open-session.js'
import { factor } from '../support/fault-factor.js'
import { type Host, startHost } from '../support/host-process.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'
import { sharedDirectory } from '../support/temporary-directory.js'

const token = 'a-token-for-this-test-alone'
const external: QueueConfig = {
  enableDlq: true,
  executeConcurrency: 8,
  leaseMs: 600_000,
  laneHandlers: { execute: { mode: 'external', timeoutMs: 600_000 } },
  retryPolicy: { strategy: 'none' },
}
type Round = readonly (readonly [tool: 'move' | 'look', n: number])[]
/** A session of a host: a run of these rounds, or one call that the host makes itself. */
type Plan = {
  readonly sessionId: string
  readonly rounds?: readonly Round[]
  readonly config?: QueueConfig
  readonly direct?: readonly [tool: string, n: number]
  readonly external?: boolean
}
const noRetries = { enableDlq: true, leaseMs: 50, retryPolicy: { strategy: 'none' as const } }
/** The sessions of one host: starting one takes longer than a test. */
const plans: readonly Plan[] = [
  {
    sessionId: 'started',
    rounds: [
      [
        ['move', 1],
        ['move', 2],
        ['move', 3],
      ],
    ],
  },
  { sessionId: 'followed', rounds: [[['move', 1]]] },
  { sessionId: 'lettered', direct: ['look', 7], config: noRetries, external: true },
  { sessionId: 'direct', direct: ['move', 5] },
  {
    sessionId: 'accepted',
    rounds: [
      [
        ['move', 1],
        ['move', 2],
      ],
    ],
  },
]

/** Does in each session what a worker does before the host is killed, and kills it. Returns the tasks of the worker. */
async function workUntilKilled(host: Host) {
  const asks: Ask[] = []
  for (const _ of plans) asks.push(askAt(String((await host.next())['url'])))
  const [started, followed, lettered, direct, accepted] = asks as [Ask, Ask, Ask, Ask, Ask]
  const begun = await claimOf(started, 1)
  expect(await started('start', leaseOf(begun))).toEqual({ accepted: true })
  const claimed = await claimOf(started, 2)
  const withdrawn = await claimOf(followed, 1)
  await followed('start', leaseOf(withdrawn))
  await lettered('start', leaseOf(await claimOf(lettered, 7)))
  expect(await host.next()).toMatchObject({ letters: 1 })
  // A worker can claim what is saved, and this one does not begin.
  await claimOf(direct, 5)
  const [completed, lost] = [await claimOf(accepted, 1), await claimOf(accepted, 2)]
  for (const task of [completed, lost]) await accepted('start', leaseOf(task))
  // The last one, so that the host is killed right after it.
  await accepted('complete', { ...leaseOf(completed), success: true, result: 'moved 1' })
  host.child.kill('SIGKILL')
  await host.exited
  return { begun, claimed, withdrawn, lost }
}

type WhenOver = (close: () => Promise<void>) => void
type Store = [string, (place: string) => SessionStore, (base: string, whenOver: WhenOver) => Promise<string>]
const stores: Store[] = [
  ['file', (place) => new FileSessionStore(place), async (base) => join(base, 'user', 'sessions')],
  ['sqlite', (place) => new SqliteSessionStore(place), async (base) => join(base, 'user', 'sessions')],
  [
    'postgres',
    (place) => new PostgresSessionStore(JSON.parse(place)),
    async (_, whenOver) => JSON.stringify(await postgresSchema(whenOver)),
  ],
]

describe.each(stores)(
  'a session with workers that is killed, with the store "%s"',
  (backend, openStore, makePlace) => {
    const base = sharedDirectory()
    const [root, userDir] = [join(base, 'workspace'), join(base, 'user')]
    let place = ''
    let tasks: Awaited<ReturnType<typeof workUntilKilled>>

    beforeEach(({ skip }) => skip(backend === 'postgres' && !hasPostgres()))

    beforeAll(async () => {
      if (backend === 'postgres' && !hasPostgres()) return undefined
      const closings: (() => Promise<void>)[] = []
      await mkdir(root)
      await mkdir(userDir)
      place = await makePlace(base, (close) => closings.push(close))
      const host = start(plans)
      try {
        tasks = await workUntilKilled(host)
      } finally {
        host.child.kill('SIGKILL')
      }
      return async () => {
        for (const close of closings) await close()
      }
    })

    function start(sessions: readonly Plan[], resumes = false): Host {
      const order = { backend, place, workspace: root, userDir, token, resumes }
      return startHost('queue/restart-host.mjs', {
        ...order,
        sessions: sessions.map((plan) => ({ config: external, ...plan })),
      })
    }

    async function reopen(sessionId: string, options: SessionOptions = {}): Promise<Session> {
      const store = openStore(place)
      whenDone(async () => store.close?.())
      const agent = await Agent.create({}, { userDir, env: {} })
      whenDone(() => agent.close())
      return agent.openSession(sessionId, {
        sessionStore: store,
        sandbox: 'off',
        permissionPolicy: { allow: ['move', 'look'] },
        tools: [crateTool('move', false), crateTool('look', true)],
        queueConfig: external,
        ...options,
      })
    }

    it('accepts the result of a call that a worker had started, and starts the other calls once the run is resumed', async () => {
      const { begun, claimed } = tasks
      const model = scriptedModel(['All crates were moved.'])
      const session = await reopen('started', { model })
      // Nor is one listed, for a host that looks there for work, or can one be completed that was not begun.
      expect(await session.pendingExternalTasks()).toEqual([])
      expect(await session.completeExternalTask(String(claimed['taskId']), { success: true })).toBe(false)
      const { url } = await session.serveQueue({ token })
      const ask = askAt(url)
      // No call passes to a worker that the gate of this process has not judged.
      expect(await ask('claim', { worker: 'w', max: 9, waitMs: 0 })).toEqual({ tasks: [] })
      expect(await ask('start', leaseOf(claimed))).toEqual({ accepted: false })
      expect(await ask('heartbeat', { leases: [leaseOf(begun), leaseOf(claimed)] })).toEqual({
        lost: [claimed['taskId']],
      })
      const done = { ...leaseOf(begun), success: true, result: 'moved 1' }
      expect(await ask('complete', done)).toMatchObject({ answer: 'accepted' })
      expect(await ask('complete', done)).toMatchObject({ answer: 'duplicate' })
      const [run] = await session.runs()
      const resumed = session.resumeRun(run?.id ?? '')
      for (const n of [2, 3]) {
        const task = await claimOf(ask, n)
        expect(task['taskId']).not.toBe(begun['taskId'])
        await ask('complete', { ...leaseOf(task), success: true, result: `moved ${n}` })
      }
      expect((await resumed).text).toBe('All crates were moved.')
      expect(resultsIn(session)).toEqual(['moved 1', 'moved 2', 'moved 3'])
      expect(await session.pendingExternalTasks()).toEqual([])
      // Also a later process knows that this result was accepted.
      await session.close()
      const later = askAt((await (await reopen('started')).serveQueue({ token })).url)
      expect(await later('complete', done)).toMatchObject({ answer: 'duplicate' })
      expect(await later('complete', { ...leaseOf(claimed), success: true })).toMatchObject({
        answer: 'gone',
      })
    })

    it('has the result that was accepted before the kill, and does not offer its call again', async () => {
      const queueConfig = { ...external, leaseMs: 50 }
      const session = await reopen('accepted', {
        model: scriptedModel(['All crates were moved.']),
        queueConfig,
      })
      const [run] = await session.runs()
      expect((await session.resumeRun(run?.id ?? '')).text).toBe('All crates were moved.')
      const [first, second] = resultsIn(session)
      expect(first).toBe('moved 1')
      expect(second).toContain('its outcome is unknown')
      const [letter, ...others] = await session.deadLetters()
      expect(others).toEqual([])
      expect(letter).toMatchObject({ commandId: tasks.lost['taskId'], payload: { n: 2 }, mayHaveRun: true })
    })

    it('withdraws the tasks when another prompt follows, and the worker is notified', async () => {
      const task = tasks.withdrawn
      const session = await reopen('followed', { model: scriptedModel(['Something else.']) })
      const ask = askAt((await session.serveQueue({ token })).url)
      expect(await ask('heartbeat', { leases: [leaseOf(task)] })).toEqual({ lost: [] })
      await session.send('Do something else.')
      expect(resultsIn(session)[0]).toContain('interrupted, outcome unknown')
      expect(await session.pendingExternalTasks()).toEqual([])
      expect(await ask('heartbeat', { leases: [leaseOf(task)] })).toEqual({ lost: [task['taskId']] })
      expect(await ask('complete', { ...leaseOf(task), success: true })).toMatchObject({ answer: 'gone' })
    })

    it('has dead letters and lane handlers, and retries a letter once, when the host requests it', async () => {
      // Its worker has all the time that it needs.
      const queueConfig = { ...noRetries, leaseMs: 600_000 }
      const session = await reopen('lettered', { queueConfig })
      expect((await session.queueStats()).lanes.execute.mode).toBe('external')
      const [letter] = await session.deadLetters()
      expect(letter).toMatchObject({
        commandType: 'look',
        payload: { n: 7 },
        fromLog: true,
        mayHaveRun: false,
      })
      const id = letter?.commandId ?? ''
      await expect(session.retryDeadLetter(id)).rejects.toMatchObject({ code: 'queue_dead_letter' })
      const ask = askAt((await session.serveQueue({ token })).url)
      const retried = session.retryDeadLetter(id, { evenIfFromLog: true })
      const task = await claimOf(ask, 7)
      expect(task['taskId']).not.toBe(id)
      await ask('complete', { ...leaseOf(task), success: true, result: 'seen' })
      expect((await retried).output).toBe('seen')
      await session.close()
      expect(await (await reopen('lettered', { queueConfig })).deadLetters()).toEqual([])
    })

    it('lists direct calls of an earlier process, and gives them to workers, only when the store is trusted', async () => {
      const wary = await reopen('direct')
      expect(await wary.pendingExternalTasks()).toEqual([])
      const waryAsks = askAt((await wary.serveQueue({ token })).url)
      expect(await waryAsks('claim', { worker: 'w', max: 9, waitMs: 0 })).toEqual({ tasks: [] })
      await wary.close()

      const trusting = await reopen('direct', { trustStore: true })
      await expect
        .poll(async () => numbersOf(await trusting.pendingExternalTasks()), { timeout: 60_000 })
        .toEqual([5])
      const ask = askAt((await trusting.serveQueue({ token })).url)
      const task = await claimOf(ask, 5)
      await ask('complete', { ...leaseOf(task), success: true, result: 'moved 5' })
      await expect.poll(() => trusting.pendingExternalTasks(), { timeout: 60_000 }).toEqual([])
      await trusting.close()
      const later = await reopen('direct')
      expect([await later.pendingExternalTasks(), await later.deadLetters()]).toEqual([[], []])
    })

    it('starts no call twice, wherever its process is killed', async () => {
      const rounds = Array.from(
        { length: 4 },
        (_, round): Round => [
          ['move', round * 3 + 1],
          ['look', round * 3 + 2],
          ['move', round * 3 + 3],
        ],
      )
      const config = { ...external, leaseMs: 400, retryPolicy: { maxRetries: 9, initialDelayMs: 5 } }
      const begun = new Map<number, number>()
      let url = ''
      let isOver = false
      const working = Promise.all([work(1), work(2)])
      /** Kills the process as soon as a worker was allowed to start a call. */
      let killAtStart: (() => void) | undefined
      let text: unknown
      const kills = factor === 1 ? 2 : 4 * factor
      for (let made = 0; text === undefined; made++) {
        const host = start([{ sessionId: 'again and again', rounds, config }], made > 0)
        whenDone(async () => host.child.kill('SIGKILL'))
        url = String((await host.next())['url'])
        if (made < kills) {
          // At any moment, and at the one at which the start of a call must already be in the log.
          if (made % 2 === 0) await pause(Math.random() * 150).then(() => host.child.kill('SIGKILL'))
          else killAtStart = () => host.child.kill('SIGKILL')
        } else text = (await host.next())['text']
        await host.exited
      }
      isOver = true
      await working
      expect(text).toBe('All crates were moved.')
      const moves = rounds.flat().flatMap(([tool, n]) => (tool === 'move' ? [n] : []))
      expect(moves.filter((n) => (begun.get(n) ?? 0) > 1)).toEqual([])

      async function work(name: number): Promise<void> {
        while (!isOver) {
          const ask = askAt(url)
          try {
            const { tasks } = await ask('claim', {
              worker: `w${name}`,
              max: 1,
              waitMs: 50,
              announcesStart: true,
            })
            const [task] = Array.isArray(tasks) ? tasks : []
            if (!isRecord(task)) continue
            const { accepted } = await ask('start', leaseOf(task))
            if (accepted !== true) continue
            killAtStart?.()
            killAtStart = undefined
            const n = numberOf(task)
            begun.set(n, (begun.get(n) ?? 0) + 1)
            await pause(Math.random() * 30)
            // The queue may have another address by now.
            await askAt(url)('complete', { ...leaseOf(task), success: true, result: `moved ${n}` })
          } catch (error) {
            // The process of the queue was killed: its address is a new one soon.
            if (!(error instanceof TypeError)) throw error
            await pause(25)
          }
        }
      }
    })
  },
)

function crateTool(name: string, idempotent: boolean) {
  return createTool({
    name,
    description: 'Moves a crate.',
    input: z.object({ n: z.number() }),
    idempotent,
    execute: () => 'it ran in the process of the session',
  })
}

type Ask = (method: string, params: object) => Promise<JsonObject>

function askAt(url: string): Ask {
  return async (method, params) => {
    const response = await fetch(`${url}/v1/${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(params),
    })
    return (await response.json()) as JsonObject
  }
}

/** Claims the task of this number, and no other. */
async function claimOf(ask: Ask, n: number): Promise<JsonObject> {
  for (;;) {
    const { tasks } = await ask('claim', { worker: 'w', max: 1, waitMs: 30_000, announcesStart: true })
    const [task] = Array.isArray(tasks) ? tasks : []
    if (!isRecord(task)) continue
    if (numberOf(task) === n) return task as JsonObject
    throw new Error(`the task ${numberOf(task)} came before ${n}`)
  }
}

function leaseOf({ taskId, leaseId }: Readonly<Record<string, unknown>>): object {
  return { taskId, leaseId }
}

function numberOf({ payload }: Readonly<Record<string, unknown>>): number {
  return isRecord(payload) ? Number(payload['n']) : 0
}

function numbersOf(tasks: readonly { readonly payload: unknown }[]): number[] {
  return tasks.map(numberOf).toSorted((a, b) => a - b)
}

function resultsIn(session: Session): (string | undefined)[] {
  const messages = session.history().filter(({ role }) => role === 'tool')
  return messages.flatMap(({ content }) => content.map(({ resultContent }) => resultContent))
}
