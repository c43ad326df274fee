// One cost at several sizes, and the exponent of its growth.
import { performance } from 'node:perf_hooks'
import { growthExponent, spread } from '../measure.mjs'
import { figure, printTable } from '../report.mjs'

/** @typedef {{ url: string, root: string, place: string, quick: boolean }} ScalePlace */
/** @typedef {{ title: string, exponent: number, most: number, area: import('../report.mjs').Area }} Curve */
/**
 * `prepare` makes what has this size, and is not timed; `run` is one piece of work with it. `most`: the largest exponent that is a
 * success.
 * @template Prepared
 * @typedef {{
 *   title: string
 *   explanation: string
 *   sizes: readonly number[]
 *   most: number
 *   times: number
 *   prepare: (size: number) => Promise<Prepared>
 *   run: (prepared: Prepared, size: number) => Promise<unknown>
 *   end?: (prepared: Prepared) => Promise<unknown>
 * }} CurveOptions
 */

/** @template Prepared @param {CurveOptions<Prepared>} options @returns {Promise<Curve>} */
export async function measureCurve({ title, explanation, sizes, most, times, prepare, run, end }) {
  const rows = []
  /** @type {{ size: number, value: number }[]} */
  const points = []
  for (const size of sizes) {
    const prepared = await prepare(size)
    /** @type {{ cpu: number, wall: number }[]} */
    const costs = []
    // The first time compiles code and fills caches of the system.
    for (let time = -1; time < times; time++) {
      const used = process.cpuUsage()
      const start = performance.now()
      await run(prepared, size)
      const wall = performance.now() - start
      const { user, system } = process.cpuUsage(used)
      if (time >= 0) costs.push({ cpu: (user + system) / 1000, wall })
    }
    await end?.(prepared)
    const rss = process.memoryUsage.rss() / 2 ** 20
    const cpu = spread(costs.map((cost) => cost.cpu)).median
    points.push({ size, value: cpu })
    rows.push({
      name: size.toLocaleString('en-US'),
      cpu,
      wall: spread(costs.map((cost) => cost.wall)).median,
      rss,
    })
  }
  const exponent = growthExponent(points)
  const says = `${explanation} Exponent of the CPU time: ${exponent.toFixed(2)}, at most ${most}.`
  printTable(
    title,
    says,
    ['', 'ms CPU', 'ms', 'process MB'],
    rows.map(({ name, cpu, wall, rss }) => [name, figure(cpu), figure(wall), figure(rss)]),
  )
  return { title, exponent, most, area: { title, explanation: says, rows } }
}
