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

  it('refuses a second queue on the same store', async () => {
    const store = fileStore()
    const queue = new InProcessRunQueue({ store })
    await queue.list()
    await expect(new InProcessRunQueue({ store }).list()).rejects.toBeInstanceOf(SessionLockedError)
    await queue.close()
  })
})
