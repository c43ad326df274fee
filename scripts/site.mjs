// The documentation site. VitePress has its own package in site/, so that installing the repository stays light.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run } from './build.mjs'

const folder = join(root, 'site')

export function buildSite() {
  const installed = installOnce()
  if (installed !== 0) return installed
  const vitepress = join(folder, 'node_modules/vitepress/bin/vitepress.js')
  return run(process.execPath, [vitepress, 'build', folder])
}

/** Installs what the lock file of the site lists, when it has changed. */
function installOnce() {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8')
  const stamp = join(folder, 'node_modules/.capstan-lock.json')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return 0
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--prefix', folder, '--loglevel=error']
  const code = npm?.endsWith('.js') ? run(process.execPath, [npm, ...args]) : run('npm', args)
  if (code === 0) writeFileSync(stamp, lock)
  return code
}
