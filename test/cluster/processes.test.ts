import { describe, expect, it } from 'vitest'
import { hasPostgres } from '../support/postgres.js'
import { cluster, minutes, output } from './support.js'

describe.skipIf(!hasPostgres())('workers as processes', () => {
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
