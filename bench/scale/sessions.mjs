// Stores with many sessions: listing them, and opening one.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { FileSessionStore } from 'capstan/store'
import { checkpointRecord, roundRecords } from '../log/rounds.mjs'
import { measureCurve } from './curve.mjs'

/** @param {import('./curve.mjs').ScalePlace} where */
export async function measureSessionCounts({ root, place, quick }) {
  const agent = await Agent.create({}, { userDir: join(place, 'user') })
  const sizes = quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]
  /** @type {Map<number, Promise<FileSessionStore>>} */
  const filled = new Map()
  const fill = (/** @type {number} */ size) => {
    const known = filled.get(size) ?? storeOf(join(place, `sessions-${size}`), size)
    filled.set(size, known)
    return known
  }
  const curves = [
    await measureCurve({
      title: 'Listing the sessions of a store for the first time',
      explanation:
        'Sessions in files, of one round each. No process has listed them before: every log is read.',
      sizes,
      most: 1.1,
      times: 2,
      prepare: fill,
      run: (store, size) => {
        rmSync(join(store.directory, '.list.json'), { force: true })
        return listed(new FileSessionStore(store.directory), size)
      },
    }),
    await measureCurve({
      title: 'Listing them in another process',
      explanation:
        'Sessions in the same store: the first list of a process, after another one has saved its own.',
      sizes,
      most: 1.1,
      times: 3,
      prepare: fill,
      run: (store, size) => listed(new FileSessionStore(store.directory), size),
    }),
    await measureCurve({
      title: 'Listing them again',
      explanation: 'Sessions in the same store, none of them changed.',
      sizes,
      most: 1.1,
      times: 3,
      prepare: fill,
      run: listed,
    }),
    await measureCurve({
      title: 'Opening one session of many',
      explanation: 'Sessions in the store.',
      sizes,
      most: 0.1,
      times: 15,
      prepare: fill,
      run: async (sessionStore, size) => {
        const session = await agent.openSession(`session-${size >> 1}`, { workspace: root, sessionStore })
        if (session.messages().length !== 2) throw new Error('messages are missing')
        await session.close()
      },
    }),
  ]
  await agent.close()
  return curves
}

/** @param {FileSessionStore} store @param {number} count */
async function listed(store, count) {
  if ((await store.list()).length !== count) throw new Error('sessions are missing')
}

/** @param {string} directory @param {number} count */
async function storeOf(directory, count) {
  const store = new FileSessionStore(directory)
  for (let n = 0; n < count; n++) {
    const id = `session-${n}`
    const row = { id, schemaVersion: 1, createdAtMs: n, updatedAtMs: n }
    const records = [...roundRecords(n), checkpointRecord(n)]
    await store.create(id, [{ type: 'session', data: row }, ...records])
  }
  return store
}
