// `npm run bench -- production`: what telemetry adds to a round, and how many requests of many runs a provider
// refuses because of its rate limit. Ends with 1 when a budget is missed, or when it was not decided whether it is met.
import { installUserPackages } from '../scripts/user-packages.mjs'
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { measurePacing } from './production/pacing.mjs'
import { measureTracing } from './production/tracing.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
await installUserPackages()
const calibrations = [calibrate()]
const workplace = await openWorkplace()
try {
  const tracing = await measureTracing(workplace, {
    blocks: quick ? 12 : 600,
    runs: 2,
    warmUps: quick ? 2 : 10,
    count: !quick,
  })
  calibrations.push(calibrate())
  const pacing = await measurePacing()
  calibrations.push(calibrate())
  const exactly = { low: pacing.refused, median: pacing.refused, high: pacing.refused }
  const targets = [
    { name: 'telemetry of Capstan', unit: 'times a round without', most: 1.03, found: tracing.own },
    { name: 'telemetry with the SDK', unit: 'times a round without', most: 1.03, found: tracing.all },
    { name: 'refused of 50 runs, limits known', unit: 'requests', most: 0, found: exactly },
  ].map((target) => ({ ...target, outcome: outcomeOf(target) }))
  for (const { name, unit, most, found, outcome } of targets)
    console.log(
      `${outcome} ${name}: ${found?.median.toFixed(3)} (${found?.low.toFixed(3)} to ${found?.high.toFixed(3)}) ${unit}, target at most ${most}`,
    )
  const areas = [...tracing.areas, ...pacing.areas, calibrationArea(calibrations)]
  console.log(`written to ${writeResults('production', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ outcome }) => outcome === 'met    ') ? 0 : 1
} finally {
  await workplace.leave()
}

/**
 * A target is met only when the whole interval is within it, and missed when none of it is.
 * @param {{ most: number, found: import('./production/median-interval.mjs').Interval | undefined }} target
 */
function outcomeOf({ most, found }) {
  if (found !== undefined && found.high <= most) return 'met    '
  return found === undefined || found.low > most ? 'MISSED ' : 'unknown'
}
