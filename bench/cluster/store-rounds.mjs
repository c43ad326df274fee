// The rounds of sessions on a database and in SQLite: three appends a round, with the events that a run has.
import { join } from 'node:path'
import { PostgresSessionStore } from 'capstan/postgres'
import { SqliteSessionStore } from 'capstan/store'
import { checkpointRecord, roundRecords, sessionRow } from '../log/rounds.mjs'
import { compare, comparisonArea } from '../loop/compare.mjs'

const pieces = 200

/** @param {string} url @param {string} base @param {boolean} quick */
export async function measureRounds(url, base, quick) {
  const results = []
  for (const sessions of [1, 20]) {
    const stores = [new SqliteSessionStore(join(base, `${sessions}.db`)), new PostgresSessionStore({ url })]
    const contenders = []
    for (const store of stores) contenders.push(await contender(store, sessions))
    // Many, so that V8 has optimised both.
    const rows = await compare(contenders, { rounds: quick ? 5 : 15, warmUps: quick ? 5 : 10, pieces })
    results.push({
      sessions,
      area: comparisonArea(
        `A round, ${sessions === 1 ? 'one session' : `${sessions} sessions at once`}`,
        'Three appends with 12 records that wait for the disk; CPU time of this process, without the database.',
        rows,
      ),
      ratio: rows[1]?.ratio.median ?? Number.NaN,
    })
    for (const store of stores) await store.close()
  }
  return results
}

/** @param {import('capstan/store').SessionStore} store @param {number} sessions */
async function contender(store, sessions) {
  /** @type {import('capstan/store').SessionLog[]} */
  const logs = []
  for (let at = 0; at < sessions; at++) {
    const log = await store.open(`rounds-${sessions}-${at}`, {
      holder: 'the benchmark',
      durability: 'sync',
      now: () => 1,
    })
    await log.append([sessionRow])
    logs.push(log)
  }
  let n = 0
  return {
    name: store.backend,
    run: async () => {
      const from = n
      n += pieces / sessions
      await Promise.all(logs.map((log) => rounds(log, from, n)))
    },
  }
}

/** @param {import('capstan/store').SessionLog} log @param {number} from @param {number} to */
async function rounds(log, from, to) {
  for (let n = from; n < to; n++) {
    const records = roundRecords(n)
    await log.append([eventRecord(n, 1), eventRecord(n, 2), ...records.slice(0, 3)])
    await log.append([eventRecord(n, 3), eventRecord(n, 4)])
    await log.append([eventRecord(n, 5), eventRecord(n, 6), ...records.slice(3), checkpointRecord(n)])
  }
}

/** @param {number} n @param {number} at @returns {import('capstan/store').SessionRecord} */
function eventRecord(n, at) {
  const event = { type: 'tool_start', id: `call_${n}`, name: 'read', args: { file_path: `src/file${n}.ts` } }
  return { type: 'run_event', data: { runId: 'run-1', sequence: n * 10 + at, timestampMs: 1, event } }
}
