import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { chainEvents } from '../../src/cluster/chain-events.js'
import { RunClient } from '../../src/cluster/run-client.js'
import { PostgresRunQueue, PostgresSessionStore } from '../../src/postgres/index.js'
import type { QueuedRun } from '../../src/run-queue/run-queue.js'
import { load } from '../../src/session/journal/restore.js'
import type { RunEvent } from '../../src/session/run-events.js'
import { startModelServer } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { factor } from '../support/fault-factor.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const clusterKey = 'the key of the cluster in this test, 32 bytes'
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** The parts of a chat request that the model of these tests looks at. */
type Chat = { readonly messages: readonly { readonly role: string; readonly content: unknown }[] }

/** A cluster whose model makes as many calls as the prompt says: `NAME x3` appends `NAME 1` to `NAME 3` to a file. */
async function cluster() {
  const { url, schema } = await postgresSchema()
  const base = realpathSync(temporaryDirectory())
  const work = join(base, 'work')
  mkdirSync(work)
  const ledger = join(work, 'ledger.txt')
  writeFileSync(ledger, '')
  /** When the model was asked about each run. */
  const asked: { readonly name: string; readonly atMs: number }[] = []
  const models = await startModelServer((request) => {
    const { messages } = request.body as unknown as Chat
    const prompt = JSON.stringify(messages.find(({ role }) => role === 'user')?.content ?? '')
    const [, name = 'none', count = '0'] = /([\w-]+) x(\d+)/.exec(prompt) ?? []
    asked.push({ name, atMs: Date.now() })
    const made = messages.filter(({ role }) => role === 'tool').length
    if (made >= Number(count)) return `${name} is done after ${made} calls.`
    const id = `${name}-${made + 1}`
    const command = `echo ${id} >> ledger.txt`
    return { text: `Call ${id}. `, toolCalls: [{ id, name: 'bash', args: { command } }] }
  })
  closing.push(() => models.close())
  const config = join(base, 'worker.acl')
  writeFileSync(
    config,
    `default_model = "local/test"\nproviders "local" { base_url = "${models.url}/v1" api_key = "key-of-the-test" models "test" {} }\n`,
  )
  const store = new PostgresSessionStore({ url, schema })
  const queue = new PostgresRunQueue({ url, schema })
  closing.push(
    () => store.close(),
    () => queue.close(),
  )
  const environment = {
    PATH: process.env['PATH'] ?? '',
    HOME: base,
    CAPSTAN_LOCAL_MODELS: '',
    CAPSTAN_DATABASE_URL: url,
    CAPSTAN_CLUSTER_KEY: clusterKey,
  }
  const command = (args: readonly string[]): ChildProcess =>
    spawn(process.execPath, [join(root, 'dist/cli/main.js'), ...args, '--schema', schema], {
      cwd: work,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const worker = (...args: readonly string[]): Promise<WorkerProcess> =>
    started(
      command([
        ...['worker', '--json', '--config', config, '--workspace', `main=${work}`, '--sandbox', 'off'],
        ...args,
      ]),
    )
  const client = new RunClient({ store, queue, clusterKey })
  return { store, queue, client, worker, command, asked, lines: () => linesOf(ledger) }
}

type WorkerProcess = {
  readonly nodeId: string
  readonly child: ChildProcess
  readonly ended: Promise<number | string>
}

/** Resolves when the worker has joined the cluster. */
async function started(child: ChildProcess): Promise<WorkerProcess> {
  let stderr = ''
  child.stderr?.on('data', (data) => {
    stderr += String(data)
  })
  const ended = new Promise<number | string>((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  closing.push(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const { stdout } = child
  if (stdout === null) throw new Error('the worker has no standard output')
  const nodeId = await new Promise<string>((resolve, reject) => {
    createInterface({ input: stdout }).once('line', (line) => resolve(String(JSON.parse(line).nodeId)))
    void ended.then((how) => reject(new Error(`The worker ended with ${how}: ${stderr}`)))
  })
  return { nodeId, child, ended }
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').filter(Boolean)
}

async function collect(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const all: RunEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

async function output(child: ChildProcess): Promise<{ readonly code: number; readonly text: string }> {
  let text = ''
  child.stdout?.on('data', (data) => {
    text += String(data)
  })
  const code = await new Promise<number>((resolve) => {
    child.on('close', (exit) => resolve(exit ?? -1))
  })
  return { code, text }
}

const minutes = 60_000

describe.skipIf(!hasPostgres())('workers as processes', () => {
  it(
    'finish every run although they are killed, make no call twice, and give readers every event once',
    async () => {
      const kills = Number(process.env['CLUSTER_KILLS'] ?? 3 * factor)
      const { client, worker, asked, lines, store, queue } = await cluster()
      const workers = await Promise.all([worker('--mode', 'full'), worker('--mode', 'full')])
      const count = Math.max(6, kills * 2)
      const runs = await Promise.all(
        Array.from({ length: count }, (_, at) => client.submit({ prompt: `run-${at} x4` })),
      )
      const reading = Promise.all(runs.map(({ runId }) => collect(client.events(runId))))
      const takeovers: number[] = []
      const openRuns = async () => (await queue.list({ states: ['queued', 'active'], limit: 1_000 })).runs
      for (let at = 0; at < kills; at++) {
        const victim = workers[at % workers.length]
        if (victim === undefined) throw new Error('there is no worker')
        const isVictims = ({ nodeId }: QueuedRun): boolean => nodeId === victim.nodeId
        const before = lines().length
        // Kills it while it works: it has runs, and calls were made since the last kill.
        await expect
          .poll(
            async () => {
              const open = await openRuns()
              return open.length === 0 || (open.some(isVictims) && lines().length > before)
            },
            { timeout: 5 * minutes },
          )
          .toBe(true)
        const lost = (await openRuns()).filter(isVictims)
        if (lost.length === 0) break
        victim.child.kill('SIGKILL')
        const killedAtMs = Date.now()
        await victim.ended
        const names = new Set(lost.map(({ prompt }) => prompt.split(' ')[0]))
        const next = () => asked.find(({ name, atMs }) => atMs > killedAtMs + 100 && names.has(name))
        const isOver = async () =>
          (await openRuns()).every(({ runId }) => !lost.some((one) => one.runId === runId))
        await expect
          .poll(async () => next() !== undefined || (await isOver()), { timeout: 5 * minutes })
          .toBe(true)
        const found = next()
        if (found !== undefined) takeovers.push(found.atMs - killedAtMs)
        workers[at % workers.length] = await worker('--mode', 'full')
      }
      const events = await reading
      const all = lines()
      expect(new Set(all).size, 'a call was made twice').toBe(all.length)
      for (const [at, { runId, sessionId }] of runs.entries()) {
        const own = events[at] ?? []
        expect(own.at(-1)?.event).toMatchObject({
          type: 'agent_end',
          result: { text: expect.stringContaining(`run-${at} is done`) },
        })
        const numbers = own.map(({ sequence }) => sequence)
        expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers)
        expect(new Set(numbers).size).toBe(numbers.length)
        const state = await load(store, sessionId)
        const stored = state === undefined ? [] : chainEvents(state, runId).map(({ sequence }) => sequence)
        const read = new Set(numbers)
        expect(stored.filter((sequence) => !read.has(sequence))).toEqual([])
        expect(await client.get(runId)).toMatchObject({ state: 'completed' })
      }
      const sorted = takeovers.toSorted((a, b) => a - b)
      if (process.env['CLUSTER_KILLS'] !== undefined)
        console.log(
          `takeovers of ${kills} kills: p50 ${sorted[sorted.length >> 1]} ms, max ${sorted.at(-1)} ms`,
        )
    },
    20 * minutes,
  )

  it(
    'ask for an approval on one node, take the answer on another, and finish on a third; a drained node ends with 0',
    async () => {
      const { client, worker, lines, queue, command } = await cluster()
      const first = await worker('--suspend-after', '1h', '--ask', 'bash')
      const submitted = await output(command(['runs', 'submit', 'sea x1', '--json']))
      expect(submitted.code).toBe(0)
      const { runId } = JSON.parse(submitted.text)
      await expect.poll(async () => (await client.approvals(runId)).length, { timeout: 5 * minutes }).toBe(1)
      first.child.kill('SIGKILL')
      await first.ended
      const answered = await output(command(['runs', 'answer', runId, '--decision', 'once', '--json']))
      expect({ code: answered.code, ...JSON.parse(answered.text) }).toEqual({
        code: 0,
        runId,
        callId: 'sea-1',
        decision: 'once',
      })
      expect(lines()).toEqual([])
      const third = await worker('--suspend-after', '1h', '--ask', 'bash')
      const followed = await output(command(['runs', 'follow', runId]))
      expect(followed).toEqual({ code: 0, text: expect.stringContaining('sea is done after 1 calls.') })
      expect(lines()).toEqual(['sea-1'])
      expect((await client.get(runId))?.state).toBe('completed')
      const status = await output(command(['cluster', 'status', '--json']))
      expect(JSON.parse(status.text).nodes).toMatchObject([{ id: third.nodeId }])
      expect((await output(command(['cluster', 'drain', third.nodeId]))).code).toBe(0)
      expect(await third.ended).toBe(0)
      expect((await queue.status()).nodes).toEqual([])
    },
    20 * minutes,
  )
})
