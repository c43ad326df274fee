#!/usr/bin/env node
// The repository's own commands, for a clone in any state: installs from the lock file when it is new or has changed, builds when
// sources have changed, and says so in one line. Needs nothing but Node and npm.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
process.chdir(root)

const [command = 'help', ...rest] = process.argv.slice(2)
const commands = { start, test, build: ensureBuilt, bench, format, fuzz, faults, help }
const chosen = Object.hasOwn(commands, command)
  ? commands[/** @type {keyof typeof commands} */ (command)]
  : help
process.exitCode = (await chosen(rest)) ?? 0

/** @param {string[]} args */
async function start(args) {
  await ensureBuilt()
  const command = join(root, 'dist/cli/main.js')
  // Without words it is the tour; with words it is the command, where npm was called.
  if (args.length === 0) return run(process.execPath, [command, 'tour'])
  return run(process.execPath, [command, ...args], process.env['INIT_CWD'] ?? root)
}

/** @param {string[]} args */
async function test(args) {
  await ensureBuilt()
  // With names of tests: only those. Without: everything that keeps the house.
  if (args.length > 0)
    return run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--typecheck', ...args])
  const { runChecks } = await import('./checks.mjs')
  return runChecks()
}

/** @param {string[]} args */
async function bench(args) {
  await ensureBuilt()
  return run(process.execPath, ['bench/run.mjs', ...args])
}

/** Random scripts in real bash, traced with strace, against the command analysis: many more than a test run has time for. @param {string[]} args */
async function fuzz([cases = '50000']) {
  ensureInstalled()
  process.env['FUZZ_CASES'] = cases
  return run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/security/shell/fuzz.test.ts'])
}

/** What is broken on purpose, more often than a test run has time for. @param {string[]} args */
async function faults([factor = '10', ...names]) {
  await ensureBuilt()
  process.env['FAULT_FACTOR'] = factor
  const wanted =
    names.length > 0 ? names : ['test/persistence', 'test/faults', 'src/store', 'src/program/machine/soak']
  return run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...wanted])
}

async function format() {
  ensureInstalled()
  return run(process.execPath, ['node_modules/@biomejs/biome/bin/biome', 'check', '--write', '.'])
}

async function help() {
  console.log(`npm start                 a tour: a session on a sample project, without a key
npm start -- ARGS …       the capstan command
npm test                  every check and test
npm test -- NAME …        only the tests whose files match
npm run build             compile src/ to dist/
npm run format            format and fix what can be fixed
npm run fuzz -- CASES      compare the command analysis with what real bash opens and runs (50,000 scripts when left out)
npm run faults -- FACTOR NAME …  processes killed, stores that fail, soaks: so many times the short form (10 when left out)
npm run bench -- AREA …   benchmarks (all areas when none is named; --quick for a rough look; check fails when a target is missed)`)
  return command === 'help' ? 0 : 2
}

function ensureInstalled() {
  const wanted = digest(readFileSync('package-lock.json'), readFileSync('package.json'))
  const stamp = 'node_modules/.capstan-installed'
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('capstan: installing dependencies from package-lock.json (once, or after it changed) …')
  const npm = process.env['npm_execpath']
  // Not `npm ci`: a lock file written on one platform may lack the optional binaries of another, and npm ci then refuses.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  const code = npm?.endsWith('.js') ? run(process.execPath, [npm, ...args]) : run('npm', args)
  if (code !== 0) process.exit(code)
  writeFileSync(stamp, wanted)
}

async function ensureBuilt() {
  ensureInstalled()
  const sources = [
    ...filesIn('src'),
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
    'package-lock.json',
    'scripts/bundle.mjs',
    'scripts/mcp-shims.mjs',
  ]
  const wanted = digest(...sources.map((file) => `${file} ${digest(readFileSync(file))}`))
  const stamp = '.build/built'
  if (existsSync(stamp) && existsSync('dist') && readFileSync(stamp, 'utf8') === wanted) return
  console.log('capstan: building dist/ (sources have changed) …')
  rmSync(stamp, { force: true })
  // Aside first: a build that fails, or another one beside it, leaves what is there as it is.
  const aside = `.build/work-${process.pid}`
  const { bundle } = await import('./bundle.mjs')
  try {
    const compiler = ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json']
    const places = ['--outDir', `${aside}/modules`, '--declarationDir', `${aside}/dist`]
    const code = run(process.execPath, [...compiler, ...places])
    if (code !== 0) process.exit(code)
    await bundle(`${aside}/modules`, `${aside}/dist`)
    for (const { from, to } of [
      { from: `${aside}/dist`, to: 'dist' },
      { from: `${aside}/modules`, to: '.build/modules' },
    ]) {
      rmSync(to, { recursive: true, force: true })
      renameSync(from, to)
    }
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  writeFileSync(stamp, wanted)
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name)
      return statSync(path).isDirectory() ? filesIn(path) : [path]
    })
}

/** @param {...(string | Buffer)} parts */
function digest(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** @param {string} file @param {string[]} args */
function run(file, args, cwd = root) {
  const { status, signal, error } = spawnSync(file, args, { stdio: 'inherit', cwd })
  if (error) console.error(`capstan: ${error.message}`)
  return status ?? (signal ? 130 : 1)
}
