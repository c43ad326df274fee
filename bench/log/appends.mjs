// One round and one checkpoint on top of a session that grows, for each store and each durability.
import { fdatasyncSync, openSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { FileSessionStore, SqliteSessionStore } from 'capstan/store'
import { growthExponent, spread } from '../measure.mjs'
import { figure, printTable, range } from '../report.mjs'
import { checkpointRecord, roundRecords, sessionRow } from './rounds.mjs'

const sizes = [10, 1_000, 10_000]

/**
 * @typedef {{ store: string, durability: string, size: number, round: import('../measure.mjs').Spread,
 *   checkpoint: import('../measure.mjs').Spread, ratio: number, bytes?: number }} Row
 */

/** @param {string} base @param {number} samples */
export async function measureAppends(base, samples) {
  /** @type {Row[]} */
  const rows = []
  for (const synced of [false, true]) rows.push(byHand(base, synced, samples))
  for (const durability of /** @type {const} */ (['exit', 'async', 'sync'])) {
    const hand = rows.find(({ durability: one }) => one === (durability === 'sync' ? 'sync' : 'exit'))
    const base1 = hand?.checkpoint.median ?? Number.NaN
    const directory = join(base, `files-${durability}`)
    const file = await measure(
      new FileSessionStore(directory),
      durability,
      samples,
      () => statSync(join(directory, 's', 'log.jsonl')).size,
    )
    const sqlite = await measure(
      new SqliteSessionStore(join(base, `${durability}.db`)),
      durability,
      samples,
      undefined,
    )
    for (const row of [...file, ...sqlite]) rows.push({ ...row, ratio: row.checkpoint.median / base1 })
  }
  const title = 'Appending'
  const explanation =
    'µs for the records of one round (two messages) and for a checkpoint, on top of so many messages; the ratio is of the checkpoint to JSON and a write by hand, with a sync of the disk where the durability is sync.'
  printTable(
    title,
    explanation,
    ['', 'durability', 'messages', 'round', 'checkpoint', 'p10–p90', 'ratio', 'bytes'],
    rows.map(({ store, durability, size, round, checkpoint, ratio, bytes }) => [
      store,
      durability,
      size === 0 ? '' : size.toLocaleString('en-US'),
      figure(round.median),
      figure(checkpoint.median),
      range(checkpoint),
      figure(ratio),
      bytes === undefined ? '' : String(bytes),
    ]),
  )
  const at = (/** @type {string} */ store, /** @type {number} */ size) =>
    rows.find((row) => row.store === store && row.durability === 'exit' && row.size === size)
  const growth = (/** @type {string} */ store) =>
    growthExponent(sizes.map((size) => ({ size, value: at(store, size)?.checkpoint.median ?? Number.NaN })))
  return {
    area: { title, explanation, rows },
    growth: { file: growth('file'), sqlite: growth('sqlite') },
    bytesRatio: (at('file', 10_000)?.bytes ?? Number.NaN) / (at('file', 10)?.bytes ?? Number.NaN),
    crashSafeMs: (at('file', 10_000)?.checkpoint.median ?? Number.NaN) / 1000,
  }
}

/**
 * @param {import('capstan/store').SessionStore} store
 * @param {import('capstan/store').Durability} durability
 * @param {number} samples
 * @param {(() => number) | undefined} size
 */
async function measure(store, durability, samples, size) {
  const log = await store.open('s', { holder: 'the benchmark', durability, now: () => 1 })
  await log.append([sessionRow])
  const rows = []
  let n = 0
  for (const messages of sizes) {
    while (2 * n < messages) {
      // Many at once, so that growing takes little time.
      const batch = []
      for (let at = 0; at < 100 && 2 * n < messages; at++, n++)
        batch.push(...roundRecords(n), checkpointRecord(n))
      await log.append(batch)
    }
    /** @type {{ round: number[], checkpoint: number[], bytes: number[] }} */
    const { round, checkpoint, bytes } = { round: [], checkpoint: [], bytes: [] }
    for (let sample = 0; sample < samples; sample++, n++) {
      round.push(await timed(() => log.append(roundRecords(n))))
      const before = size?.() ?? 0
      checkpoint.push(await timed(() => log.append([checkpointRecord(n)])))
      if (size !== undefined) bytes.push(size() - before)
    }
    rows.push({
      store: store.backend,
      durability,
      size: messages,
      round: spread(round),
      checkpoint: spread(checkpoint),
      ...(size !== undefined && { bytes: spread(bytes).median }),
    })
  }
  await log.close()
  await store.close?.()
  return rows
}

/** @param {string} base @param {boolean} synced @param {number} samples @returns {Row} */
function byHand(base, synced, samples) {
  const fd = openSync(join(base, `by-hand-${synced}`), 'w')
  const write = (/** @type {readonly unknown[]} */ records) => {
    const start = performance.now()
    writeSync(fd, `${records.map((record) => JSON.stringify(record)).join('\n')}\n`)
    if (synced) fdatasyncSync(fd)
    return (performance.now() - start) * 1000
  }
  /** @type {{ round: number[], checkpoint: number[] }} */
  const { round, checkpoint } = { round: [], checkpoint: [] }
  for (let n = 0; n < samples; n++) {
    round.push(write(roundRecords(n)))
    checkpoint.push(write([checkpointRecord(n)]))
  }
  return {
    store: 'by hand',
    durability: synced ? 'sync' : 'exit',
    size: 0,
    round: spread(round),
    checkpoint: spread(checkpoint),
    ratio: 1,
  }
}

/** @param {() => Promise<void>} work */
async function timed(work) {
  const start = performance.now()
  await work()
  return (performance.now() - start) * 1000
}
