// Installs the packages of users that tests run with (test/ecosystem/packages), apart from those of this repository.
import { spawn } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { downloadEnvironment } from '../test/support/download-environment.mjs'
import { root } from './build.mjs'

const target = join(root, '.build/ecosystem')

/** The directory of these packages. */
export const installedPackages = join(target, 'node_modules')

/** Installs them once for every state of their lock file. */
export async function installUserPackages() {
  const source = join(root, 'test/ecosystem/packages')
  const stamp = join(target, 'installed-lock.json')
  const wanted = readFileSync(join(source, 'package-lock.json'), 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('capstan: installing the packages of test/ecosystem …')
  mkdirSync(target, { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(source, file), join(target, file))
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  const [command, ...words] = npm?.endsWith('.js') ? [process.execPath, npm, ...args] : ['npm', ...args]
  const child = spawn(command, words, {
    cwd: target,
    stdio: 'inherit',
    // On Windows npm is a script, which only a shell can start.
    shell: process.platform === 'win32' && command === 'npm',
    // Some of them ask for Node 22 and still run on Node 20.
    env: { ...downloadEnvironment(), npm_config_engine_strict: 'false' },
  })
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (code !== 0) throw new Error(`npm could not install the packages of test/ecosystem: exit code ${code}`)
  writeFileSync(stamp, wanted)
}
