import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../house/run.js'
import { downloadEnvironment } from '../support/download-environment.mjs'

/** Where the packages of `packages/package-lock.json` are installed. */
export const installedPackages = join(root, '.build/ecosystem/node_modules')

/** Installs the packages once for every state of their lock file. A setup of the whole test run. */
export function setup(): void {
  const source = join(root, 'test/ecosystem/packages')
  const target = join(root, '.build/ecosystem')
  const stamp = join(target, 'installed-lock.json')
  const wanted = readFileSync(join(source, 'package-lock.json'), 'utf8')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('capstan: installing the packages of test/ecosystem …')
  mkdirSync(target, { recursive: true })
  for (const file of ['package.json', 'package-lock.json'])
    copyFileSync(join(source, file), join(target, file))
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline']
  // Some of them ask for Node 22 and run on Node 20 all the same.
  const options = {
    cwd: target,
    stdio: 'inherit',
    env: { ...downloadEnvironment(), npm_config_engine_strict: 'false' },
  } as const
  if (npm?.endsWith('.js')) execFileSync(process.execPath, [npm, ...args], options)
  else execFileSync('npm', args, options)
  writeFileSync(stamp, wanted)
}

/** Loads a package of users from where it is installed apart. */
// biome-ignore lint/suspicious/noExplicitAny: packages of others, with types of their own
export async function loadPackage(name: string): Promise<any> {
  const folder = join(installedPackages, name)
  const { module, main, exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const entry = exports?.['.']?.import?.default ?? exports?.['.']?.import ?? module ?? main ?? 'index.js'
  return import(pathToFileURL(join(folder, typeof entry === 'string' ? entry : main)).href)
}
