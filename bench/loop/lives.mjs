// One round in processes that have made 10, 50, 250 and 2,000 before: an agent's process often lives for tens of rounds.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { spread } from '../measure.mjs'
import { startField } from '../peers/field.mjs'
import { figure, printTable, range } from '../report.mjs'

const count = 50
const own = ['fetch', 'capstan', 'capstan-unrecorded', 'capstan-bare', 'capstan-key']

/** The maximum cost of a round after so many rounds, as a ratio to the bare loop. */
const points = [
  { after: 10, recorded: undefined, plain: undefined },
  { after: 50, recorded: undefined, plain: undefined },
  { after: 250, recorded: 1.6, plain: 1.3 },
  { after: 2_000, recorded: 1.4, plain: 1.3 },
]

/** @typedef {import('../measure.mjs').Spread} Spread */
/** @typedef {{ name: string, after: number, ratio: Spread, cpu: Spread, JavaScript: number, V8: number, pool: number, pairs: number }} Row */

/**
 * Each pair is a process for every contender, one after the other in a changing order: the rounds before, and then so many more, which are
 * measured. A pair has its own processes, because V8 compiles while they run: a second block would be another point of their
 * life.
 * @param {import('./workplace.mjs').Workplace} workplace
 * @param {{ quick: boolean, peers?: readonly string[] | undefined }} options `peers`: names of files in `bench/peers/`, which must be installed
 */
export async function measureLives({ root, place, server }, { quick, peers = [] }) {
  const contenders = [...own, ...peers]
  /** @type {Row[]} */
  const rows = []
  /** @type {{ name: string, unit: string, most: number, found: number }[]} */
  const targets = []
  for (const { after, recorded, plain } of points) {
    const pairs = quick ? 3 : after > 1_000 ? 5 : 9
    const found = await pairsAfter(contenders, after, pairs, {
      url: server.url,
      root,
      place: join(place, `after-${after}`),
    })
    rows.push(...found)
    const add = (
      /** @type {string} */ name,
      /** @type {string} */ what,
      /** @type {number | undefined} */ most,
    ) => {
      const ratio = found[contenders.indexOf(name)]?.ratio.median ?? Number.NaN
      if (most !== undefined)
        targets.push({ name: `one round after ${after}, ${what}`, unit: 'times by hand', most, found: ratio })
    }
    add('capstan', 'everything on, record in files', recorded)
    add('capstan-bare', 'as it comes', plain)
  }
  const title = 'Rounds in the life of a process'
  const explanation = `${count} rounds, one \`read\` each, in a fresh process that has made so many before; for one round: the ratio of the CPU to the first row of its pair, ms CPU, and ms of it by thread (JavaScript, V8's compilers and collector, the pool for files).`
  printTable(
    title,
    explanation,
    ['', 'after', 'CPU ratio', 'p10–p90', 'ms CPU', 'JavaScript', 'V8', 'pool', 'pairs'],
    rows.map(({ name, after, ratio, cpu, JavaScript, V8, pool, pairs }) => [
      name,
      after.toLocaleString('en-US'),
      figure(ratio.median),
      range(ratio),
      figure(cpu.median),
      ...[JavaScript, V8, pool].map(figure),
      String(pairs),
    ]),
  )
  return { area: { title, explanation, rows }, targets }
}

/**
 * @param {readonly string[]} contenders @param {number} after @param {number} pairs
 * @param {{ url: string, root: string, place: string }} where @returns {Promise<Row[]>}
 */
async function pairsAfter(contenders, after, pairs, where) {
  /** @type {import('../peers/worker.mjs').Cost[][]} */
  const costs = contenders.map(() => [])
  const titles = [...contenders]
  for (let pair = 0; pair < pairs; pair++) {
    for (let step = 0; step < contenders.length; step++) {
      const at = (step + pair) % contenders.length
      const place = join(where.place, `${pair}-${at}`)
      mkdirSync(place, { recursive: true })
      const [contender] = await startField(contenders.slice(at, at + 1), { ...where, place })
      if (contender === undefined) throw new Error(`${contenders[at]} does not start`)
      titles[at] = contender.title
      try {
        // With the agent that is measured, and in runs as long as the one that is measured: V8 compiles functions again for a second
        // agent, and for the first history that is longer than those before.
        const rounds = Math.min(after, count)
        await contender.runs({ plan: 'rounds', rounds, times: after / rounds })
        costs[at]?.push(await contender.runs({ plan: 'rounds', rounds: count }))
      } finally {
        await contender.end()
      }
    }
  }
  const base = costs[0] ?? []
  return contenders.map((name, at) => {
    const mine = costs[at] ?? []
    const middle = (/** @type {keyof import('./threads.mjs').ThreadTimes} */ group) =>
      spread(mine.map(({ facts }) => (facts?.[group] ?? Number.NaN) / count)).median
    return {
      name: titles[at] ?? name,
      after,
      ratio: spread(mine.map(({ cpu }, pair) => cpu / (base[pair]?.cpu ?? Number.NaN))),
      cpu: spread(mine.map(({ cpu }) => cpu / count)),
      JavaScript: middle('main'),
      V8: middle('v8'),
      pool: middle('pool'),
      pairs,
    }
  })
}
