// A commit of this repository, built in a separate directory.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const own = 'the working tree'

/** @typedef {{ name: string, folder: string }} Checkout */

/**
 * Builds a commit below `.build/compare/`, where the next comparison with it finds it. Its benchmarks are replaced by those
 * of the working tree: both sides do the same work. Dependencies are shared when the lock files are the same.
 * @param {string} commit
 * @returns {Checkout}
 */
export function builtCheckout(commit) {
  const folder = join(root, '.build/compare', commit)
  if (!existsSync(join(folder, '.build/built'))) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    git(['clone', '--quiet', '--shared', '--no-checkout', root, folder])
    git(['checkout', '--quiet', '--detach', commit], folder)
    const lock = (/** @type {string} */ of) => readFileSync(join(of, 'package-lock.json'), 'utf8')
    if (lock(folder) === lock(root))
      symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
    const script = "(await import('./scripts/build.mjs')).ensureBuilt('package')"
    run(process.execPath, ['--input-type=module', '-e', script], folder)
  }
  rmSync(join(folder, 'bench'), { recursive: true, force: true })
  cpSync(join(root, 'bench'), join(folder, 'bench'), {
    recursive: true,
    filter: (path) => !/[\\/](?:node_modules|results)$/.test(path),
  })
  return { name: commit.slice(0, 10), folder }
}

/** @returns {Checkout} what `npm run bench` has built before it started */
export function workingTree() {
  return { name: own, folder: root }
}

/**
 * The commit a revision names. Without one: the last commit that this branch shares with `main`, or, when that is this
 * commit and nothing is changed, the commit before it.
 * @param {string | undefined} revision
 */
export function commitOf(revision) {
  if (revision !== undefined) return git(['rev-parse', '--verify', '--quiet', `${revision}^{commit}`])
  const head = git(['rev-parse', 'HEAD'])
  const shared = ['origin/main', 'main'].map((branch) => git(['merge-base', 'HEAD', branch], root, true))
  const changed = git(['status', '--porcelain', '--', 'src', 'scripts', 'package.json']) !== ''
  const before = shared.find((commit) => commit !== '' && (commit !== head || changed))
  return before ?? git(['rev-parse', changed ? 'HEAD' : 'HEAD~1'])
}

/** @param {readonly string[]} args @param {string} [cwd] @param {boolean} [optional] empty when git fails */
function git(args, cwd = root, optional = false) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd, encoding: 'utf8' })
  if (status === 0) return stdout.trim()
  if (optional) return ''
  throw new Error(`git ${args.join(' ')} ended with ${status}: ${stderr.trim()}`)
}

/** @param {string} file @param {readonly string[]} args @param {string} cwd */
function run(file, args, cwd) {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }
  const { status } = spawnSync(file, args, { cwd, stdio: 'inherit', env })
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${status}`)
}
