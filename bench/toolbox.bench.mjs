// `npm run bench -- toolbox`: the built-in tools compared with what they are built on. Exits with 1 when a budget is missed.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openWorkspace } from 'capstan/workspace'
import { calibrate } from './measure.mjs'
import { calibrationArea, writeResults } from './report.mjs'
import { measureChanges } from './toolbox/changes.mjs'
import { measureReading } from './toolbox/reading.mjs'
import { measureSearch } from './toolbox/search.mjs'
import { makeTree } from './toolbox/tree.mjs'

const quick = process.argv.includes('--quick')
const place = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-bench-')))
const trees = join(place, 'tree')
const files = join(place, 'files')
mkdirSync(trees)
mkdirSync(files)
const open = (/** @type {string} */ root) =>
  openWorkspace({
    root,
    sandbox: 'off',
    scratchDir: join(place, 'scratch'),
    ledgerDir: join(place, 'ledger'),
  })
const workspaces = [open(trees), open(files)]
// Every call is allowed: the area "authority" measures the cost of judging.
const everything = {
  path: () => undefined,
  host: () => undefined,
  command: () => undefined,
  grantsCommand: () => true,
}
const runtimes = workspaces.map((workspace) => workspace.runtimeFor(everything, new AbortController().signal))
const calibrations = [calibrate()]
try {
  const [tree = {}, plain = {}] = runtimes
  makeTree(trees, 50_000)
  const search = await measureSearch(trees, tree, quick ? 1 : 8)
  calibrations.push(calibrate())
  const changes = await measureChanges(files, plain, quick ? 0.3 : 3)
  const reading = await measureReading(files, plain, quick ? 5 : 30)
  calibrations.push(calibrate())

  const targets = [
    ...search.targets,
    { name: 'read in the middle of 100 MB: memory', unit: 'MB', most: 32, found: reading.grown },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  for (const { name, unit, most, found, met } of targets) {
    console.log(
      `${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(1)} ${unit}, target at most ${most.toFixed(1)}`,
    )
  }
  const areas = [...search.areas, changes, reading.area, calibrationArea(calibrations)]
  console.log(`written to ${writeResults('toolbox', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  await Promise.all(workspaces.map((workspace) => workspace.close()))
  rmSync(place, { recursive: true, force: true })
}
