// Sessions with many messages: opening one again, and one question on top of it.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { FileSessionStore } from 'capstan/store'
import { checkpointRecord, roundRecords, sessionRow } from '../log/rounds.mjs'
import { measureCurve } from './curve.mjs'

/** @param {import('./curve.mjs').ScalePlace} where */
export async function measureMessages({ url, root, place, quick }) {
  const agent = await Agent.create(
    {
      defaultModel: 'bench/m',
      providers: { bench: { baseUrl: `${url}/answer/v1`, models: { m: { contextTokens: 1_000_000_000 } } } },
    },
    { userDir: join(place, 'user') },
  )
  const sizes = quick ? [100, 1_000, 10_000] : [100, 1_000, 10_000, 100_000]
  const fill = async (/** @type {number} */ size) => {
    const store = new FileSessionStore(join(place, `messages-${size}`))
    const log = await store.open('s', { holder: 'the benchmark', durability: 'exit', now: () => 1 })
    await log.append([sessionRow])
    for (let n = 0; 2 * n < size; n++) await log.append([...roundRecords(n), checkpointRecord(n)])
    await log.close()
    return store
  }
  const open = (/** @type {FileSessionStore} */ sessionStore) =>
    agent.openSession('s', { workspace: root, sessionStore })
  const curves = [
    await measureCurve({
      title: 'Opening a session of many messages',
      explanation: 'Messages of a log in files; 500 characters every second one.',
      sizes,
      most: 1.1,
      times: 3,
      prepare: fill,
      run: async (store, size) => {
        const session = await open(store)
        if (session.messages().length !== size) throw new Error('messages are missing')
        await session.close()
      },
    }),
    await measureCurve({
      title: 'One question on top of many messages',
      explanation: 'Messages of the session, recorded in files. All of them are sent.',
      sizes,
      most: 1.1,
      times: 3,
      prepare: async (size) => open(await fill(size)),
      run: (session) => session.send('And now?'),
      end: (session) => session.close(),
    }),
  ]
  await agent.close()
  return curves
}
