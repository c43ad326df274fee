// Runs the tests in this process's coverage and prints one row per folder of src/. Lines that run only in a child
// process (the built command, killed hosts) are not counted: V8 reports the process it is asked in.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

const reports = '.build/coverage'

/** @param {string[]} names tests to run; without any, the unit and contract tiers */
export function measureCoverage(names) {
  rmSync(reports, { recursive: true, force: true })
  const folders = measuredFolders(names)
  const tests = names.length > 0 ? names : ['--project', 'unit', '--project', 'contract']
  const options = [
    '--coverage.enabled',
    '--coverage.provider=v8',
    '--coverage.reporter=json-summary',
    '--coverage.reporter=html',
    `--coverage.reportsDirectory=${reports}`,
    '--coverage.reportOnFailure',
    ...folders.map((folder) => `--coverage.include=src/${folder}/**/*.ts`),
    '--coverage.exclude=**/*.test.ts',
    '--coverage.exclude=**/*.test-d.ts',
  ]
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...tests, ...options]
  const { status } = spawnSync(process.execPath, vitest, {
    stdio: 'inherit',
    env: { ...process.env, MODULE_RUNNER: 'vite' },
  })
  const summary = join(reports, 'coverage-summary.json')
  if (!existsSync(summary)) {
    console.error('capstan: the test runner wrote no coverage report, so there is nothing to print')
    return 1
  }
  printTable(folders.map((folder) => rowOf(folder, JSON.parse(readFileSync(summary, 'utf8')))))
  console.log(`\nLine by line: ${reports}/index.html`)
  return status ?? 1
}

/** Only the folders whose own tests are named, or all of them. @param {string[]} names */
function measuredFolders(names) {
  const all = readdirSync('src', { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  const named = all.filter((folder) => names.some((name) => `${name}/`.startsWith(`src/${folder}/`)))
  return named.length > 0 ? named : all
}

/**
 * @typedef {{ lines: { total: number, covered: number } }} FileSummary
 * @typedef {{ folder: string, source: number, tests: number, total: number, covered: number }} Row
 */

/** @param {string} folder @param {Record<string, FileSummary>} summary @returns {Row} */
function rowOf(folder, summary) {
  const files = Object.entries(summary).filter(([path]) => folderOf(path) === folder)
  const sum = (/** @type {'total' | 'covered'} */ key) =>
    files.reduce((all, [, { lines }]) => all + lines[key], 0)
  return { folder, ...linesIn(folder), total: sum('total'), covered: sum('covered') }
}

/** @param {string} path */
function folderOf(path) {
  const [first, folder, ...rest] = relative(process.cwd(), path).split(sep)
  return first === 'src' && rest.length > 0 ? folder : undefined
}

/** @param {string} folder */
function linesIn(folder) {
  let source = 0
  let tests = 0
  for (const name of readdirSync(join('src', folder), { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue
    const lines = readFileSync(join('src', folder, name), 'utf8').split('\n').length - 1
    if (/\.test(-d)?\.ts$/.test(name)) tests += lines
    else source += lines
  }
  return { source, tests }
}

/** @param {Row[]} rows */
function printTable(rows) {
  const whole = rows.reduce(
    (all, row) => ({
      folder: 'all',
      source: all.source + row.source,
      tests: all.tests + row.tests,
      total: all.total + row.total,
      covered: all.covered + row.covered,
    }),
    { folder: 'all', source: 0, tests: 0, total: 0, covered: 0 },
  )
  const cells = [
    ['folder', 'source lines', 'test lines', 'tests/source', 'lines covered'],
    ...[...rows, ...(rows.length > 1 ? [whole] : [])].map(({ folder, source, tests, total, covered }) => [
      folder,
      String(source),
      String(tests),
      (source === 0 ? 0 : tests / source).toFixed(2),
      total === 0 ? 'no code' : `${((100 * covered) / total).toFixed(1)} %`,
    ]),
  ]
  const widths = cells[0]?.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0))) ?? []
  console.log()
  for (const row of cells)
    console.log(
      row.map((cell, at) => (at === 0 ? cell.padEnd : cell.padStart).call(cell, widths[at] ?? 0)).join('  '),
    )
}
