// `npm run bench -- peers`: Capstan and other agent libraries on the same work, in one run. `--only=rounds,import` for some parts,
// `--with=fetch,capstan,ai` for some contenders, `--quick` for a rough look. Ends with 1 when a target is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { names } from './peers/contract.mjs'
import { peersInstalled } from './peers/install.mjs'
import { crowd, deltas, growth, history, memory, rounds } from './peers/parts.mjs'
import { coldStart, imports } from './peers/starts.mjs'
import { calibrationArea, writeResults } from './report.mjs'
import { judged, verdictLine } from './verdict.mjs'

const parts = { import: imports, start: coldStart, rounds, growth, deltas, history, crowd, memory }
const quick = process.argv.includes('--quick')
const only = listOf('--only=') ?? Object.keys(parts)
const contenders = listOf('--with=') ?? names
peersInstalled()
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-peers-'))
const workplace = await openWorkplace()
const calibrations = [calibrate()]
/** @type {import('./peers/parts.mjs').PartResult} */
const all = { areas: [], targets: [] }
try {
  const where = { url: workplace.server.url, root: workplace.root, place }
  for (const [name, part] of Object.entries(parts)) {
    if (!only.includes(name)) continue
    const { areas, targets } = await part({ names: contenders, where, quick })
    all.areas.push(...areas)
    all.targets.push(...targets)
    calibrations.push(calibrate())
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

/** @param {string} flag */
function listOf(flag) {
  return process.argv
    .find((arg) => arg.startsWith(flag))
    ?.slice(flag.length)
    .split(',')
}
