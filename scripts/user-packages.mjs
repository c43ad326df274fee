// Installs the packages of users that tests run with (test/ecosystem/packages), apart from those of this repository.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { downloadEnvironment } from '../test/support/download-environment.mjs'
import { root } from './build.mjs'
import { copyLock } from './lock-addresses.mjs'
import { npmCommand, npmEnvironment } from './nested-npm.mjs'

const target = join(root, '.build/ecosystem')

/** The directory of these packages. */
export const installedPackages = join(target, 'node_modules')

/**
 * Installs them once for every state of their lock file. Those that only `npm run faults` uses are `devDependencies`
 * there, and are installed with `all`.
 * @param {{ all?: boolean }} [options]
 */
export async function installUserPackages({ all = false } = {}) {
  const source = join(root, 'test/ecosystem/packages')
  const stamp = join(target, 'installed-lock.json')
  const lock = readFileSync(join(source, 'package-lock.json'), 'utf8')
  const [few, whole] = [lock, `${lock}all\n`]
  const installed = existsSync(stamp) ? readFileSync(stamp, 'utf8') : undefined
  if (installed === whole || (installed === few && !all)) return
  console.log('capstan: installing the packages of test/ecosystem …')
  copyLock(source, target)
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  if (!all) args.push('--omit=dev')
  let code = await runNpm(args)
  if (code !== 0) {
    console.log('capstan: installing again, and asking the registry for the address of each package …')
    copyLock(source, target, { addresses: false })
    code = await runNpm(args)
  }
  if (code !== 0) throw new Error(`npm could not install the packages of test/ecosystem: exit code ${code}`)
  writeFileSync(stamp, all ? whole : few)
}

/** @param {readonly string[]} args @returns {Promise<number | null>} the exit code */
function runNpm(args) {
  const [command = 'npm', ...words] = npmCommand(args)
  const child = spawn(command, words, {
    cwd: target,
    stdio: 'inherit',
    // On Windows npm is a script, which only a shell can start.
    shell: process.platform === 'win32' && command === 'npm',
    // Some of them ask for Node 22 and still run on Node 20.
    env: { ...npmEnvironment(downloadEnvironment()), npm_config_engine_strict: 'false' },
  })
  return new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
}
