// A session stored as lines of JSON by hand-written code, and by Capstan's stores.
import {
  appendFileSync,
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'capstan'
import { FileSessionStore, SqliteSessionStore } from 'capstan/store'
import { checkpointRecord, roundRecords, sessionRow } from '../log/rounds.mjs'
import { keptSide, output } from './kept.mjs'

/** @type {Record<string, import('../peers/sides.mjs').Side>} */
export const sides = {
  fetch: { title: 'lines of JSON by hand', open: async ({ place }) => byHand(place, false) },
  'fetch-sync': {
    title: 'the same, on disk before it continues',
    open: async ({ place }) => byHand(place, true),
  },
  capstan: {
    title: 'capstan: files, on disk before it continues',
    open: ({ place }) => byStore(place, 'sync', files(place)),
  },
  'capstan-exit': {
    title: 'capstan: files, on disk when it closes',
    open: ({ place }) => byStore(place, 'exit', files(place)),
  },
  'capstan-sqlite': {
    title: 'capstan: SQLite, on disk when it closes',
    open: ({ place }) =>
      byStore(place, 'exit', { store: new SqliteSessionStore(join(place, 'sessions.db')) }),
  },
}

/** @param {string} place @param {boolean} synced */
function byHand(place, synced) {
  const path = (/** @type {string} */ id) => join(place, `${id}.jsonl`)
  const lines = (/** @type {number} */ n) =>
    `${JSON.stringify({ role: 'assistant', content: `I will look at file ${n}`, calls: [{ id: `call_${n}`, name: 'read', args: { file_path: `src/file${n}.ts` } }] })}\n${JSON.stringify({ role: 'tool', id: `call_${n}`, content: output })}\n`
  return keptSide({
    make(id) {
      const file = openSync(path(id), 'a')
      return {
        append(n) {
          writeSync(file, lines(n))
          if (synced) fdatasyncSync(file)
        },
        appendMany: (from, count) =>
          appendFileSync(file, Array.from({ length: count }, (_, at) => lines(from + at)).join('')),
        bytes: () => statSync(path(id)).size,
        close: () => (id.startsWith('r') ? undefined : closeSync(file)),
      }
    },
    reopen: (id) =>
      readFileSync(path(id), 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)).length,
  })
}

/** @param {string} place */
function files(place) {
  const directory = join(place, 'sessions')
  return {
    store: new FileSessionStore(directory),
    bytes: (/** @type {string} */ id) => statSync(join(directory, id, 'log.jsonl')).size,
  }
}

/**
 * @param {string} place
 * @param {import('capstan/store').Durability} durability
 * @param {{ store: import('capstan/store').SessionStore, bytes?: (id: string) => number }} kept
 */
async function byStore(place, durability, { store, bytes }) {
  const work = join(place, 'work')
  mkdirSync(work, { recursive: true })
  const agent = await Agent.create({}, { userDir: join(place, 'user'), env: {} })
  const round = (/** @type {number} */ n) => [...roundRecords(n), checkpointRecord(n)]
  return keptSide({
    async make(id) {
      const log = await store.open(id, { holder: 'the benchmark', durability, now: () => 1 })
      await log.append([{ ...sessionRow, data: { ...sessionRow.data, id } }].map(asRecord))
      let open = true
      return {
        append: (n) => log.append(round(n)),
        ...(bytes && { bytes: () => bytes(id) }),
        async close() {
          if (open) await log.close()
          open = false
        },
      }
    },
    async reopen(id) {
      const session = agent.resumeSession(id, { workspace: work, sessionStore: store })
      const { length } = session.messages()
      await session.close()
      return length
    },
    async close() {
      await agent.close()
      await store.close?.()
    },
  })
}

/** @param {any} record @returns {import('capstan/store').SessionRecord} */
function asRecord(record) {
  return record
}
