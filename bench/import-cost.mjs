// Measures what imports and a ready session cost a new program: fresh Node processes, in turn.
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { spread } from './measure.mjs'
import { figure, printTable, range } from './report.mjs'

const root = join(import.meta.dirname, '..')
const bare = 'node -e 0'
// Uses only what Node has already loaded, so that reporting costs nothing.
const tell = `
  const { userCPUTime, systemCPUTime } = process.resourceUsage()
  const rss = process.memoryUsage.rss() / 2 ** 20
  fs.writeSync(1, JSON.stringify({ cpu: (userCPUTime + systemCPUTime) / 1000, rss }))
  process.exit()`

/** @typedef {{ wall: number, cpu: number, rss: number }} Cost */

/** The row of a program that imports the package, creates an agent and opens a session. */
export const readySession = 'to a ready session'
// No provider answers there: a session asks none before its first prompt.
const openSession = `
  const agent = await Agent.create(
    { defaultModel: 'host/m', providers: { host: { baseUrl: 'http://127.0.0.1:9/v1', models: { m: {} } } } },
    { userDir: '${join(tmpdir(), 'capstan-bench-no-such-user')}' },
  )
  agent.session('${tmpdir()}');`

/**
 * Each entry point over bare Node, and over an ES module that imports nothing of ours: Node's own loader is not ours to
 * answer for. The last row is a session that is ready for its first prompt.
 * @param {readonly string[]} entries
 * @param {{ repetitions: number }} options
 * @returns {import('./report.mjs').Area}
 */
export function importArea(entries, { repetitions }) {
  const programs = [
    { name: bare, args: ['-e', `const fs = require('node:fs'); ${tell}`] },
    { name: 'an ES module without imports', args: moduleWith('') },
    ...entries.map((entry) => ({ name: `import '${entry}'`, args: moduleWith(`import '${entry}';`) })),
    { name: readySession, args: moduleWith(`import { Agent } from 'capstan'; ${openSession}`) },
  ]
  for (const { args } of programs) start(args)
  /** @type {Cost[][]} */
  const costs = programs.map(() => [])
  for (let round = 0; round < repetitions; round++) {
    for (const [at, { args }] of programs.entries()) costs[at]?.push(start(args))
  }

  const base = costs[0] ?? []
  const over = (/** @type {Cost[]} */ own, /** @type {keyof Cost} */ what) =>
    spread(own.map((cost, round) => cost[what] - (base[round]?.[what] ?? Number.NaN)))
  const rows = programs.map(({ name }, at) => {
    const own = costs[at] ?? []
    const ratio = spread(own.map(({ cpu }, round) => cpu / (base[round]?.cpu ?? Number.NaN)))
    return { name, ratio, cpu: over(own, 'cpu'), wall: over(own, 'wall'), rss: over(own, 'rss') }
  })
  const title = 'Import'
  const [cpu, wall, rss] = ['cpu', 'wall', 'rss'].map((what) =>
    figure(spread(base.map((cost) => cost[/** @type {keyof Cost} */ (what)])).median),
  )
  const itself = `${cpu} ms CPU, ${wall} ms, ${rss} MB`
  const explanation = `What a fresh process pays over \`${bare}\` (${itself}), ${repetitions} starts each; ratio: CPU.`
  printTable(
    title,
    explanation,
    ['', 'ratio', '+ms CPU', 'p10–p90', '+ms wall', 'p10–p90', '+MB', 'p10–p90'],
    rows.map(({ name, ratio, ...over }) => [
      name,
      figure(ratio.median),
      ...[over.cpu, over.wall, over.rss].flatMap((one) =>
        name === bare ? ['', ''] : [figure(one.median), range(one)],
      ),
    ]),
  )
  return { title, explanation, rows }
}

/** @param {string} imports */
function moduleWith(imports) {
  return ['--input-type=module', '-e', `${imports} import fs from 'node:fs'; ${tell}`]
}

// Certificates that the environment makes every Node process read would hide the measured difference.
const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }

/** @param {string[]} args @returns {Cost} */
function start(args) {
  const begin = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env })
  const wall = performance.now() - begin
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed:\n${stderr}`)
  return { wall, ...JSON.parse(stdout) }
}
