// Runs tests and prints the processor time of each test file, with the processes that it starts. The first file of a
// worker also pays for the sources that it imports.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { withMemoryDirectory } from './memory-directory.mjs'

const times = '.build/times.jsonl'
const shown = 50

/** @typedef {{ file: string, own: number, children: number, wall: number }} Times */

/** @param {string[]} args names of tests, or options of vitest; without any, all tests run */
export async function measureTimes(args) {
  if (process.platform !== 'linux') {
    console.error('capstan: the processor time of child processes is only known on Linux')
    return 1
  }
  mkdirSync('.build', { recursive: true })
  rmSync(times, { force: true })
  const vitest = [process.execPath, 'node_modules/vitest/vitest.mjs', 'run', ...args]
  const { status } = await withMemoryDirectory((words, env) => {
    const [command = '', ...rest] = [...words, ...vitest]
    return spawnSync(command, rest, { stdio: 'inherit', env: { ...env, TEST_TIMES: times } })
  })
  if (!existsSync(times)) return status ?? 1
  /** @type {Times[]} */
  const files = readFileSync(times, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  printTable('folders', foldersOf(files))
  printTable(
    files.length > shown ? `the ${shown} files that take most` : 'files',
    files.sort(byTime).slice(0, shown),
  )
  printTable('all', [sumOf('all', files)])
  return status ?? 1
}

/** @param {Times[]} files */
function foldersOf(files) {
  const folder = (/** @type {Times} */ { file }) => file.split('/').slice(0, 2).join('/')
  return [...new Set(files.map(folder))]
    .map((name) =>
      sumOf(
        name,
        files.filter((each) => folder(each) === name),
      ),
    )
    .sort(byTime)
}

/** @param {string} file @param {Times[]} rows @returns {Times} */
function sumOf(file, rows) {
  const sum = (/** @type {'own' | 'children' | 'wall'} */ key) => rows.reduce((all, row) => all + row[key], 0)
  return { file, own: sum('own'), children: sum('children'), wall: sum('wall') }
}

/** @param {Times} a @param {Times} b */
function byTime(a, b) {
  return b.own + b.children - a.own - a.children
}

/** @param {string} title @param {Times[]} rows */
function printTable(title, rows) {
  console.log(
    `\n${['processor s', 'own', 'children', 'wall'].map((head) => head.padStart(11)).join(' ')}  ${title}`,
  )
  for (const { file, own, children, wall } of rows)
    console.log(
      `${[own + children, own, children, wall].map((value) => value.toFixed(2).padStart(11)).join(' ')}  ${file}`,
    )
}
