// `npm run bench -- tool`: what `capstan/tool` costs, as ratios to doing the same by hand. About half a minute; with
// `--quick` a rough result in some five seconds. Exits with 1 when search misses its target or does not find what the
// plain way finds.
import { importArea } from './import-cost.mjs'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'
import { makeTools } from './synthetic.mjs'
import { measureCalls } from './tool/calls.mjs'
import { measureCreation, measureListing } from './tool/definitions.mjs'
import { measureLexical, measureSearch, measureSearchGrowth, measureUpdates } from './tool/search.mjs'

const minSpeedup = 1.2
const quick = process.argv.includes('--quick')
const share = quick ? 0.04 : 1

const calibrations = [calibrate()]
const imports = importArea(['capstan/tool', 'capstan'], { repetitions: quick ? 4 : 15 })
const calls = await steadily(measureCalls(3.5 * share))
const creation = await steadily(measureCreation(4 * share))
const tools = makeTools(quick ? 1000 : 10_000)
const thousand = tools.slice(0, 1000)
const listing = await steadily(measureListing(2 * share, tools))
const at256 = await steadily(measureSearch(2 * share, thousand, 256))
const at1536 = await steadily(measureSearch(5 * share, thousand, 1536))
const growth = await steadily(measureSearchGrowth(1.5 * share, tools))
const lexical = await steadily(measureLexical(1.5 * share, thousand))
const updates = await steadily(measureUpdates(1.5 * share, thousand))
const calibration = calibrationArea(calibrations)

const met = at1536.speedup >= minSpeedup
const times = `${at1536.speedup.toFixed(1)} times faster than the plain way`
console.log(
  `\n${met ? 'met   ' : 'MISSED'} search at 1,536 dimensions: ${times}, target: at least ${minSpeedup}`,
)
const path = writeResults('tool', {
  quick,
  targets: [{ name: 'search at 1,536 dimensions', least: minSpeedup, found: at1536.speedup, met }],
  areas: [
    imports,
    calls,
    creation,
    listing,
    ...at256.areas,
    ...at1536.areas,
    growth,
    ...lexical,
    updates,
    calibration,
  ],
})
console.log(`wrote ${path}`)
if (!met) process.exitCode = 1

/** Calibrates after each area. @template Result @param {Promise<Result>} area */
async function steadily(area) {
  const result = await area
  calibrations.push(calibrate())
  return result
}
