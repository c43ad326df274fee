// `npm run bench -- footprint`: the packages that an installation adds, and the processes that are left after
// a host was killed. Exits with 1 when a budget is missed.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { leftOver } from './footprint/left-over.mjs'
import { printTable, writeResults } from './report.mjs'
import { judged, verdictLine } from './verdict.mjs'

const root = join(import.meta.dirname, '..')
/** @type {{ packages: Record<string, { dev?: boolean, devOptional?: boolean, peer?: boolean, hasInstallScript?: boolean }> }} */
const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
// Packages for other systems are in the lock file but not on disk.
const installed = Object.entries(packages).filter(
  ([path, { dev, devOptional, peer }]) =>
    path !== '' && !dev && !devOptional && !peer && existsSync(join(root, path)),
)
const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript)
const rows = [
  { name: 'packages that installing Capstan brings along', count: installed.length },
  { name: 'of them with an install script', count: scripted.length },
]
const onLinux = process.platform === 'linux'
/** @type {readonly ('off' | 'auto')[]} */
const ways = onLinux ? ['off', 'auto'] : []
for (const sandbox of ways) {
  const { began, left } = await leftOver(sandbox)
  rows.push(
    { name: `processes of a session, sandbox ${sandbox}`, count: began },
    { name: `of them alive two seconds after SIGKILL of their host, sandbox ${sandbox}`, count: left },
  )
}
const title = 'Footprint'
const explanation = 'What is installed, and what is left.'
printTable(
  title,
  explanation,
  ['', 'count'],
  rows.map(({ name, count }) => [name, String(count)]),
)
const countOf = (/** @type {string} */ word) =>
  rows.filter(({ name }) => name.includes(word)).reduce((sum, { count }) => sum + count, 0)
const targets = [
  { name: 'packages installed', unit: 'packages', most: 25, found: installed.length },
  { name: 'packages with an install script', unit: 'packages', most: 0, found: scripted.length },
  ...(onLinux
    ? [
        {
          name: 'processes left two seconds after SIGKILL',
          unit: 'processes',
          most: 0,
          found: countOf('after SIGKILL'),
        },
      ]
    : []),
].map(judged)
console.log('')
for (const target of targets) console.log(verdictLine(target))
const area = { title, explanation, kind: 'counts', rows }
console.log(`written to ${writeResults('footprint', { targets, areas: [area] })}`)
process.exitCode = targets.every(({ met }) => met) ? 0 : 1
