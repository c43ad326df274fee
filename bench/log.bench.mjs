// `npm run bench -- log`: the cost of recording a session: appends and checkpoints as it grows, waiting for the
// disk, and reading it back. About a minute; a rough result with `--quick`. Exits with 1 when a target is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { measureAppends } from './log/appends.mjs'
import { measureResume } from './log/resume.mjs'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const base = mkdtempSync(join(tmpdir(), 'capstan-bench-log-'))
const calibrations = [calibrate()]
try {
  const appends = await measureAppends(base, quick ? 30 : 150)
  calibrations.push(calibrate())
  const resume = await measureResume(base, quick ? 7 : 25)
  calibrations.push(calibrate())
  const calibration = calibrationArea(calibrations)

  const targets = [
    {
      name: 'bytes of a checkpoint, 10,000 messages to 10',
      unit: 'times',
      most: 1.1,
      found: appends.bytesRatio,
    },
    { name: 'growth of a checkpoint in files', unit: 'exponent', most: 0.1, found: appends.growth.file },
    { name: 'growth of a checkpoint in SQLite', unit: 'exponent', most: 0.1, found: appends.growth.sqlite },
    { name: 'a checkpoint in files, safe from a crash', unit: 'ms', most: 0.1, found: appends.crashSafeMs },
    { name: 'reading 10,000 messages from files', unit: 'times a parse', most: 1.5, found: resume.file },
    { name: 'reading 10,000 messages from SQLite', unit: 'times a parse', most: 1.5, found: resume.sqlite },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  console.log('')
  for (const { name, unit, most, found, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(3)} ${unit}, target at most ${most}`)
  const areas = [appends.area, resume.area, calibration]
  console.log(`written to ${writeResults('log', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  rmSync(base, { recursive: true, force: true })
}
