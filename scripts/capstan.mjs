#!/usr/bin/env node
// The repository's own commands, for a clone in any state: each installs and builds what it needs. Needs nothing but
// Node and npm.
import { join } from 'node:path'
import { checkTypes, ensureBuilt, ensureInstalled, filesIn, read, root, run } from './build.mjs'

process.chdir(root)
const vitest = 'node_modules/vitest/vitest.mjs'

const [command = 'help', ...rest] = process.argv.slice(2)
const commands = {
  start,
  test,
  'test:unit': testUnit,
  'test:matrix': testMatrix,
  'test:times': testTimes,
  build,
  bench,
  format,
  fuzz,
  faults,
  soak,
  coverage,
  docs,
  release,
  help,
}
const chosen = Object.hasOwn(commands, command)
  ? commands[/** @type {keyof typeof commands} */ (command)]
  : help
process.exitCode = (await chosen(rest)) ?? 0

/** @param {string[]} args */
async function start(args) {
  await ensureBuilt('command')
  const command = join(root, 'dist/cli/main.js')
  // Without arguments it runs the tour; with arguments, the command in the directory where npm was called.
  if (args.length === 0) return run(process.execPath, [command, 'tour'])
  return run(process.execPath, [command, ...args], process.env['INIT_CWD'] ?? root)
}

/** Runs everything, or the tests whose files match. The tests that need a build make it (test/support/global-setup.mjs). @param {string[]} args */
async function test(args) {
  ensureInstalled()
  if (args.length > 0) return runTests(args)
  const { runChecks } = await import('./checks.mjs')
  return runChecks()
}

/** Runs the tests of `src/`, without a build. */
async function testUnit() {
  ensureInstalled()
  return runTests(['--project', 'unit'])
}

/** @param {string[]} args of vitest */
async function runTests(args) {
  const { withMemoryDirectory } = await import('./memory-directory.mjs')
  return withMemoryDirectory((words, env) => {
    const [command = '', ...rest] = [...words, process.execPath, vitest, 'run', ...args]
    return run(command, rest, root, env)
  })
}

async function build() {
  // A clone that npm prepares for another project was checked before it was pushed.
  if (process.env['npm_lifecycle_event'] !== 'prepare') checkTypes()
  await ensureBuilt('package')
}

/** @param {string[]} args */
async function bench(args) {
  await ensureBuilt()
  return run(process.execPath, ['bench/run.mjs', ...args])
}

/** Random scripts in real bash, traced with strace, against the command analysis; and every property test: more cases than `npm test` has time for. @param {string[]} args */
async function fuzz([cases = '50000']) {
  ensureInstalled()
  process.env['FUZZ_CASES'] = cases
  process.env['PROPERTY_RUNS'] = 'all'
  const tests = [...filesIn('src'), ...filesIn('test')].filter((file) => file.endsWith('.test.ts'))
  const withProperties = tests.filter((file) => read(file).includes('propertyRuns('))
  return run(process.execPath, [vitest, 'run', 'test/security/shell', ...withProperties])
}

/** Runs the fault tests with more repetitions than a test run has time for. @param {string[]} args */
async function faults([factor = '10', ...names]) {
  await ensureBuilt()
  process.env['FAULT_FACTOR'] = factor
  const wanted =
    names.length > 0
      ? names
      : [
          ...['test/persistence', 'test/postgres', 'test/faults', 'src/store', 'src/program/machine/soak'],
          'src/agent/config/acl',
          ...['test/security/files/race', 'test/security/net/search-race', 'test/security/sandbox/abort'],
          ...['test/security/git', 'test/toolbox/big-tree', 'test/house/package'],
        ]
  return run(process.execPath, [vitest, 'run', ...wanted])
}

/** Runs a session for many rounds, with everything that a long-running session uses. @param {string[]} args */
async function soak(args) {
  await ensureBuilt()
  const script = await import('./soak.mjs')
  return script.soak(args)
}

async function format() {
  ensureInstalled()
  return run(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'check', '--write', '.'])
}

/** The tests with the lines of src/ that they run, as a table of folders. @param {string[]} args */
async function coverage(args) {
  ensureInstalled()
  const { measureCoverage } = await import('./coverage.mjs')
  return measureCoverage(args)
}

/** Builds the documentation site to .build/site; fails on broken links. */
async function docs() {
  const { buildSite } = await import('./site.mjs')
  return buildSite()
}

/** The unit, contract and ecosystem tests on other versions of Node. @param {string[]} args */
async function testMatrix(args) {
  ensureInstalled()
  const { runMatrix } = await import('./test-matrix.mjs')
  return runMatrix(args)
}

/** The processor time of each test file, with the processes that it starts. @param {string[]} args */
async function testTimes(args) {
  await ensureBuilt()
  const { measureTimes } = await import('./test-times.mjs')
  return measureTimes(args)
}

/** Prepares, shows or publishes a version. @param {string[]} args */
async function release(args) {
  const { runRelease } = await import('./release.mjs')
  if (!args.includes('version')) await build()
  return runRelease(args)
}

async function help() {
  console.log(`npm start                 a tour: a session on a sample project, without a key
npm start -- ARGS …       the capstan command
npm test                  every check and test
npm test -- NAME …        only the tests whose files match (those of src/ need no build)
npm run test:unit         the tests of src/
npm run build             compile src/ to dist/
npm run format            format and fix what can be fixed
npm run fuzz -- CASES      compare the command analysis with what real bash opens and runs (50,000 scripts when left out)
npm run faults -- FACTOR NAME …  processes killed, stores that fail, soaks: so many times the short form (10 when left out)
npm run soak -- ROUNDS     a served session for so many rounds (2,000 when left out): memory, log, cost and spans
npm run coverage -- NAME … the lines of src/ that the tests run, by folder (only the tests named, when any are)
npm run test:matrix -- VERSION …  the unit, contract and ecosystem tests on Node 22, 24 and 26 (only the versions named, when any are)
npm run test:times -- NAME … the processor time of each test file, with the processes that it starts
npm run docs              build the documentation site to .build/site
npm run release -- --dry-run  what would be published; \`version\` writes the next version from .changeset/
npm run bench -- AREA …   benchmarks (all areas when none is named; --quick for a rough look; check fails when a target is missed)`)
  return command === 'help' ? 0 : 2
}
