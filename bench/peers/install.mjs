// The peers, from their own lock file into their own folder: once, or after it changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = import.meta.dirname

export function peersInstalled() {
  const wanted = createHash('sha256')
    .update(readFileSync(join(folder, 'package.json')))
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  const stamp = join(folder, 'node_modules/.peers-installed')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log(
    'bench: installing the peers from bench/peers/package-lock.json (once, or after it changed; some minutes) …',
  )
  const npm = process.env['npm_execpath']
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const [file, given] = npm?.endsWith('.js') ? [process.execPath, [npm, ...args]] : ['npm', args]
  const { status } = spawnSync(file, given, { cwd: folder, stdio: 'inherit' })
  if (status !== 0) throw new Error(`npm ci in bench/peers ended with ${status}`)
  writeFileSync(stamp, wanted)
}
