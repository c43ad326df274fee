// Times cases side by side: each has its turn in every round, so a slow moment of the machine falls on all of them, and
// what is compared is the ratio within a round.
import { performance } from 'node:perf_hooks'

/**
 * `run` does the work `times` over. `before`, untimed, makes what one sample uses up. A case without `times` is repeated until a
 * sample is long enough for the clock.
 * @typedef {{ name: string, run: (times: number) => unknown, before?: (times: number) => unknown, times?: number }} Case
 */
/**
 * The middle of all samples, the values between which eight of ten lie, and the one that one of a hundred exceeds.
 * @typedef {{ median: number, p10: number, p90: number, p99: number }} Spread
 */
/**
 * Microseconds for one piece of work, and the ratio to the baseline's.
 * @typedef {{ name: string, micros: Spread, ratio: Spread, rounds: number }} Timing
 */

const sampleMs = 5
const warmUpShare = 0.3
const minRounds = 5

/**
 * Warms every case up, then times them in turn until the seconds are over. The first case is the baseline unless one is
 * named.
 * @param {readonly Case[]} cases
 * @param {{ seconds: number, baseline?: string }} options
 * @returns {Promise<Timing[]>}
 */
export async function interleave(cases, { seconds, baseline = cases[0]?.name }) {
  const end = performance.now() + seconds * 1000
  globalThis.gc?.()
  const times = []
  for (const one of cases) times.push(await warmUp(one, (seconds * 1000 * warmUpShare) / cases.length))

  /** @type {number[][]} */
  const samples = cases.map(() => [])
  for (let round = 0; round < minRounds || performance.now() < end; round++) {
    for (let turn = 0; turn < cases.length; turn++) {
      // The order changes, so that no case is first in every round.
      const at = (turn + round) % cases.length
      const one = cases[at]
      const count = times[at] ?? 1
      if (one) samples[at]?.push(((await time(one, count)) * 1000) / count)
    }
  }

  const base = samples[cases.findIndex(({ name }) => name === baseline)] ?? []
  return cases.map(({ name }, at) => {
    const own = samples[at] ?? []
    const ratios = own.map((value, round) => value / (base[round] ?? Number.NaN))
    return { name, micros: spread(own), ratio: spread(ratios), rounds: own.length }
  })
}

/**
 * How many times a sample repeats the work, after at least so many milliseconds of it.
 * @param {Case} one
 * @param {number} minMs
 */
async function warmUp(one, minMs) {
  let count = one.times ?? 1
  let spent = await time(one, count)
  for (let took = spent; spent < minMs || (one.times === undefined && took < sampleMs / 2); spent += took) {
    if (one.times === undefined)
      count = Math.max(1, Math.min(count * 10, Math.round((count * sampleMs) / took)))
    took = await time(one, count)
  }
  return count
}

/**
 * Milliseconds of one sample.
 * @param {Case} one
 * @param {number} count
 */
async function time(one, count) {
  await one.before?.(count)
  const start = performance.now()
  const running = one.run(count)
  if (running instanceof Promise) await running
  return performance.now() - start
}

/** @param {readonly number[]} values @returns {Spread} */
export function spread(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (/** @type {number} */ part) => sorted[Math.round((sorted.length - 1) * part)] ?? Number.NaN
  return { median: at(0.5), p10: at(0.1), p90: at(0.9), p99: at(0.99) }
}

/** Tens, hundreds, thousands and so on, up to the most there is. @param {number} most */
export function growthSizes(most) {
  const sizes = []
  for (let size = 10; size <= most; size *= 10) sizes.push(size)
  return sizes
}

/**
 * The power of the size with which a time grows (1: in proportion; 0: not at all): the slope of a straight line through
 * the logarithms.
 * @param {readonly { size: number, value: number }[]} points
 */
export function growthExponent(points) {
  const logs = points.map(({ size, value }) => ({ x: Math.log(size), y: Math.log(value) }))
  const meanX = logs.reduce((sum, { x }) => sum + x, 0) / logs.length
  const meanY = logs.reduce((sum, { y }) => sum + y, 0) / logs.length
  const above = logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0)
  return above / logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
}

/**
 * Milliseconds of a fixed loop that touches nothing. Timed at the begin and the end of a run, it shows how steady the
 * machine was.
 * @returns {Spread}
 */
export function calibrate(repetitions = 15) {
  return spread(
    Array.from({ length: repetitions }, () => {
      const start = performance.now()
      keep(spin())
      return performance.now() - start
    }),
  )
}

function spin() {
  let state = 1
  let sum = 0
  for (let i = 0; i < 2_000_000; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    sum += state * 1e-9
  }
  return sum
}

/** @type {unknown} */
let kept
/** Uses a result, so that the compiler cannot leave out the work behind it. @param {unknown} value */
export function keep(value) {
  kept = value
  return kept
}
