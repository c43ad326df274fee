// Every check of the house, one after the other, each with its time; closes with `N passed, M failed`.
import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'

const report = '.build/vitest.json'
const checks = [
  {
    name: 'format and lint',
    args: ['node_modules/@biomejs/biome/bin/biome', 'ci', '--error-on-warnings', '.'],
  },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'] },
  {
    name: 'types without Node (tool, authority)',
    args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.neutral.json'],
  },
]

export function runChecks() {
  let passed = 0
  let failed = 0
  for (const { name, args } of checks) {
    const start = performance.now()
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    console.log(`${status === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`)
    if (status === 0) passed++
    else {
      failed++
      console.log(stdout + stderr)
    }
  }

  // The tests of the sandbox need one; where none can be had they say so by name.
  spawnSync(process.execPath, ['scripts/ensure-bubblewrap.mjs'], { stdio: 'inherit' })
  rmSync(report, { force: true })
  const vitest = [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--typecheck',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]
  const { status } = spawnSync(process.execPath, vitest, { stdio: 'inherit' })
  const tests = readReport()
  passed += tests.passed
  // A runner that fails without a failed test (a file that does not load, an unhandled rejection) has failed all the same.
  failed += tests.failed > 0 || status === 0 ? tests.failed : 1
  console.log(`${passed} passed, ${failed} failed${tests.skipped > 0 ? `, ${tests.skipped} skipped` : ''}`)
  return failed === 0 ? 0 : 1
}

function readReport() {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      readFileSync(report, 'utf8'),
    )
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests }
  } catch (error) {
    console.log(`The test runner left no report: ${error instanceof Error ? error.message : error}`)
    return { passed: 0, failed: 1, skipped: 0 }
  }
}
