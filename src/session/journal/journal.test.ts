import { expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { FileSessionStore } from '../../store/file/file-session-store.js'
import { MemorySessionStore } from '../../store/memory-store.js'
import type { SessionRecord } from '../../store/records.js'
import type { AppendOptions, SessionLog, SessionStore } from '../../store/session-store.js'
import { Journal } from './journal.js'

const row: SessionRecord = { type: 'session', data: { id: 's', schemaVersion: 1, updatedAtMs: 0 } }

function journalIn(
  store: MemorySessionStore,
  onWrite?: (records: number, options?: AppendOptions) => void,
): Journal {
  return new Journal({
    store: onWrite === undefined ? store : watching(store, onWrite),
    sessionId: 's',
    holder: 'this test',
    known: { records: 0, whole: true },
    first: () => [],
    now: () => 0,
  })
}

function watching(
  store: MemorySessionStore,
  onWrite: (records: number, options?: AppendOptions) => void,
): SessionStore {
  return new Proxy(store, {
    get: (target, name) =>
      name !== 'open'
        ? Reflect.get(target, name).bind(target)
        : async (...given: Parameters<SessionStore['open']>): Promise<SessionLog> => {
            const log = await target.open(...given)
            return {
              lease: log.lease,
              append(records, options) {
                onWrite(records.length, options)
                return log.append(records)
              },
              writeBlob: (bytes) => log.writeBlob(bytes),
              flush: () => log.flush(),
              close: () => log.close(),
            }
          },
  })
}

it('writes records that were added before it was closed, and rejects later ones', async () => {
  const store = new MemorySessionStore()
  const journal = journalIn(store)
  void journal.append([row])
  await journal.close()
  expect((await store.read('s'))?.records).toEqual([row])
  const other = journalIn(store)
  await other.close()
  await expect(other.writeBlob(new Uint8Array(1))).rejects.toMatchObject({ code: 'session_closed' })
  await expect(other.open()).rejects.toMatchObject({ code: 'session_closed' })
  // Its lease is free.
  await (await store.open('s', { holder: 'the next', now: () => 0 })).close()
})

it('records without a waiting caller are written with the next one that has one, in order, or alone when none comes', async () => {
  const store = new MemorySessionStore()
  const writes: number[] = []
  const watched = journalIn(store, (records) => writes.push(records))
  await watched.open()
  writes.length = 0
  const at = (updatedAtMs: number): SessionRecord => ({ ...row, data: { ...row.data, updatedAtMs } })
  watched.note([at(1)])
  await new Promise((resolve) => setImmediate(resolve))
  expect(writes).toEqual([])
  watched.note([at(2)])
  await watched.append([at(3)])
  expect(writes).toEqual([3])
  watched.note([at(4)])
  await watched.flush()
  watched.note([at(5)])
  watched.seal()
  watched.note([at(6)])
  await watched.close()
  expect(writes).toEqual([3, 1, 1])
  const times = (await store.read('s'))?.records.map(({ data }) => 'updatedAtMs' in data && data.updatedAtMs)
  expect(times).toEqual([1, 2, 3, 4, 5])

  const other = new MemorySessionStore()
  const alone = await new Promise((resolve) =>
    journalIn(other, (records) => records > 0 && resolve(records)).note([row]),
  )
  expect(alone).toBe(1)
})

it('records are written immediately, and only a waiting caller waits for the disk', async () => {
  const writes: [records: number, soon: boolean | undefined][] = []
  const journal = journalIn(new MemorySessionStore(), (records, options) =>
    writes.push([records, options?.soon]),
  )
  await journal.open()
  writes.length = 0
  await journal.put([row])
  journal.note([row])
  await journal.put([row])
  void journal.put([row])
  await journal.append([row])
  await journal.put([row])
  await journal.close()
  expect(writes).toEqual([
    [1, true],
    [2, true],
    [2, false],
    [1, true],
  ])
})

it('records that come too late fail no caller, also when they cannot be created', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  for (const end of ['seal', 'close'] as const) {
    const journal = journalIn(new MemorySessionStore())
    await journal[end]()
    await journal.append(Promise.reject(new Error('no room next to the log')))
  }
  await new Promise((resolve) => setImmediate(resolve))
  process.off('unhandledRejection', note)
  expect(unhandled).toEqual([])
})

it.each([
  ['rejects when it is closed', false],
  ['does not report an error again that a caller got', true],
])('with records that could not be written %s', async (_, isAwaited) => {
  const store = new MemorySessionStore()
  const journal = journalIn(store, (records) => {
    if (records > 1) throw new Error('the disk is full')
  })
  await journal.append([row])
  if (isAwaited) await expect(journal.append([row, row])).rejects.toThrow('the disk is full')
  else journal.note([row, row])
  const closing = journal.close()
  if (isAwaited) await closing
  else await expect(closing).rejects.toThrow('the disk is full')
  await (await store.open('s', { holder: 'the next', now: () => 0 })).close()
})

it('stores the records that a log between it and the store passes on, and no texts of others', async () => {
  const store = new FileSessionStore(temporaryDirectory())
  const message: SessionRecord = {
    type: 'message',
    data: { id: 'm', sessionId: 's', role: 'user', createdAtMs: 0 },
  }
  const passingOn: SessionStore = new Proxy<SessionStore>(store, {
    get: (target, name) =>
      name !== 'open'
        ? Reflect.get(target, name).bind(target)
        : async (...given: Parameters<SessionStore['open']>): Promise<SessionLog> => {
            const log = await target.open(...given)
            return {
              lease: log.lease,
              append: (records, options) =>
                log.append(
                  records.filter(({ type }) => type !== 'session'),
                  options,
                ),
              writeBlob: (bytes) => log.writeBlob(bytes),
              flush: () => log.flush(),
              close: () => log.close(),
            }
          },
  })
  const journal = new Journal({
    store: passingOn,
    sessionId: 's',
    holder: 'this test',
    known: { records: 0, whole: true },
    redact: (text) => text,
    isClean: () => true,
    first: () => [],
    now: () => 0,
  })
  await journal.append([row, message])
  await journal.close()
  expect((await store.read('s'))?.records).toEqual([message])
})
