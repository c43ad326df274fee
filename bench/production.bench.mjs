// `npm run bench -- production`: what telemetry adds to a round, and how many requests of many runs a provider
// refuses because of its rate limit. Ends with 1 when a budget is missed.
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { measurePacing } from './production/pacing.mjs'
import { measureTracing } from './production/tracing.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const calibrations = [calibrate()]
const workplace = await openWorkplace()
try {
  const tracing = await measureTracing(workplace, { rounds: quick ? 20 : 300, warmUps: quick ? 20 : 200 })
  calibrations.push(calibrate())
  const pacing = await measurePacing()
  calibrations.push(calibrate())
  const targets = [
    { name: 'a round with telemetry', unit: 'times the round without', most: 1.03, found: tracing.ratio },
    { name: 'telemetry in a round, sampled', unit: 'of its time', most: 0.03, found: tracing.share },
    { name: 'refused of 50 runs, limits known', unit: 'requests', most: 0, found: pacing.refused },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  for (const { name, unit, most, found, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(3)} ${unit}, target at most ${most}`)
  const areas = [...tracing.areas, pacing.area, calibrationArea(calibrations)]
  console.log(`written to ${writeResults('production', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  await workplace.leave()
}
