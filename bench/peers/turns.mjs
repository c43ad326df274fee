// The same work for all contenders, one after the other, several times; what cannot do it or fails is reported and not
// counted.
import { performance } from 'node:perf_hooks'
import { spread } from '../measure.mjs'
import { figure, printReasons, printTable, range } from '../report.mjs'

/** @typedef {import('../measure.mjs').Spread} Spread */
/**
 * Milliseconds for one piece of work and the ratio to the first contender's within the same turn, or why there is nothing.
 * @typedef {{ name: string, title: string, cannot: string }} Missing
 * @typedef {{ name: string, title: string, cpu: Spread, ratio: Spread, wall: Spread, wallRatio: Spread, rss: number, tail: number, turns: number, facts: Record<string, number> }} Measured
 * @typedef {Measured | Missing} Row
 */

/**
 * @template Work
 * @param {readonly import('./field.mjs').Asked<Work>[]} field the first is the floor
 * @param {Work} work
 * @param {{ turns: number, warmUps?: number, pieces?: number, needs?: string, within?: number }} options `needs`: what a contender must be
 *   able to do; `within`: after so many seconds there are no more turns, once there are two
 * @returns {Promise<Row[]>}
 */
export async function takeTurns(
  field,
  work,
  { turns, warmUps = 2, pieces = 1, needs = 'stream', within = Number.POSITIVE_INFINITY },
) {
  /** @type {import('./worker.mjs').Cost[][]} */
  const costs = field.map(() => [])
  const reasons = field.map(({ cannot }) => cannot['*'] ?? cannot[needs])
  const end = performance.now() + within * 1_000
  for (let turn = -warmUps; turn < turns && (turn < 2 || performance.now() < end); turn++) {
    for (let step = 0; step < field.length; step++) {
      // The order changes, so that no contender is first in every turn.
      const at = (step + Math.abs(turn)) % field.length
      const contender = field[at]
      if (contender === undefined || reasons[at] !== undefined) continue
      try {
        const cost = await contender.runs(work)
        if (turn >= 0) costs[at]?.push(cost)
      } catch (error) {
        reasons[at] = `failed: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`
      }
    }
  }
  return rowsOf(field, costs, reasons, pieces)
}

/**
 * @param {readonly { name: string, title: string }[]} field
 * @param {readonly (readonly import('./worker.mjs').Cost[])[]} costs by contender, by turn
 * @param {readonly (string | undefined)[]} reasons why there are none
 * @param {number} pieces
 * @returns {Row[]}
 */
export function rowsOf(field, costs, reasons, pieces) {
  const base = costs[0] ?? []
  return field.map(({ name, title }, at) => {
    const own = costs[at] ?? []
    const cannot = reasons[at]
    if (cannot !== undefined) return { name, title, cannot }
    const ratios = (/** @type {'cpu' | 'wall'} */ what) =>
      spread(own.map((one, turn) => one[what] / (base[turn]?.[what] ?? Number.NaN)))
    return {
      name,
      title,
      cpu: spread(own.map(({ cpu }) => cpu / pieces)),
      ratio: ratios('cpu'),
      wall: spread(own.map(({ wall }) => wall / pieces)),
      wallRatio: ratios('wall'),
      rss: Math.max(...own.map(({ rss }) => rss)),
      tail: spread(own.flatMap(({ walls }) => walls)).p99,
      turns: own.length,
      facts: factsOf(own),
    }
  })
}

/** The median of each. @param {readonly import('./worker.mjs').Cost[]} costs */
function factsOf(costs) {
  return Object.fromEntries(
    Object.keys(costs[0]?.facts ?? {}).map((key) => [
      key,
      spread(costs.map(({ facts }) => facts?.[key] ?? Number.NaN)).median,
    ]),
  )
}

/**
 * `facts`: what else is shown of a row, by its name among the facts.
 * @param {string} part
 * @param {string} title
 * @param {string} explanation
 * @param {readonly Row[]} rows
 * @param {readonly string[]} [facts]
 * @returns {import('./parts/part.mjs').PartArea}
 */
export function turnsArea(part, title, explanation, rows, facts = []) {
  printTable(
    title,
    explanation,
    ['', 'CPU ratio', 'p10–p90', 'ms CPU', 'p10–p90', 'wall ratio', 'ms wall', 'MB', 'turns', ...facts],
    rows.map((row) =>
      'cannot' in row
        ? [row.title, 'cannot']
        : [
            row.title,
            figure(row.ratio.median),
            range(row.ratio),
            figure(row.cpu.median),
            range(row.cpu),
            figure(row.wallRatio.median),
            figure(row.wall.median),
            figure(row.rss),
            String(row.turns),
            ...facts.map((fact) => figure(row.facts[fact] ?? Number.NaN)),
          ],
    ),
  )
  printReasons(rows)
  return { part, title, explanation, kind: 'turns', rows, ...(facts.length > 0 && { facts }) }
}

/** @param {readonly Row[]} rows @param {string} name @returns {Measured | undefined} */
export function measured(rows, name) {
  const row = rows.find((one) => one.name === name)
  return row === undefined || 'cannot' in row ? undefined : row
}
