import { expect, it } from 'vitest'
import { MemorySessionStore } from '../../store/memory-store.js'
import type { SessionRecord } from '../../store/records.js'
import { Journal } from './journal.js'

const row: SessionRecord = { type: 'session', data: { id: 's', schemaVersion: 1, updatedAtMs: 0 } }

function journalIn(store: MemorySessionStore): Journal {
  return new Journal({
    store,
    sessionId: 's',
    holder: 'this test',
    known: { records: 0, whole: true },
    first: () => [],
    now: () => 0,
  })
}

it('writes what was handed over before it was closed, and takes the session no more afterwards', async () => {
  const store = new MemorySessionStore()
  const journal = journalIn(store)
  void journal.append([row])
  await journal.close()
  expect((await store.read('s'))?.records).toEqual([row])
  const other = journalIn(store)
  await other.close()
  await expect(other.writeBlob(new Uint8Array(1))).rejects.toMatchObject({ code: 'session_closed' })
  await expect(other.open()).rejects.toMatchObject({ code: 'session_closed' })
  // Nobody holds it.
  await (await store.open('s', { holder: 'the next', now: () => 0 })).close()
})

it('what comes too late fails nobody, also when it cannot be made', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  for (const end of ['seal', 'close'] as const) {
    const journal = journalIn(new MemorySessionStore())
    await journal[end]()
    await journal.append(Promise.reject(new Error('no room beside the log')))
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})
