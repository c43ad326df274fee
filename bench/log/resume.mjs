// Reading a session of 10,000 messages back, against a plain parse of the same lines.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { FileSessionStore, foldSession, SqliteSessionStore } from 'capstan/store'
import { compare, comparisonArea } from '../loop/compare.mjs'
import { keep } from '../measure.mjs'
import { checkpointRecord, roundRecords, sessionRow } from './rounds.mjs'

const messages = 10_000

/** @param {string} base @param {number} rounds */
export async function measureResume(base, rounds) {
  const directory = join(base, 'resume')
  const work = join(base, 'work')
  mkdirSync(work)
  const file = new FileSessionStore(directory)
  const sqlite = new SqliteSessionStore(join(base, 'resume.db'))
  for (const store of [file, sqlite]) await fill(store)
  const path = join(directory, 's', 'log.jsonl')
  const agent = await Agent.create({}, { userDir: join(base, 'user') })
  const fold = (/** @type {import('capstan/store').SessionStore} */ store) => {
    const records = store.readSync?.('s')?.records ?? []
    if (foldSession(records).messages.length !== messages) throw new Error('messages are missing')
  }
  const resume = async (/** @type {import('capstan/store').SessionStore} */ store) => {
    const session = agent.resumeSession('s', { workspace: work, sessionStore: store })
    if (session.messages().length !== messages) throw new Error('messages are missing')
    await session.close()
  }
  const rows = await compare(
    [
      {
        name: 'a plain parse',
        run: async () =>
          keep(
            readFileSync(path, 'utf8')
              .split('\n')
              .filter(Boolean)
              .map((line) => JSON.parse(line)),
          ),
      },
      { name: 'files: read and folded', run: async () => fold(file) },
      { name: 'SQLite: read and folded', run: async () => fold(sqlite) },
      { name: 'files: resumeSession', run: () => resume(file) },
      { name: 'SQLite: resumeSession', run: () => resume(sqlite) },
    ],
    { rounds },
  )
  await agent.close()
  await sqlite.close()
  const ratio = (/** @type {number} */ at) => rows[at]?.ratio.median ?? Number.NaN
  return {
    area: comparisonArea(
      'Reading back',
      `A session of ${messages.toLocaleString('en-US')} messages, 500 characters every second one.`,
      rows,
    ),
    file: ratio(1),
    sqlite: ratio(2),
  }
}

/** @param {import('capstan/store').SessionStore} store */
async function fill(store) {
  const log = await store.open('s', { holder: 'the benchmark', durability: 'exit', now: () => 1 })
  await log.append([sessionRow])
  for (let n = 0; 2 * n < messages; n++) await log.append([...roundRecords(n), checkpointRecord(n)])
  await log.close()
}
