// `npm test`: format, lint and types, then the three tiers of tests. Ends with the time of each and `N passed, M
// failed`.
import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { ensureBuiltInClone, rememberChecked, sourceDigest, tsc, tscEnvironment } from './build.mjs'
import { ensureBubblewrap } from './ensure-bubblewrap.mjs'
import { withMemoryDirectory } from './memory-directory.mjs'
import { installUserPackages } from './user-packages.mjs'

const vitest = 'node_modules/vitest/vitest.mjs'
const report = '.build/tiers.json'
/** Needs no build. */
const format = {
  name: 'format and lint',
  args: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', '.'],
}
/** They read the declarations that the build makes. */
const typeChecks = [
  // Type tests (`*.test-d.ts`) are part of this one. What has not changed since the last check is not checked again.
  {
    name: 'types',
    // In one thread: several check some files twice, and the other cores run tests.
    args: [
      ...[tsc, '-p', 'tsconfig.json', '--singleThreaded'],
      ...['--incremental', '--tsBuildInfoFile', '.build/types.tsbuildinfo'],
    ],
  },
  { name: 'types without Node (tool, authority)', args: [tsc, '-p', 'tsconfig.neutral.json'] },
]

export async function runChecks() {
  const started = performance.now()
  // Next to the build, which leaves a core idle for a third of its time: the installations mostly wait for the network
  // and the disk. The sandbox tests need bubblewrap. Where it cannot be installed, they report that they did not run.
  const formatted = runCheck(format)
  await Promise.all([installUserPackages(), ensureBubblewrap(), ensureBuiltInClone()])
  console.log(`build ${seconds(performance.now() - started)}`)
  let passed = 0
  let failed = 0
  // They run at the same time as the first tests, and are reported with the rest at the end.
  const checked = Promise.all([formatted, ...typeChecks.map(runCheck)])
  const sources = sourceDigest()
  checked.then((results) => {
    if (results.every(({ code }) => code === 0)) rememberChecked(sources)
  })

  rmSync(report, { force: true })
  const status = await withMemoryDirectory(runTests)
  for (const { name, ms, code, output } of await checked) {
    console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds(ms)})`)
    if (code === 0) passed++
    else {
      failed++
      console.log(output)
    }
  }
  const tiers = readReport()
  for (const tier of tiers)
    console.log(
      `${tier.name.padEnd(8)} ${seconds(tier.ms).padStart(8)}  ${tier.passed} passed, ${tier.failed} failed`,
    )
  const failedTests = tiers.reduce((sum, tier) => sum + tier.failed, 0)
  // A runner that fails without a failed test (a file that does not load, an unhandled rejection) has failed all the
  // same.
  failed += failedTests > 0 || status === 0 ? failedTests : 1
  passed += tiers.reduce((sum, tier) => sum + tier.passed, 0)
  const skipped = tiers.reduce((sum, tier) => sum + tier.skipped, 0)
  console.log(`all ${seconds(performance.now() - started)}`)
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  return failed === 0 ? 0 : 1
}

/**
 * @param {readonly string[]} words that begin the command @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number | null>}
 */
function runTests(words, env) {
  const reporters = ['--reporter=default', '--reporter=./scripts/tier-reporter.mjs']
  const [command = '', ...args] = [...words, process.execPath, vitest, 'run', ...reporters]
  const tests = spawn(command, args, { stdio: 'inherit', env: { ...env, TIERS: 'together' } })
  return new Promise((resolve) => tests.on('close', resolve))
}

/**
 * @param {{ name: string, args: string[] }} check
 * @returns {Promise<{ name: string, ms: number, code: number | null, output: string }>}
 */
function runCheck({ name, args }) {
  const started = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: tscEnvironment() })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  return new Promise((resolve) =>
    child.on('close', (code) => resolve({ name, ms: performance.now() - started, code, output })),
  )
}

/** @returns {{ name: string, ms: number, passed: number, failed: number, skipped: number }[]} */
function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch (error) {
    console.log(`The test runner left no report: ${error instanceof Error ? error.message : error}`)
    return [{ name: 'tests', ms: 0, passed: 0, failed: 1, skipped: 0 }]
  }
}

/** @param {number} ms */
function seconds(ms) {
  return `${(ms / 1000).toFixed(1)} s`
}
