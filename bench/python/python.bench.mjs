// `npm run bench -- python`: from the start of a process to the first answer of a session, in Python and in Node. Both
// ask the same model over HTTP. Exits with 1 when the budget is missed.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { pathToFileURL } from 'node:url'
import { startModel } from '../command/starts.mjs'
import { calibrate, spread } from '../measure.mjs'
import { calibrationArea, figure, printTable, range, writeResults } from '../report.mjs'
import { judged, verdictLine } from '../verdict.mjs'

const quick = process.argv.includes('--quick')
const root = join(import.meta.dirname, '../..')
const python = executable()
const place = mkdtempSync(join(tmpdir(), 'capstan-bench-python-'))
const model = await startModel()
const calibrations = [calibrate()]
const acl = `default_model = "bench/m"\nproviders "bench" { api_key = "x"  base_url = "${model.url}"  models "m" { } }`
const work = join(place, 'work')
mkdirSync(work)

const programs = [
  {
    name: 'Node SDK',
    command: process.execPath,
    args: [
      '--input-type=module',
      '-e',
      `import { Agent } from ${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}
const agent = await Agent.create(${JSON.stringify(acl)})
console.log((await agent.session('.').send('x')).text)
await agent.close()`,
    ],
  },
  {
    name: 'Python package',
    command: python,
    args: [
      '-c',
      `from capstan import Agent
agent = Agent.create(${JSON.stringify(acl)})
print(agent.session(".").send("x").text, flush=True)
agent.close()`,
    ],
  },
]

/** @type {number[][]} */
const walls = programs.map(() => [])
const turns = quick ? 9 : 41
// In the first turns nothing is compiled yet.
for (let turn = -2; turn < turns; turn++)
  for (const [at, program] of turn % 2 === 0 ? programs.entries() : [...programs.entries()].reverse()) {
    const wall = await untilAnswer(program)
    if (turn >= 0) walls[at]?.push(wall)
  }
calibrations.push(calibrate())
model.server.close()
rmSync(place, { recursive: true, force: true })

const [node = []] = walls
const rows = programs.map(({ name }, at) => {
  const own = walls[at] ?? []
  return {
    name,
    ratio: spread(own.map((wall, turn) => wall / (node[turn] ?? Number.NaN))),
    wall: spread(own),
    best: Math.min(...own),
  }
})
const title = 'Python package'
const explanation = `From the start of a fresh process to the first answer of a session, with ${version()}.`
printTable(
  title,
  explanation,
  ['', 'ratio', 'p10–p90', 'ms', 'best ms'],
  rows.map(({ name, ratio, wall, best }) => [
    name,
    figure(ratio.median),
    range(ratio),
    figure(wall.median),
    figure(best),
  ]),
)
const targets = [
  {
    name: 'start to first answer',
    unit: 'times the SDK in Node',
    most: 1.3,
    found: rows[1]?.ratio.median ?? Number.NaN,
  },
].map(judged)
console.log('')
for (const target of targets) console.log(verdictLine(target))
const areas = [{ title, explanation, rows }, calibrationArea(calibrations)]
console.log(`written to ${writeResults('python', { quick, targets, areas })}`)
process.exitCode = targets.every(({ met }) => met) ? 0 : 1

/** @param {{ command: string, args: readonly string[] }} program @returns {Promise<number>} */
function untilAnswer({ command, args }) {
  return new Promise((resolve, reject) => {
    const begin = performance.now()
    const child = spawn(command, args, {
      cwd: work,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: place,
        PYTHONPATH: join(root, 'clients/python/src'),
        CAPSTAN_COMMAND: `${process.execPath} ${join(root, 'dist/cli/main.js')}`,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [wall, said] = [Number.NaN, '']
    child.stdout.once('data', () => {
      wall = performance.now() - begin
    })
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    child.on('close', (code) => {
      if (code === 0 && wall > 0) resolve(wall)
      else reject(new Error(`${command} ended with ${code}: ${said}`))
    })
  })
}

/** The interpreter itself: a launcher in front of it would be measured too. */
function executable() {
  const probe = ['-c', 'import sys; print(sys.executable)']
  return execFileSync('python3', probe, { encoding: 'utf8' }).trim()
}

function version() {
  return execFileSync(python, ['--version'], { encoding: 'utf8' }).trim()
}
