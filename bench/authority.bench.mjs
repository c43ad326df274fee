// `npm run bench -- authority`: the cost of judging, gating and confining a call. Exits with 1 when a budget is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureCommands } from './authority/commands.mjs'
import { measureGate } from './authority/gate.mjs'
import { measureRules } from './authority/rules.mjs'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const share = quick ? 0.1 : 1
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-'))
const calibrations = [calibrate()]
try {
  const gate = await measureGate(4 * share)
  calibrations.push(calibrate())
  const rules = await measureRules(4 * share)
  calibrations.push(calibrate())
  const commands = await measureCommands(place, quick ? 5 : 30)
  calibrations.push(calibrate())
  const calibration = calibrationArea(calibrations)

  const targets = [
    { name: 'gate, in-process tool, everything on', unit: 'µs', most: 60, found: gate.micros },
    { name: 'judging by 1,000 rules', unit: 'µs', most: 50, found: rules.judging },
    { name: 'analysing a typical command', unit: 'µs', most: 1000, found: rules.analysing },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  for (const { name, unit, most, found, met } of targets) {
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(1)} ${unit}, target at most ${most}`)
  }
  console.log(
    `written to ${writeResults('authority', { quick, targets, areas: [...gate.areas, ...rules.areas, ...commands.areas, calibration] })}`,
  )
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  rmSync(place, { recursive: true, force: true })
}
