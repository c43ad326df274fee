// `npm run bench -- peers`: Capstan and other agent libraries on the same work, in one run. `--only=rounds,import` for
// some parts, `--with=fetch,capstan,ai` for some contenders, `--quick` for a rough look. Exits with 1 when a target is
// missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { names } from './peers/contract.mjs'
import { peersInstalled } from './peers/install.mjs'
import { calls, parallel } from './peers/parts/calls.mjs'
import { commands } from './peers/parts/commands.mjs'
import { crowd, memory } from './peers/parts/crowd.mjs'
import { history } from './peers/parts/history.mjs'
import { keeping } from './peers/parts/keeping.mjs'
import { mcp } from './peers/parts/mcp.mjs'
import { programs } from './peers/parts/programs.mjs'
import { rounds } from './peers/parts/rounds.mjs'
import { search } from './peers/parts/search.mjs'
import { deltas } from './peers/parts/stream.mjs'
import { coldStart, imports } from './peers/starts.mjs'
import { calibrationArea, writeResults } from './report.mjs'
import { judged, verdictLine } from './verdict.mjs'

const parts = {
  import: imports,
  start: coldStart,
  rounds,
  deltas,
  history,
  crowd,
  memory,
  calls,
  parallel,
  search,
  programs,
  keeping,
  mcp,
  commands,
}
const quick = process.argv.includes('--quick')
const only = listOf('--only=', Object.keys(parts))
const contenders = listOf('--with=', names)
peersInstalled()
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-peers-'))
const workplace = await openWorkplace()
const calibrations = [calibrate()]
/** @type {import('./peers/parts/part.mjs').PartResult} */
const all = { areas: [], targets: [] }
try {
  const where = { url: workplace.server.url, root: workplace.root, place }
  for (const [name, part] of Object.entries(parts)) {
    if (!only.includes(name)) continue
    const began = performance.now()
    const { areas, targets } = await part({ names: contenders, where, quick })
    all.areas.push(...areas)
    all.targets.push(...targets)
    calibrations.push(calibrate())
    console.log(`\n${name} took ${Math.round((performance.now() - began) / 1000)} s`)
  }
  const calibration = calibrationArea(calibrations)
  const targets = all.targets.map(judged)
  console.log('')
  for (const target of targets) console.log(verdictLine(target))
  console.log(`written to ${writeResults('peers', { quick, targets, areas: [...all.areas, calibration] })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  await workplace.leave()
  rmSync(place, { recursive: true, force: true })
}

/** @param {string} flag @param {readonly string[]} known */
function listOf(flag, known) {
  const given = process.argv.find((arg) => arg.startsWith(flag))
  if (given === undefined) return known
  const wanted = given.slice(flag.length).split(',')
  const unknown = wanted.find((one) => !known.includes(one))
  if (unknown !== undefined) throw new Error(`${flag}${unknown}: there are ${known.join(', ')}`)
  return wanted
}
