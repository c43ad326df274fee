// `npm run bench -- scale`: how costs grow with what a session, a store or a configuration contains, each with its exponent. Some minutes;
// a rough result at smaller sizes with `--quick`. Exits with 1 when a target is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'
import { measureMessages } from './scale/messages.mjs'
import { measureOutputs } from './scale/outputs.mjs'
import { measureRuleCounts } from './scale/rules.mjs'
import { measureServerTools } from './scale/server-tools.mjs'
import { measureSessionCounts } from './scale/sessions.mjs'
import { judged, verdictLine } from './verdict.mjs'

const quick = process.argv.includes('--quick')
const calibrations = [calibrate()]
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-scale-'))
const workplace = await openWorkplace()
/** @type {import('./scale/curve.mjs').Curve[]} */
const curves = []
try {
  const where = { url: workplace.server.url, root: workplace.root, place, quick }
  for (const measure of [
    measureMessages,
    measureSessionCounts,
    measureRuleCounts,
    measureServerTools,
    measureOutputs,
  ]) {
    curves.push(...(await measure(where)))
    calibrations.push(calibrate())
  }
} finally {
  await workplace.leave()
  rmSync(place, { recursive: true, force: true })
}
const targets = curves.map(({ title, exponent, most }) =>
  judged({ name: `growth: ${title}`, unit: 'exponent', most, found: exponent }),
)
console.log('')
for (const target of targets) console.log(verdictLine(target))
const areas = [...curves.map(({ area }) => area), calibrationArea(calibrations)]
console.log(`written to ${writeResults('scale', { quick, targets, areas })}`)
process.exitCode = targets.every(({ met }) => met) ? 0 : 1
