/**
 * FT-40: workers under load are killed with SIGKILL, one after the other. Short form: 4 kills; `FAULT_FACTOR=50` makes
 * it 500. Prints the times of the takeovers: from the kill to the next request of a run to the model on another node.
 */
import { describe, expect, it } from 'vitest'
import { chainEvents } from '../../src/cluster/chain-events.js'
import type { QueuedRun } from '../../src/run-queue/run-queue.js'
import { load } from '../../src/session/journal/restore.js'
import type { RunEvent } from '../../src/session/run-events.js'
import { percentile } from '../faults/support.js'
import { factor, reportFaults } from '../support/fault-factor.js'
import { hasPostgres } from '../support/postgres.js'
import { cluster, collect, minutes } from './support.js'

const kills = factor === 1 ? 4 : 10 * factor
/** Runs that are open at a time: each worker has a slot for every one of them. */
const open = factor === 1 ? 5 : 8
/** How long the model takes: the runs that are not killed take processor time as well. */
const thinkMs = factor > 1 ? 100 : 300

type Followed = {
  readonly name: string
  readonly runId: string
  readonly sessionId: string
  readonly events: Promise<RunEvent[]>
}

describe.skipIf(!hasPostgres())('FT-40: workers that are killed', () => {
  it(
    'finish every run, make no call twice, and give readers every event once',
    async () => {
      const { client, worker, asked, lines, store, queue } = await cluster({ thinkMs })
      const start = () => worker('--mode', 'full', '--slots', String(open))
      const workers = [start(), start(), start()]
      await Promise.all(workers)
      const runs: Followed[] = []
      let isOver = false
      const submit = async (): Promise<void> => {
        while (!isOver) {
          const name = `run-${runs.length}`
          const submitted = client.submit({ prompt: `${name} x8` })
          const at = runs.length
          runs[at] = { name, runId: '', sessionId: '', events: Promise.resolve([]) }
          const { runId, sessionId } = await submitted
          const events = collect(client.events(runId))
          runs[at] = { name, runId, sessionId, events }
          await events
        }
      }
      const submitting = Promise.all(Array.from({ length: open }, submit))
      const openRuns = async () => (await queue.list({ states: ['queued', 'active'], limit: 100 })).runs
      const takeovers: number[] = []
      for (let at = 0; at < kills; at++) {
        const running = await Promise.all(workers)
        const before = lines().length
        let lost: readonly QueuedRun[] = []
        let place = 0
        // Killed while it works: it has runs, and calls were made since the last kill.
        await expect
          .poll(
            async () => {
              const runs = await openRuns()
              const shares = running.map(({ nodeId }) => runs.filter((one) => one.nodeId === nodeId))
              place = shares.findIndex(
                ({ length }) => length === Math.max(...shares.map((one) => one.length)),
              )
              lost = shares[place] ?? []
              return lost.length > 0 && lines().length > before
            },
            { timeout: 5 * minutes },
          )
          .toBe(true)
        const victim = running[place]
        if (victim === undefined) throw new Error('there is no worker')
        victim.child.kill('SIGKILL')
        const killedAtMs = Date.now()
        await victim.ended
        const known = asked.length
        const names = new Map(lost.map(({ runId, prompt }) => [runId, prompt.split(' ')[0]]))
        // Each is asked about again, or was at its end.
        await expect
          .poll(
            async () => {
              for (const runId of [...names.keys()]) {
                const next = asked.slice(known).find(({ name }) => name === names.get(runId))
                if (next !== undefined) takeovers.push(next.atMs - killedAtMs)
                const isDone = next !== undefined || (await client.get(runId))?.state === 'completed'
                if (isDone) names.delete(runId)
              }
              return names.size
            },
            { timeout: 5 * minutes },
          )
          .toBe(0)
        // The others work while it starts.
        workers[place] = start()
        reportFaults('FT-40', at + 1, kills)
      }
      isOver = true
      await Promise.all([submitting, ...workers])
      const all = lines()
      expect(new Set(all).size, 'a call was made twice').toBe(all.length)
      for (const { name, runId, sessionId, events } of runs) {
        const own = await events
        expect(own.at(-1)?.event).toMatchObject({
          type: 'agent_end',
          result: { text: expect.stringContaining(`${name} is done`) },
        })
        const numbers = own.map(({ sequence }) => sequence)
        expect(numbers.toSorted((a, b) => a - b)).toEqual(numbers)
        const read = new Set(numbers)
        expect(read.size).toBe(numbers.length)
        const state = await load(store, sessionId)
        const stored = state === undefined ? [] : chainEvents(state, runId).map(({ sequence }) => sequence)
        expect(stored.filter((sequence) => !read.has(sequence))).toEqual([])
        expect(await client.get(runId)).toMatchObject({ state: 'completed' })
      }
      expect(takeovers.length).toBeGreaterThan(0)
      console.info(
        `FT-40: ${kills} kills, ${runs.length} runs, ${all.length} calls, ${takeovers.length} runs taken over: p50 ${percentile(takeovers, 0.5)} ms, p99 ${percentile(takeovers, 0.99)} ms, most ${Math.max(...takeovers)} ms`,
      )
    },
    10 * minutes * factor,
  )
})
