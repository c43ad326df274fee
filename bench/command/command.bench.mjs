// `npm run bench -- command`: the start time of the command as a ratio to `node -e 0`, in a separate environment:
// certificates that the environment makes Node load (`NODE_EXTRA_CA_CERTS`) would hide half of it. Exits with 1 when a
// budget is missed.
import { calibrate } from '../measure.mjs'
import { calibrationArea, figure, printTable, range, writeResults } from '../report.mjs'
import { judged, verdictLine } from '../verdict.mjs'
import { measureStarts } from './starts.mjs'

const quick = process.argv.includes('--quick')
const calibrations = [calibrate()]
const rows = await measureStarts(quick ? 7 : 30)
calibrations.push(calibrate())

const title = 'Command'
const [base] = rows
const explanation = `From the start of the process to its end, or to the first request that a model gets, against \`node -e 0\` (${figure(base?.wall.median ?? Number.NaN)} ms, ${figure(base?.cpu ?? Number.NaN)} ms of CPU).`
printTable(
  title,
  explanation,
  ['', 'ratio', 'p10–p90', 'ms', 'CPU ratio', 'ms CPU'],
  rows.map(({ name, ratio, wall, cpuRatio, cpu }) => [
    name,
    figure(ratio.median),
    range(ratio),
    figure(wall.median),
    figure(cpuRatio),
    figure(cpu),
  ]),
)
const found = (/** @type {string} */ name) =>
  rows.find((row) => row.name === name)?.ratio.median ?? Number.NaN
const unit = 'times node -e 0'
const targets = [
  { name: 'command: --version', unit, most: 1.6, found: found('capstan --version') },
  { name: 'command: --help', unit, most: 1.6, found: found('capstan --help') },
  { name: 'command: run to first model request', unit, most: 3, found: found('capstan run "x"') },
].map(judged)
console.log('')
for (const target of targets) console.log(verdictLine(target))
const areas = [{ title, explanation, rows }, calibrationArea(calibrations)]
console.log(`written to ${writeResults('command', { quick, targets, areas })}`)
process.exitCode = targets.every(({ met }) => met) ? 0 : 1
