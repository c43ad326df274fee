// The same work twice, in turn: by hand and by Capstan. CPU time of this process is what counts; it is steadier than
// the clock on a machine that others use too.
import { performance } from 'node:perf_hooks'
import { spread } from '../measure.mjs'
import { figure, printTable, range } from '../report.mjs'

/** @typedef {import('../measure.mjs').Spread} Spread */
/** @typedef {{ name: string, run: () => Promise<unknown> }} Contender */

/**
 * Milliseconds of CPU and of the clock for one piece of work, and the ratio to the first contender's.
 * @typedef {{ name: string, ratio: Spread, cpu: Spread, wall: Spread, wallRatio: Spread, rounds: number }} Comparison
 */

/**
 * @param {readonly Contender[]} contenders the first is the baseline
 * @param {{ rounds: number, warmUps?: number, pieces?: number }} options `pieces`: how many pieces of work one run is
 * @returns {Promise<Comparison[]>}
 */
export async function compare(contenders, { rounds, warmUps = 2, pieces = 1 }) {
  // Once and not before each run: a forced collection takes compiled code away, and a running program pays for no such
  // thing.
  globalThis.gc?.()
  /** @type {{ cpu: number, wall: number }[][]} */
  const samples = contenders.map(() => [])
  for (let round = -warmUps; round < rounds; round++) {
    for (let turn = 0; turn < contenders.length; turn++) {
      // The order changes, so that no contender is first in every round.
      const at = (turn + Math.abs(round)) % contenders.length
      const contender = contenders[at]
      if (contender === undefined) continue
      const took = await cost(contender)
      if (round >= 0) samples[at]?.push(took)
    }
  }
  const base = samples[0] ?? []
  return contenders.map(({ name }, at) => {
    const own = samples[at] ?? []
    const ratios = (/** @type {'cpu' | 'wall'} */ what) =>
      spread(own.map((one, round) => one[what] / (base[round]?.[what] ?? Number.NaN)))
    return {
      name,
      ratio: ratios('cpu'),
      cpu: spread(own.map(({ cpu }) => cpu / pieces)),
      wall: spread(own.map(({ wall }) => wall / pieces)),
      wallRatio: ratios('wall'),
      rounds,
    }
  })
}

/**
 * @param {string} title
 * @param {string} explanation
 * @param {readonly Comparison[]} rows
 * @returns {import('../report.mjs').Area}
 */
export function comparisonArea(title, explanation, rows) {
  printTable(
    title,
    explanation,
    ['', 'CPU ratio', 'p10–p90', 'ms CPU', 'p10–p90', 'wall ratio', 'ms wall', 'rounds'],
    rows.map(({ name, ratio, cpu, wall, wallRatio, rounds }) => [
      name,
      figure(ratio.median),
      range(ratio),
      figure(cpu.median),
      range(cpu),
      figure(wallRatio.median),
      figure(wall.median),
      String(rounds),
    ]),
  )
  return { title, explanation, rows }
}

/** @param {Contender} contender */
async function cost({ run }) {
  const before = process.cpuUsage()
  const start = performance.now()
  await run()
  const wall = performance.now() - start
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / 1000, wall }
}
