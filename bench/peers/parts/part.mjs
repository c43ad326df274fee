// What the parts of the comparison have in common. Each part has processes of its own, so that none starts with what
// another left.
import { growthExponent } from '../../measure.mjs'
import { figure, printReasons, printTable } from '../../report.mjs'
import { own } from '../contract.mjs'
import { startField } from '../field.mjs'
import { startSides } from '../sides.mjs'
import { measured } from '../turns.mjs'

/** @typedef {{ names: readonly string[], where: { url: string, root: string, place: string }, quick: boolean }} Setting */
/** @typedef {import('../../verdict.mjs').Target} Target */
/** @typedef {import('../turns.mjs').Row} Row */
/** @typedef {{ part: string, title: string, explanation: string, rows: readonly any[], [more: string]: unknown }} PartArea */
/** @typedef {{ areas: PartArea[], targets: Target[] }} PartResult */
/** What was found at one size. @typedef {{ size: number, rows: readonly Row[] }} AtSize */

/** @param {Setting} setting @param {(field: import('../field.mjs').Contender[]) => Promise<PartResult>} use */
export async function withField({ names, where }, use) {
  const field = await startField(names, where)
  try {
    return await use(field)
  } finally {
    await Promise.all(field.map((one) => one.end()))
  }
}

/**
 * @template Result
 * @param {string} part
 * @param {Setting} setting
 * @param {(field: import('../field.mjs').Asked<import('../sides.mjs').SideWork>[]) => Promise<Result>} use
 */
export async function withSides(part, setting, use) {
  const field = await startSides(part, setting)
  try {
    return await use(field)
  } finally {
    await Promise.all(field.map((one) => one.end()))
  }
}

/**
 * How cost grows with size: milliseconds of CPU (or whatever `of` takes) at each size, the exponent of that, and of the
 * ratio to the first row.
 * @param {{ part: string, title: string, explanation: string, of?: (row: import('../turns.mjs').Measured) => number }}
 * what
 * @param {readonly AtSize[]} bySize
 */
export function growthArea({ part, title, explanation, of = (row) => row.cpu.median }, bySize) {
  const sizes = bySize.map(({ size }) => size)
  const floor = new Map(
    bySize.map(({ size, rows }) => [size, rows[0] && !('cannot' in rows[0]) ? of(rows[0]) : Number.NaN]),
  )
  const rows = (bySize[0]?.rows ?? []).map(({ name, title }) => {
    const points = bySize.flatMap(({ size, rows }) => {
      const row = measured(rows, name)
      return row === undefined ? [] : [{ size, value: of(row) }]
    })
    const reasons = bySize.flatMap(({ size, rows }) => {
      const row = rows.find((one) => one.name === name)
      return row !== undefined && 'cannot' in row ? [{ size, reason: row.cannot }] : []
    })
    const ratios = points.map(({ size, value }) => ({ size, value: value / (floor.get(size) ?? Number.NaN) }))
    return {
      name,
      title,
      points,
      exponent: points.length > 1 ? growthExponent(points) : Number.NaN,
      overFloor: points.length > 1 ? growthExponent(ratios) : Number.NaN,
      ...(points.length === 0 && { cannot: reasons[0]?.reason ?? 'not measured' }),
      ...(points.length > 0 && reasons[0] && { stopsAt: reasons[0].size, because: reasons[0].reason }),
    }
  })
  printTable(
    title,
    explanation,
    ['', ...sizes.map((size) => size.toLocaleString('en-US')), 'exponent', 'over the first'],
    rows.map((row) =>
      'cannot' in row
        ? [row.title, 'cannot']
        : [
            row.title,
            ...sizes.map((size) =>
              figure(row.points.find((point) => point.size === size)?.value ?? Number.NaN),
            ),
            row.exponent.toFixed(2),
            row.overFloor.toFixed(2),
          ],
    ),
  )
  printReasons(rows)
  return { part, title, explanation, kind: 'growth', sizes, rows }
}

/**
 * Against the best of the libraries of others, in the same run.
 * @param {string} name
 * @param {readonly Row[]} rows
 * @returns {Target[]} empty when there was no other contender
 */
export function againstPeers(name, rows, mine = 'capstan') {
  const others = rows.flatMap((row) => ('cannot' in row || isOwn(row.name) ? [] : [row]))
  const best = others.toSorted((a, b) => a.ratio.median - b.ratio.median)[0]
  if (best === undefined) return []
  return [
    {
      name: `${name}, against the best peer (${best.title})`,
      unit: 'times its CPU',
      most: 1,
      found: (measured(rows, mine)?.ratio.median ?? Number.NaN) / best.ratio.median,
    },
  ]
}

/** Whether a contender is not another agent library. @param {string} name */
export function isOwn(name) {
  return own.some((one) => name === one || name.startsWith(`${one}-`))
}
