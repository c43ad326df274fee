import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { SessionLockedError } from '../store/errors.js'
import { FileSessionStore } from '../store/file/file-session-store.js'
import { MemorySessionStore } from '../store/memory-store.js'
import type { SessionStore } from '../store/session-store.js'
import { checkRunQueue } from '../testing/run-queue-kit.js'
import { InProcessRunQueue } from './in-process-queue.js'

describe('a queue of one process', () => {
  const directories: string[] = []
  afterEach(() => {
    for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
  })
  const fileStore = (): FileSessionStore => {
    const directory = mkdtempSync(join(tmpdir(), 'run-queue-'))
    directories.push(directory)
    return new FileSessionStore(directory)
  }

  it.each([
    ['the memory', () => new MemorySessionStore()],
    ['files', fileStore],
  ])('satisfies the interface with a store in %s', async (_, makeStore) => {
    const stores = new Map<unknown, SessionStore>()
    const queueOn = (store: SessionStore): InProcessRunQueue => {
      const queue = new InProcessRunQueue({ store })
      stores.set(queue, store)
      return queue
    }
    const problems = await checkRunQueue(() => queueOn(makeStore()), {
      again: async (queue) => {
        await queue.close()
        return queueOn(stores.get(queue) ?? makeStore())
      },
    })
    expect(problems).toEqual([])
  })

  it('removes runs that have ended by age and number, also for the next process', async () => {
    const store = fileStore()
    const hourMs = 3_600_000
    let now = 0
    const queue = new InProcessRunQueue({ store, now: () => now })
    const member = await queue.join({
      name: 'n',
      host: 'h',
      pid: 1,
      version: '0',
      slots: 1,
      lanes: ['default'],
    })
    const end = async (runId: string, state: 'completed' | 'dead') => {
      now += hourMs
      const common = { sessionId: runId, prompt: 'x', lane: 'default', priority: 0, request: {}, digest: 'd' }
      await queue.submit({ runId, ...common })
      const [claim] = await member.claim({ lanes: ['default'], max: 1 })
      if (claim !== undefined) await member.settle(claim, { state })
    }
    await end('dead', 'dead')
    for (const runId of ['one', 'two', 'three', 'four']) await end(runId, 'completed')
    await queue.count('tenant/a/1969-10-01', { id: 'x', tokens: 1, costUsd: 0 })
    now += hourMs
    const ids = async (of: InProcessRunQueue) => (await of.list()).runs.map(({ runId }) => runId)
    expect(await queue.removeEnded({ maxAgeMs: 100 * hourMs, maxRuns: 3 })).toBe(1)
    expect(await ids(queue)).toEqual(['four', 'three', 'two', 'dead'])
    expect(await queue.removeEnded({ maxAgeMs: 2.5 * hourMs, maxRuns: 3 })).toBe(2)
    expect(await ids(queue)).toEqual(['four', 'three'])
    expect(await queue.count('tenant/a/1969-10-01')).toEqual({ tokens: 0, costUsd: 0 })
    await queue.close()
    const later = new InProcessRunQueue({ store, now: () => now })
    expect(await ids(later)).toEqual(['four', 'three'])
    await later.close()
  })

  it('refuses a second queue on the same store', async () => {
    const store = fileStore()
    const queue = new InProcessRunQueue({ store })
    await queue.list()
    await expect(new InProcessRunQueue({ store }).list()).rejects.toBeInstanceOf(SessionLockedError)
    await queue.close()
  })
})
