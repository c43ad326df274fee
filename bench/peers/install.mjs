// Installs the peers from their own lock files into their own folders: once, and again when a lock file changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

const folders = [import.meta.dirname, join(import.meta.dirname, 'code-mode')]

export function peersInstalled() {
  for (const folder of folders) installedIn(folder)
}

/** @param {string} folder */
function installedIn(folder) {
  const wanted = createHash('sha256')
    .update(readFileSync(join(folder, 'package.json')))
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  const stamp = join(folder, 'node_modules/.peers-installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  const name = relative(process.cwd(), folder)
  console.log(
    `bench: installing what ${name}/package-lock.json names (once, or after it changed; some minutes) …`,
  )
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const [file, given] = npm?.endsWith('.js') ? [process.execPath, [npm, ...args]] : ['npm', args]
  const { status } = spawnSync(file, given, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(`npm ci in ${name} ended with ${status}`)
  writeFileSync(stamp, wanted)
}
