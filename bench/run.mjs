// `npm run bench`: every area, one after the other, each in a process of its own; then one table of all targets, one file of all results
// and the pictures of docs/performance.md. `npm run bench -- check` does the same and fails when a target is missed; with `--report` it
// tells and does not fail. Flags go to the areas.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { drawResults } from './draw.mjs'
import { verdictLine, verdicts } from './verdict.mjs'

const folder = import.meta.dirname
const flags = process.argv.slice(2).filter((arg) => arg.startsWith('-'))
const named = process.argv.slice(2).filter((arg) => !arg.startsWith('-'))
const areas = readdirSync(folder).flatMap((name) => /^([a-z]+)\.bench\.mjs$/.exec(name)?.[1] ?? [])
const wanted = named.filter((name) => name !== 'check')
const unknown = wanted.find((area) => !areas.includes(area))
if (unknown === undefined) process.exitCode = runAreas(wanted.length > 0 ? wanted : areas)
else {
  console.error(`There is no benchmark "${unknown}". There are: ${areas.join(', ')}, check`)
  process.exitCode = 2
}

/** @param {readonly string[]} chosen */
function runAreas(chosen) {
  const into = mkdtempSync(join(tmpdir(), 'capstan-bench-results-'))
  try {
    /** @type {string[]} */
    const broken = []
    for (const area of chosen) {
      const args = ['--expose-gc', join(folder, `${area}.bench.mjs`), ...flags]
      spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...process.env, BENCH_INTO: into } })
      // One that missed a target has written all the same; one that broke off has not.
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
  if (chosen.length > 1) console.log(`written to ${write(results)}`)
  // A rough look is not for showing.
  if (!flags.includes('--quick') || flags.includes('--pictures')) drawResults(results)
  if (flags.includes('--report')) return 0
  return missed === 0 && broken.length === 0 ? 0 : 1
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
