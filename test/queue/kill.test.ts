import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { readQueueConfig } from '../../src/queue/config.js'
import { LaneQueue } from '../../src/queue/lane-queue.js'
import { LocalEngine } from '../../src/queue/local-engine.js'
import { serveHttp } from '../../src/queue/serve/http.js'
import type { Envelope } from '../../src/tool/envelope.js'
import { factor } from '../support/fault-factor.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

/** In the long form, 10,000 tasks and 200 killed workers. */
const taskCount = factor === 1 ? 150 : Math.min(10_000, 300 * factor)
const killCount = Math.min(200, 6 * factor)
const workerCount = 3
const token = 'a-token-for-this-test-alone'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('FT-23: workers that are killed at random', () => {
  it(
    `leave no task without an end, and run none twice that must not be: ${taskCount} tasks, ${killCount} kills`,
    async () => {
      const settings = readQueueConfig({
        enableDlq: true,
        dlqMaxSize: 20_000,
        enableMetrics: true,
        executeConcurrency: 48,
        leaseMs: 400,
        laneHandlers: { execute: { mode: 'external', timeoutMs: 600_000 } },
        retryPolicy: { maxRetries: 6, initialDelayMs: 5, maxDelayMs: 50 },
      })
      let leases = 0
      const engine = new LocalEngine(settings, () => `lease-${++leases}`)
      const queue = new LaneQueue({ sessionId: 's', settings, engine, emit: () => undefined, now: () => 0 })
      const door = await serveHttp(engine.board, { token })
      const directory = temporaryDirectory()
      const log = join(directory, 'log')
      ends.push(() => door.close())
      const workers = await startWorkers(door.url, log)

      let settled = 0
      const outcomes = await Promise.all(
        Array.from({ length: taskCount }, async (_, at): Promise<Envelope> => {
          const envelope = await queue.pass(
            {
              toolName: 'work',
              args: JSON.stringify({ n: at + 1, ms: at % 4, fail: failOf(at) }),
              lane: 'execute',
              idempotent: at % 2 === 0,
              starting: () => undefined,
            },
            () => Promise.reject(new Error('it must not run here')),
          )
          settled++
          if (settled % Math.ceil(taskCount / (killCount + 1)) === 0) void workers.killOne()
          return envelope
        }),
      )
      await workers.close()

      const dead = new Set(queue.deadLetters?.list().map(({ commandId }) => commandId))
      const wrong = outcomes.flatMap((envelope, at) => {
        const id = `s-${at + 1}`
        const fine = envelope.type === 'output' && envelope.data === `did ${at + 1}`
        return fine === dead.has(id) ? [id] : []
      })
      expect(wrong, 'completed or dead, and not both').toEqual([])

      const lines = (await readFile(log, 'utf8')).split('\n').map((line) => line.split(' '))
      const count = (what: string, id: string): number => counts.get(`${what} ${id}`) ?? 0
      const counts = new Map<string, number>()
      for (const line of lines) counts.set(line.join(' '), (counts.get(line.join(' ')) ?? 0) + 1)
      const ids = outcomes.map((_, at) => `s-${at + 1}`)
      expect(
        ids.filter((id, at) => at % 2 === 1 && count('began', id) > 1),
        'run twice',
      ).toEqual([])
      expect(
        ids.filter((id) => !dead.has(id) && count('began', id) === 0),
        'done by no worker',
      ).toEqual([])

      const { counters = {}, gauges = {} } = (await queue.metrics()) ?? {}
      expect(counters['lane.commands.submitted']).toBe(taskCount)
      expect(counters['lane.commands.completed']).toBe(taskCount - dead.size)
      expect(counters['lane.commands.dead_lettered']).toBe(dead.size)
      expect(counters['lane.commands.failed']).toBe(dead.size)
      expect(Object.values(gauges).every((value) => value === 0)).toBe(true)
      // Those that always fail, those that may not be tried again, and a few that a killed worker had begun.
      expect(dead.size).toBeGreaterThanOrEqual(taskCount / 40 + taskCount / 80)
      expect(workers.killed()).toBe(killCount)
      const began = lines.filter(([what]) => what === 'began').length
      console.info(
        `${taskCount} tasks, ${killCount} kills: ${taskCount - dead.size} done, ${dead.size} dead letters, ${counters['lane.commands.retried']} retries, ${began} beginnings`,
      )
      await queue.close()
    },
    60_000 + factor * 20_000,
  )
})

/** One in twenty: of those with even numbers every other recovers, those with odd ones must not be tried again. */
function failOf(at: number): 'always' | 'once' | 'never' {
  if (at % 40 === 0) return at % 80 === 0 ? 'always' : 'once'
  return at % 40 === 1 ? 'always' : 'never'
}

async function startWorkers(url: string, log: string) {
  const alive = new Set<ChildProcess>()
  let killed = 0
  let closing = false
  const start = async (): Promise<void> => {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'worker.mjs'), url, token, log], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    alive.add(child)
    child.once('exit', () => alive.delete(child))
    await once(child.stdout, 'data')
  }
  const end = async (child: ChildProcess): Promise<void> => {
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
  }
  const close = async (): Promise<void> => {
    closing = true
    await Promise.all([...alive].map(end))
  }
  ends.push(close)
  await Promise.all(Array.from({ length: workerCount }, start))
  return {
    close,
    killed: () => killed,
    async killOne(): Promise<void> {
      const all = [...alive]
      const one = all[Math.floor(Math.random() * all.length)]
      killed++
      if (one !== undefined) await end(one)
      if (!closing) await start()
    },
  }
}
