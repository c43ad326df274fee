// `npm run bench`: every area, one after the other, each in a separate process; then one table of all targets, one of
// all budgets, one file of all results and the pictures of docs/performance.md. `npm run bench -- check` runs what
// measures a budget and fails when one is missed; with `--report` it reports and does not fail. `--without=peers` leaves
// areas out, `--within=100` those that it would have to begin after so many seconds; other flags go to the areas. `npm
// run bench -- tables FILE` puts the figures of such a file into docs/performance.md. `npm run bench -- compare REVISION`
// measures two builds in turn.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { areaFiles } from './areas.mjs'
import { budgets, budgetsFound } from './budgets.mjs'
import { compareBuilds } from './compare/compare.mjs'
import { drawResults } from './draw.mjs'
import { fillTables } from './tables.mjs'
import { verdictLine, verdicts } from './verdict.mjs'

const folder = import.meta.dirname
const flags = process.argv.slice(2).filter((arg) => arg.startsWith('-'))
const named = process.argv.slice(2).filter((arg) => !arg.startsWith('-'))
const without = flags.flatMap((flag) => /^--without=(.+)$/.exec(flag)?.[1]?.split(',') ?? [])
const within = Number(
  flags.flatMap((flag) => /^--within=(\d+)$/.exec(flag)?.[1] ?? [])[0] ?? Number.POSITIVE_INFINITY,
)
const files = areaFiles()
const checking = named.includes('check')
if (flags.some((flag) => flag === '--help' || flag === '-h')) printHelp()
else if (named[0] === 'tables') fillTables(named[1])
else if (named[0] === 'compare') process.exitCode = await compareBuilds(process.argv.slice(3))
else {
  const wanted = named.filter((name) => name !== 'check')
  const unknown = [...wanted, ...without].find((area) => !files.has(area))
  if (unknown === undefined)
    process.exitCode = runAreas(
      (wanted.length > 0 ? wanted : usual()).filter((area) => !without.includes(area)),
    )
  else {
    console.error(
      `There is no benchmark "${unknown}". There are: ${[...files.keys()].join(', ')}, check, compare, tables`,
    )
    process.exitCode = 2
  }
}

function printHelp() {
  console.log(`npm run bench -- [AREA …] [--quick] [--without=AREA,AREA] [--within=SECONDS]
npm run bench -- check [--report]       what measures a budget; fails when one is missed, unless --report is given
npm run bench -- compare [REVISION]     the build of another revision and this one, in turn
npm run bench -- tables FILE            writes the figures of a result file into docs/performance.md
Areas: ${[...files.keys()].join(', ')}. Without one, all of them run, for more than an hour.`)
}

/** What is run when nothing is named: everything, or what measures a budget. */
function usual() {
  const measuring = budgets.flatMap(({ places }) => places.map(({ area }) => area))
  return [...files.keys()].filter((area) => !checking || measuring.includes(area))
}

/** @param {readonly string[]} chosen */
function runAreas(chosen) {
  const into = mkdtempSync(join(tmpdir(), 'capstan-bench-results-'))
  try {
    /** @type {string[]} */
    const broken = []
    const began = performance.now()
    const seconds = () => Math.round((performance.now() - began) / 1_000)
    for (const area of chosen) {
      if (seconds() >= within) {
        console.log(`\n${area} is left out: ${seconds()} of ${within} seconds are over`)
        continue
      }
      const start = seconds()
      const args = ['--expose-gc', files.get(area) ?? '', ...flags]
      spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...process.env, BENCH_INTO: into } })
      console.log(`${area} took ${seconds() - start} s`)
      // An area that missed a target has still written its results; one that failed has not.
      if (!readdirSync(into).some((name) => name.startsWith(`${area}-`))) broken.push(area)
    }
    const results = readdirSync(into).map((name) => JSON.parse(readFileSync(join(into, name), 'utf8')))
    return conclude(results, broken, chosen)
  } finally {
    rmSync(into, { recursive: true, force: true })
  }
}

/** @param {any[]} results @param {readonly string[]} broken @param {readonly string[]} chosen */
function conclude(results, broken, chosen) {
  const all = verdicts(results)
  console.log('\nAll targets')
  for (const { area, target } of all) console.log(`  ${area.padEnd(10)} ${verdictLine(target)}`)
  for (const area of broken) console.log(`  ${area.padEnd(10)} BROKE OFF: see above`)
  const missed = all.filter(({ target }) => !target.met).length
  console.log(
    `${all.length - missed} met, ${missed} missed${broken.length > 0 ? `, ${broken.length} areas broke off` : ''}`,
  )
  const missedBudgets = checking || chosen.length > 1 ? printBudgets(results) : 0
  if (chosen.length > 1) console.log(`written to ${write(results)}`)
  // Rough results are not drawn.
  if (!flags.includes('--quick') || flags.includes('--pictures')) drawResults(results)
  if (flags.includes('--report')) return 0
  return (checking ? missedBudgets : missed) === 0 && broken.length === 0 ? 0 : 1
}

/** Each budget, where it is measured and what was found there. @param {any[]} results @returns {number} how many were missed */
function printBudgets(results) {
  const found = budgetsFound(results)
  console.log('\nBudgets')
  let last = ''
  for (const { budget, area, name, target } of found) {
    if (budget !== last) console.log(`  ${budget}`)
    last = budget
    console.log(`    ${area}: ${target === undefined ? `not in this run: ${name}` : verdictLine(target)}`)
  }
  const missed = found.filter(({ target }) => target !== undefined && !target.met).length
  const absent = found.filter(({ target }) => target === undefined).length
  console.log(`${found.length - missed - absent} met, ${missed} missed, ${absent} not in this run`)
  return missed
}

/** @param {any[]} results */
function write(results) {
  const date = new Date().toISOString()
  const machine = {
    node: process.version,
    system: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? '',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
  }
  mkdirSync(join(folder, 'results'), { recursive: true })
  const path = join(folder, 'results', `${date.slice(0, 19).replaceAll(':', '-')}.json`)
  writeFileSync(path, `${JSON.stringify({ date, machine, results }, undefined, 2)}\n`)
  return path
}
