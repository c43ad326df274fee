import { describe, expect, it, onTestFinished } from 'vitest'
import { PostgresSessionStore } from '../../src/postgres/index.js'
import { Node } from '../agent-dir/node.js'
import { directoryWith } from '../agent-dir/support.js'
import { expectWhole, stateOf } from '../persistence/kept.js'
import { hasPostgres, postgresSchema } from '../support/postgres.js'

const minutes = 60_000

describe.skipIf(!hasPostgres())('three nodes that serve one agent directory with a database', () => {
  it(
    'make each fire once at the time of the database, although their clocks differ and two of them are killed',
    async () => {
      const place = await postgresSchema()
      const dir = await directoryWith({
        'instructions.md': 'You tick.',
        'schedules/tick.md': '---\ncron: "* * * * * *"\n---\nTick.\n',
      })
      const [workspace, userDir] = [await directoryWith({}), await directoryWith({})]
      const order = { backend: 'postgres', place: JSON.stringify(place), dir, workspace, userDir }
      /** How far fires were in the future of the database, which has the clock of this machine. */
      const early: number[] = []
      const nodes = [30_000, 0, -30_000].map((skewMs) => new Node({ ...order, skewMs }))
      for (const node of nodes) {
        onTestFinished(async () => {
          node.host.child.kill('SIGKILL')
          await node.ended
        })
        node.onLine = () => early.push(...node.begun.slice(-1).map((time) => time - Date.now()))
      }
      const all = (): number[] => nodes.flatMap(({ made }) => made)
      const left = new Set(nodes)
      const gaps: number[] = []
      while (left.size > 1) {
        const before = all().length
        const leader = await Promise.race(
          [...left].map(async (node) => {
            const own = node.made.length
            await node.until(() => node.made.length >= own + 2)
            return node
          }),
        )
        expect(all().length).toBeGreaterThan(before)
        leader.host.child.kill('SIGKILL')
        const killedAtMs = Date.now()
        await leader.ended
        left.delete(leader)
        await Promise.race(
          [...left].map((node) => {
            const own = node.begun.length
            return node.until(() => node.begun.length > own)
          }),
        )
        gaps.push(Date.now() - killedAtMs)
      }
      if (process.env['CLUSTER_FIGURES'] !== undefined)
        console.log(`from a kill to the next fire: ${gaps.join(', ')} ms`)
      expect(nodes.flatMap(({ failed }) => failed)).toEqual([])
      expect(new Set(all()).size).toBe(all().length)
      // A node whose clock is 30 s fast would fire that early.
      expect(early.filter((ms) => ms > 5_000)).toEqual([])
      const store = new PostgresSessionStore(place)
      onTestFinished(() => store.close())
      const { runs, messages } = await stateOf(store, 'schedule:tick')
      const fired = [...runs.values()].map(({ trigger }) => trigger?.fired_at ?? 0)
      expect(new Set(fired).size).toBe(fired.length)
      expect(fired).toEqual(fired.toSorted((a, b) => a - b))
      for (const time of all()) expect(fired).toContain(time)
      expectWhole(messages.map(({ message }) => message))
    },
    10 * minutes,
  )
})
