/** Workers as processes. Most commands run in this one: `commands.test.ts` and `guide.test.ts` start them too. */
import { describe, expect, it } from 'vitest'
import { endLease, hasPostgres } from '../support/postgres.js'
import { place } from './place.js'
import { cluster, minutes, output } from './support.js'

describe.skipIf(!hasPostgres())('workers as processes', () => {
  it(
    'ask for an approval on one node, accept the answer on another, and finish on a third; a drained node ends with 0',
    async () => {
      const { client, worker, lines, queue, command, run, submit } = await place()
      const first = await worker('--suspend-after', '1h', '--ask', 'bash')
      const { runId } = await submit('sea x1')
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
      expect(followed).toMatchObject({ code: 0, text: expect.stringContaining('sea is done after 1 calls.') })
      expect(lines()).toEqual(['sea-1'])
      expect((await client.get(runId))?.state).toBe('completed')
      const status = await run(['cluster', 'status', '--json'])
      expect(JSON.parse(status.stdout).nodes).toMatchObject([{ id: third.nodeId }])
      expect((await output(command(['cluster', 'drain', third.nodeId]))).code).toBe(0)
      expect(await third.ended).toBe(0)
      expect((await queue.status()).nodes).toEqual([])
    },
    20 * minutes,
  )

  it(
    'ask a question on one node that is killed, accept the answer on another, and finish on a third',
    async () => {
      const { client, worker, run } = await place()
      const first = await worker('--suspend-after', '1h')
      const { runId } = await client.submit({ prompt: 'sea asks' })
      await expect.poll(async () => (await client.questions(runId)).length, { timeout: 5 * minutes }).toBe(1)
      first.child.kill('SIGKILL')
      await first.ended
      const shown = await run(['runs', 'show', runId])
      expect(shown.stdout).toContain('Which sea? (North, Baltic)')
      const answered = await run(['runs', 'answer', runId, '--answer', 'Baltic', '--json'])
      expect(JSON.parse(answered.stdout)).toEqual({ runId, questionId: 'call-ask', answers: ['Baltic'] })
      const again = await run(['runs', 'answer', runId, '--answer', 'North'])
      expect(again).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Another answer is on its way'),
      })
      await worker('--suspend-after', '1h')
      const followed = await run(['runs', 'follow', runId])
      expect(followed).toMatchObject({ code: 0, stdout: expect.stringMatching(/The answer is .*Baltic/) })
      expect(await client.get(runId)).toMatchObject({ state: 'completed' })
    },
    20 * minutes,
  )

  it(
    'continue after a pause longer than their lease, without any effect on runs that another worker has taken',
    async () => {
      const { client, worker, lines, queue, url, schema } = await cluster({ thinkMs: 50 })
      const paused = await worker('--mode', 'full', '--slots', '4')
      const names = ['a', 'b', 'c', 'd']
      const runs = await Promise.all(names.map((name) => client.submit({ prompt: `${name} x6` })))
      await expect.poll(() => lines().length, { timeout: 5 * minutes }).toBeGreaterThan(4)
      paused.child.kill('SIGSTOP')
      await endLease(url, schema, paused.nodeId)
      const other = await worker('--mode', 'full', '--slots', '4')
      const isCompleted = async (runId: string) => (await client.get(runId))?.state === 'completed'
      for (const { runId } of runs)
        await expect.poll(() => isCompleted(runId), { timeout: 5 * minutes }).toBe(true)
      expect((await queue.status()).takeovers).toBeGreaterThan(0)
      other.child.kill('SIGTERM')
      expect(await other.ended).toBe(0)
      paused.child.kill('SIGCONT')
      const later = await client.submit({ prompt: 'later x2' })
      await expect.poll(() => isCompleted(later.runId), { timeout: 5 * minutes }).toBe(true)
      const all = lines()
      expect(new Set(all).size, 'a call was made twice').toBe(all.length)
      expect(all).toEqual(expect.arrayContaining(['later-1', 'later-2']))
    },
    20 * minutes,
  )
})
