// `npm run bench -- loop`: whole runs against the same by hand with `fetch`, and what sessions, requests and the import
// cost. About two minutes; a rough look with `--quick`. `--peers=ai,tanstack` adds other libraries to the rounds in the life of a process, which
// `npm run bench -- peers` has installed. Exits with 1 when a budget is missed.
import { importArea, readySession } from './import-cost.mjs'
import { measureDeltas } from './loop/deltas.mjs'
import { measureFirstRequest } from './loop/first-request.mjs'
import { measureHistory } from './loop/history.mjs'
import { measureLives } from './loop/lives.mjs'
import { measureRounds } from './loop/rounds.mjs'
import { measureHeap, measureSessions } from './loop/sessions.mjs'
import { openWorkplace } from './loop/workplace.mjs'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const peers = process.argv
  .find((arg) => arg.startsWith('--peers='))
  ?.slice('--peers='.length)
  .split(',')
const times = (/** @type {number} */ full) => (quick ? Math.max(3, Math.round(full / 5)) : full)
const calibrations = [calibrate()]
const imports = importArea(['capstan'], { repetitions: times(15) })
const workplace = await openWorkplace()
try {
  const request = await measureFirstRequest(workplace)
  const rounds = await steadily(measureRounds(workplace, { rounds: times(25), warmUps: quick ? 10 : 40 }))
  const lives = await steadily(measureLives(workplace, { quick, peers }))
  const deltas = await steadily(measureDeltas(workplace, times(15)))
  const history = await steadily(measureHistory(workplace, times(15)))
  const sessions = await steadily(
    measureSessions(workplace, { rounds: times(3), count: quick ? 300 : 1_000 }),
  )
  const heap = await steadily(measureHeap(workplace, quick ? 200 : 1000))
  const calibration = calibrationArea(calibrations)

  const costOf = (/** @type {string} */ name) =>
    /** @type {{ cpu: import('./measure.mjs').Spread, rss: import('./measure.mjs').Spread } | undefined} */ (
      imports.rows.find((row) => row['name'] === name)
    )
  const [imported, ready] = [costOf("import 'capstan'"), costOf(readySession)]
  const targets = [
    { name: 'one round, rules, hook, events', unit: 'times by hand', most: 1.5, found: rounds.ratio },
    {
      name: 'one round, everything on, record in files',
      unit: 'times by hand',
      most: 1.5,
      found: rounds.kept,
    },
    ...lives.targets,
    { name: '20,000 deltas to a reader', unit: 'times by hand', most: 3, found: deltas.ratio },
    { name: 'a call on 10,000 messages', unit: 'times by hand', most: 2.5, found: history.ratio },
    { name: 'many sessions at once', unit: 'times by hand', most: 1.8, found: sessions.ratio },
    { name: 'many recorded sessions at once', unit: 'times by hand', most: 2, found: sessions.recorded },
    { name: 'heap of an idle session', unit: 'KB', most: 15, found: heap.idle },
    { name: 'heap of a used session', unit: 'KB', most: 15, found: heap.used },
    { name: 'heap of a used session, recorded', unit: 'KB', most: 15, found: heap.recorded },
    { name: 'first request', unit: 'bytes', most: 9 * 1024, found: request.bytes },
    { name: "import 'capstan': CPU", unit: 'ms', most: 60, found: imported?.cpu.median ?? Number.NaN },
    { name: readySession, unit: 'ms', most: 80, found: ready?.cpu.median ?? Number.NaN },
    { name: "import 'capstan': memory", unit: 'MB', most: 12, found: imported?.rss.median ?? Number.NaN },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  console.log('')
  for (const { name, unit, most, found, met } of targets) {
    const shown = unit === 'bytes' ? String(found) : found.toFixed(2)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${shown} ${unit}, target at most ${most}`)
  }
  const areas = [imports, request, rounds, lives, deltas, history, sessions, heap].map((one) =>
    'area' in one ? one.area : one,
  )
  console.log(`written to ${writeResults('loop', { quick, targets, areas: [...areas, calibration] })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  await workplace.leave()
}

/** Calibrates after each area. @template Result @param {Promise<Result>} area */
async function steadily(area) {
  const result = await area
  calibrations.push(calibrate())
  return result
}
