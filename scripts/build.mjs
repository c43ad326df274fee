// Installs the dependencies and builds `dist/` when their inputs have changed. Needs nothing but Node and
// npm.
//
// There are two builds. `command` is what `npm start` needs: the bundled command, without the library and its
// declarations. `package` is everything that is published. A package build also serves where a command build is enough.
// Neither checks types, which takes longer than the rest: `checkTypes` does, for packing and publishing; `npm test`
// checks them with the tests' own.
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isInstalled } from './installed-lock.mjs'
import { copyLock } from './lock-addresses.mjs'
import { npmCommand, npmEnvironment } from './nested-npm.mjs'

export const root = join(dirname(fileURLToPath(import.meta.url)), '..')
export const tsc = 'node_modules/typescript/bin/tsc'

/** Installs from the lock file when the lock file is new or has changed. Exits when the installation fails. */
export function ensureInstalled() {
  // npm has just installed what the lock file lists.
  if (process.env['npm_lifecycle_event'] === 'prepare') return
  const lock = read('package-lock.json')
  const wanted = digest(lock)
  const stamp = join(root, 'node_modules/.capstan-installed')
  if (isStamped(stamp, wanted)) return
  // `npm ci` in this directory has done the same.
  const record = join(root, 'node_modules/.package-lock.json')
  if (
    existsSync(record) &&
    isInstalled(JSON.parse(lock.toString()), JSON.parse(readFileSync(record, 'utf8')))
  ) {
    writeFileSync(stamp, wanted)
    return
  }
  console.log('capstan: installing dependencies from package-lock.json …')
  // Install scripts would build the package; the caller decides which build it needs.
  const [command = 'npm', ...args] = npmCommand([
    ...['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
  ])
  if (!installAside(command, args)) {
    console.log('capstan: installing again, and asking the registry for the address of each package …')
    const code = run(command, args, root, npmEnvironment())
    if (code !== 0) process.exit(code)
  }
  writeFileSync(stamp, wanted)
}

/** Installs with a lock file that has addresses, in another directory, and moves the packages here. @param {string} command @param {string[]} args */
function installAside(command, args) {
  const aside = join(root, `.build/install-${process.pid}`)
  try {
    copyLock(root, aside)
    if (run(command, args, aside, npmEnvironment()) !== 0) return false
    rmSync(join(root, 'node_modules'), { recursive: true, force: true })
    renameSync(join(aside, 'node_modules'), join(root, 'node_modules'))
    return true
  } catch (error) {
    console.log(`capstan: ${error instanceof Error ? error.message : error}`)
    return false
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/**
 * Builds when a source has changed since the last build. Exits when the build fails, and then leaves the last build as
 * it is.
 * @param {'command' | 'package'} what
 */
export async function ensureBuilt(what = 'package') {
  ensureInstalled()
  const wanted = sourceDigest()
  const stamps = { command: join(root, '.build/built-command'), package: join(root, '.build/built') }
  if (isStamped(stamps.package, wanted)) return
  if (what === 'command' && isStamped(stamps.command, wanted)) return
  const isFirst = !existsSync(stamps.command) && !existsSync(stamps.package)
  console.log(`capstan: building (${isFirst ? 'first run' : 'sources have changed'}) …`)
  for (const stamp of Object.values(stamps)) rmSync(stamp, { force: true })
  mkdirSync(join(root, '.build'), { recursive: true })
  // Builds into a directory of its own and swaps: a build that fails, or a second one at the same time, changes
  // nothing.
  const aside = join(root, `.build/work-${process.pid}`)
  const { bundleCommand, bundlePackage } = await import('./bundle.mjs')
  try {
    const modules = `${aside}/modules`
    const dist = `${aside}/dist`
    // In one thread: there is nothing to check, and several would work out some types twice.
    if (what === 'package')
      compile(['--singleThreaded', '--noCheck', '--outDir', modules, '--declarationDir', dist])
    else await removeTypes(modules)
    await (what === 'package' ? bundlePackage : bundleCommand)(modules, dist)
    // A command build leaves the library of an earlier build where it is: programs may be using it.
    if (what === 'package') swap(dist, join(root, 'dist'))
    else for (const part of ['cli', 'inspector']) swap(join(dist, part), join(root, 'dist', part))
    swap(modules, join(root, '.build/modules'))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  writeFileSync(stamps[what], wanted)
}

/**
 * Builds the package as npm does for a project that depends on the repository: `prepare` builds in a clone. The result
 * is used here too, so that a test of the clone needs no second build. Exits when the build fails.
 */
export async function ensureBuiltInClone() {
  ensureInstalled()
  const wanted = sourceDigest()
  const stamp = join(root, '.build/built')
  if (isStamped(stamp, wanted)) return
  // Removed last: ext4 without a journal searches long for inodes that were not freed just before.
  const replaced = `${buildClone}-replaced`
  rmSync(replaced, { recursive: true, force: true })
  if (existsSync(buildClone)) renameSync(buildClone, replaced)
  if (!copyRepository(buildClone, isForBuild)) return ensureBuilt('package')
  rmSync(stamp, { force: true })
  if (!(await prepareClone(buildClone))) process.exit(1)
  if (!isStamped(join(buildClone, '.build/built'), wanted)) return ensureBuilt('package')
  const aside = join(root, `.build/work-${process.pid}`)
  // A test compares the files of the clone with the package.
  cpSync(join(buildClone, 'dist'), aside, { recursive: true })
  swap(aside, join(root, 'dist'))
  swap(join(buildClone, '.build/modules'), join(root, '.build/modules'))
  rmSync(replaced, { recursive: true, force: true })
  writeFileSync(stamp, wanted)
}

/** Whether a build can need a file of the repository: it needs no tests and no benchmarks, half of the files. @param {string} file */
function isForBuild(file) {
  return !/^(?:test|bench|examples|clients|site|\.changeset)\/|\.test(?:-d)?\.ts$/.test(file)
}

/** The clone of the last such build. */
export const buildClone = join(root, '.build/clone')

/** Whether that clone was built from the sources as they are now. */
export function isCloneCurrent() {
  return isStamped(join(buildClone, '.build/built'), sourceDigest())
}

/**
 * Copies the files that git would clone, and those that could be added. Returns false where there is no git.
 * @param {string} directory @param {(file: string) => boolean} [isWanted]
 */
export function copyRepository(directory, isWanted = () => true) {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (status !== 0) return false
  for (const file of stdout.split('\0')) {
    if (file === '' || !isWanted(file) || !existsSync(join(root, file))) continue
    mkdirSync(dirname(join(directory, file)), { recursive: true })
    copyFileSync(join(root, file), join(directory, file))
  }
  return true
}

/** Does what npm does with the clone of a git dependency, with the dependencies that are installed here. Returns whether it worked. @param {string} clone @returns {Promise<boolean>} */
export function prepareClone(clone) {
  symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction')
  const env = { ...process.env, INIT_CWD: dirname(root), npm_lifecycle_event: 'prepare' }
  // The caller does more at the same time.
  const child = spawn(process.execPath, ['scripts/prepare.mjs'], { cwd: clone, stdio: 'inherit', env })
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', (code) => resolve(code === 0)),
  )
}

/** Checks the types of the sources when they have changed since the last check. Exits when there are type errors. */
export function checkTypes() {
  ensureInstalled()
  const wanted = sourceDigest()
  if (isStamped(checked, wanted)) return
  compile(['--noEmit'])
  rememberChecked(wanted)
}

const checked = join(root, '.build/checked')

/** Records that the types of these sources were checked, alone or with others. @param {string} sources their digest */
export function rememberChecked(sources) {
  mkdirSync(dirname(checked), { recursive: true })
  writeFileSync(checked, sources)
}

/** Without garbage collection, the compiler takes a fifth less processor time and 14 % more memory. */
export function tscEnvironment() {
  return { ...process.env, GOGC: 'off' }
}

/** Exits when the compiler fails. @param {string[]} options */
function compile(options) {
  const code = run(process.execPath, [tsc, '-p', 'tsconfig.build.json', ...options], root, tscEnvironment())
  if (code !== 0) process.exit(code)
}

/**
 * What the compiler does with a source, apart from declarations, in a fifth of the time: types are only erased
 * (`erasableSyntaxOnly`, `verbatimModuleSyntax`).
 * @param {string} modules
 */
async function removeTypes(modules) {
  const { transformSync } = await import('rolldown/utils')
  for (const file of filesIn('src').filter((name) => /(?<!\.d|\.test|\.test-d)\.ts$/.test(name))) {
    const options = { target: 'es2023', typescript: { onlyRemoveTypeImports: true } }
    const { code, errors } = transformSync(file, read(file).toString(), options)
    if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join(', ')}`)
    const target = join(modules, relative('src', file).replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, code)
  }
}

/** @param {string} from @param {string} to */
function swap(from, to) {
  mkdirSync(dirname(to), { recursive: true })
  rmSync(to, { recursive: true, force: true })
  renameSync(from, to)
}

/** A digest of everything that a build depends on. */
export function sourceDigest() {
  const sources = [
    ...filesIn('src').filter((file) => !/\.test(-d)?\.ts$/.test(file)),
    ...filesIn('inspector'),
    'tsconfig.json',
    'tsconfig.build.json',
    'package.json',
    'package-lock.json',
    ...[
      'as-script',
      'break-lines',
      'build',
      'bundle',
      'exported-names',
      'load-stages',
      'mcp-shims',
      'neutral-part',
      'stable-shapes',
    ].map((name) => `scripts/${name}.mjs`),
    'scripts/load-stages.json',
  ]
  return digest(...sources.map((file) => `${file} ${digest(read(file))}`))
}

/** Every file below a folder, as paths from the repository's root. @param {string} folder @returns {string[]} */
export function filesIn(folder) {
  return readdirSync(join(root, folder))
    .sort()
    .flatMap((name) => {
      const path = join(folder, name)
      return statSync(join(root, path)).isDirectory() ? filesIn(path) : [path]
    })
}

/** @param {string} stamp @param {string} wanted */
function isStamped(stamp, wanted) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted
}

/** @param {string} file relative to the repository */
export function read(file) {
  return readFileSync(join(root, file))
}

/** @param {...(string | Buffer)} parts */
function digest(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/**
 * Runs a program in the foreground and returns its exit code.
 * @param {string} file @param {string[]} args
 */
export function run(file, args, cwd = root, env = process.env) {
  const { status, signal, error } = spawnSync(file, args, { stdio: 'inherit', cwd, env })
  if (error) console.error(`capstan: ${error.message}`)
  return status ?? (signal ? 130 : 1)
}
