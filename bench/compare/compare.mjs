// `npm run bench -- compare [REVISION]`: two builds in turn, in one run. The working tree against a commit, by default the one that this
// branch began with. Ends with 1 when the working tree takes more than 15 % more CPU time, or executes more than 15 % more
// instructions, in one of the rows. `--quick`: a rough look without counting instructions; `--instructions`: nothing else, for a machine
// that runs other work; `--report` never ends with 1.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkplace } from '../loop/workplace.mjs'
import { spread } from '../measure.mjs'
import { figure, printTable, range, writeResults } from '../report.mjs'
import { builtCheckout, commitOf, workingTree } from './checkout.mjs'
import { instructionCounter, instructionsOfRound, instructionsToOpen } from './instructions.mjs'
import { regressions } from './regressions.mjs'

/** @typedef {import('./checkout.mjs').Checkout} Checkout */
/** @typedef {import('./regressions.mjs').Row} Row */
/** @typedef {{ url: string, root: string, place: string }} Where */
/**
 * `fresh`: processes of their own for each block, which have made so many rounds before; otherwise both sides have one process for all
 * blocks.
 * @typedef {{ name: string, contender: string, rounds: number, at: number, fresh?: number, blocks: number }} Case
 */

/** @type {readonly Case[]} */
const cases = [
  { name: 'one round after 10, recorded', contender: 'capstan', rounds: 50, at: 1, fresh: 10, blocks: 10 },
  { name: 'one round after 250, recorded', contender: 'capstan', rounds: 50, at: 1, fresh: 250, blocks: 10 },
  {
    name: 'one round after 250, as it comes',
    contender: 'capstan-bare',
    rounds: 50,
    at: 1,
    fresh: 250,
    blocks: 10,
  },
  { name: 'one round, warm, recorded', contender: 'capstan', rounds: 50, at: 1, blocks: 30 },
  { name: '100 recorded sessions at once', contender: 'capstan', rounds: 3, at: 100, blocks: 10 },
]
const quickCases = [1, 4]
const warmRounds = 2_000

/** @param {readonly string[]} args */
export async function compareBuilds(args) {
  const quick = args.includes('--quick')
  const onlyCounts = args.includes('--instructions')
  const [revision] = args.filter((arg) => !arg.startsWith('-'))
  const sides = [builtCheckout(commitOf(revision)), workingTree()]
  console.log(`${sides[0]?.name} and ${sides[1]?.name}, in turn`)
  const place = mkdtempSync(join(tmpdir(), 'capstan-bench-compare-'))
  const workplace = await openWorkplace()
  try {
    const where = { url: workplace.server.url, root: workplace.root, place }
    /** @type {Row[]} */
    const rows = []
    const timedCases = onlyCounts ? [] : quick ? quickCases.flatMap((at) => cases[at] ?? []) : cases
    for (const one of timedCases) {
      console.log(`  measuring: ${one.name}`)
      rows.push(await timed({ ...one, blocks: quick ? 4 : one.blocks }, sides, where))
    }
    if (rows.length > 0)
      printTable(
        'Two builds',
        `ms CPU of one piece of work: ${sides[0]?.name}, then ${sides[1]?.name}; the ratio of each pair of blocks.`,
        ['', 'ms before', 'ms now', 'ratio', 'p10–p90', 'pairs'],
        rows.map(({ name, before, now, ratio, pairs }) => [
          name,
          figure(before),
          figure(now),
          figure(ratio.median),
          range(ratio),
          String(pairs),
        ]),
      )
    const counts = quick ? [] : instructionRows(sides, where)
    const found = regressions([...rows, ...counts])
    for (const line of found) console.log(`REGRESSION ${line}`)
    const isMeasured = rows.length + counts.length > 0
    if (!isMeasured) console.log('\nNothing was measured.')
    else if (found.length === 0) console.log('\nNo row takes more than 15 % more than before.')
    console.log(`written to ${writeResults('compare', { quick, sides, rows, counts })}`)
    return args.includes('--report') || (isMeasured && found.length === 0) ? 0 : 1
  } finally {
    await workplace.leave()
    rmSync(place, { recursive: true, force: true })
  }
}

/** @param {Case} one @param {readonly Checkout[]} sides @param {Where} where @returns {Promise<Row>} */
async function timed({ name, contender, rounds, at, fresh, blocks }, sides, where) {
  /** @type {number[][]} */
  const costs = sides.map(() => [])
  const work = { plan: 'rounds', rounds, times: at, at }
  const pieces = at > 1 ? at : rounds
  let field = await startSides(sides, contender, where, fresh ?? (at > 1 ? 250 : warmRounds))
  try {
    for (let block = 0; block < blocks; block++) {
      if (fresh !== undefined && block > 0) {
        await Promise.all(field.map((side) => side.end()))
        field = await startSides(sides, contender, where, fresh)
      }
      // A, B, then B, A: a temporary slowdown of the machine affects both.
      for (const index of block % 2 === 0 ? [0, 1] : [1, 0]) {
        const cost = await field[index]?.runs(work)
        costs[index]?.push((cost?.cpu ?? Number.NaN) / pieces)
      }
    }
  } finally {
    await Promise.all(field.map((side) => side.end()))
  }
  const [before = [], now = []] = costs
  return {
    name,
    unit: 'ms CPU',
    before: spread(before).median,
    now: spread(now).median,
    ratio: spread(now.map((value, block) => value / (before[block] ?? Number.NaN))),
    pairs: blocks,
  }
}

/**
 * One process for each side, after so many rounds, in runs of ten. Each side is started by its own copy of the benchmarks, where
 * `capstan` is its own build.
 * @param {readonly Checkout[]} sides
 * @param {string} contender
 * @param {Where} where
 * @param {number} rounds
 */
async function startSides(sides, contender, where, rounds) {
  const field = []
  for (const [index, { folder }] of sides.entries()) {
    const place = mkdtempSync(join(where.place, `side-${index}-`))
    mkdirSync(place, { recursive: true })
    /** @type {typeof import('../peers/field.mjs')} */
    const { startField } = await import(join(folder, 'bench/peers/field.mjs'))
    const [side] = await startField([contender], { ...where, place })
    if (side === undefined) throw new Error(`${contender} of ${folder} does not start`)
    field.push(side)
  }
  // Uses the agent that is measured: V8 compiles functions again for a second agent.
  for (const side of field) await side.runs({ plan: 'rounds', rounds: 10, times: rounds / 10 })
  return field
}

/** @param {readonly Checkout[]} sides @param {Where} where @returns {Row[]} */
function instructionRows(sides, where) {
  const counter = instructionCounter()
  if (counter === undefined) {
    console.log('\nInstructions are not counted: there is neither `perf stat` with counters nor valgrind.')
    return []
  }
  /** @param {string} name @param {(side: Checkout) => number} count @returns {Row} */
  const row = (name, count) => {
    console.log(`  counting: ${name}`)
    const [before = Number.NaN, now = Number.NaN] = sides.map(count)
    return { name, unit: 'million instructions', before, now, ratio: spread([now / before]), pairs: 1 }
  }
  /** @param {string} contender @param {'few' | '250'} rounds @returns {(side: Checkout) => number} */
  const round = (contender, rounds) => (side) => instructionsOfRound(counter, contender, side, where, rounds)
  const rows = [
    row('start to a ready session', (side) => instructionsToOpen(counter, 'capstan', side, where)),
    row('one round of few, recorded', round('capstan', 'few')),
    row('one round of few, as it comes', round('capstan-bare', 'few')),
    row('one of 250 rounds, compiled meanwhile, recorded', round('capstan', '250')),
  ]
  printTable(
    'Instructions',
    `Millions, counted by ${counter.name}; V8 without its optimising compiler, but for the last row.`,
    ['', 'before', 'now', 'ratio'],
    rows.map(({ name, before, now, ratio }) => [name, figure(before), figure(now), figure(ratio.median)]),
  )
  return rows
}
