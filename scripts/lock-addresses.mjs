// Copies of lock files with the address of each archive. The lock files of the repository name no registry, so that
// they work with every one. But without addresses npm first reads the list of all versions of every package, which is
// two thirds of the processor time of an installation.
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { npmCommand, npmEnvironment } from './nested-npm.mjs'

/**
 * Copies what `npm ci` reads from one directory to another, with addresses of the configured registry in the lock file.
 * Where the registry has its archives at other addresses the installation fails: the caller repeats it without them. npm
 * checks the integrity hash of each archive, wherever it is from.
 * @param {string} from @param {string} to @param {{ addresses?: boolean }} [options]
 */
export function copyLock(from, to, { addresses = true } = {}) {
  mkdirSync(to, { recursive: true })
  for (const file of ['package.json', '.npmrc'])
    if (existsSync(join(from, file))) copyFileSync(join(from, file), join(to, file))
  const lock = readFileSync(join(from, 'package-lock.json'), 'utf8')
  writeFileSync(join(to, 'package-lock.json'), addresses ? withAddresses(lock, registryOf(from)) : lock)
}

/** @param {string} lock @param {string} registry */
export function withAddresses(lock, registry) {
  const parsed = JSON.parse(lock)
  for (const [path, entry] of Object.entries(parsed.packages)) {
    if (path === '' || entry.link || entry.resolved !== undefined || entry.inBundle) continue
    // An alias has the name of its package in the entry.
    const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    const file = `${name.slice(name.lastIndexOf('/') + 1)}-${entry.version}.tgz`
    entry.resolved = `${registry.replace(/\/+$/, '')}/${name}/-/${file}`
  }
  return JSON.stringify(parsed, undefined, 2)
}

/** The registry of npm's configuration. @param {string} directory */
function registryOf(directory) {
  const [command = 'npm', ...args] = npmCommand(['config', 'get', 'registry'])
  const shell = process.platform === 'win32' && command === 'npm'
  const { stdout, status } = spawnSync(command, args, {
    cwd: directory,
    encoding: 'utf8',
    shell,
    env: npmEnvironment(),
  })
  if (status !== 0 || !/^https?:/.test(stdout)) throw new Error(`npm does not know its registry: ${stdout}`)
  return stdout.trim()
}
