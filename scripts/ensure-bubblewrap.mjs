// Installs bubblewrap, which confines commands, where that can be done without asking: as root, with apt-get. Elsewhere
// it says in one line why not. Never fails: the tests that need it say themselves that they did not run.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

/** Does not block: the caller builds meanwhile. @returns {Promise<boolean>} whether bubblewrap is there now */
export async function ensureBubblewrap() {
  if (isInstalled()) return true
  const reason = whyNotHere()
  if (reason !== undefined) return without(reason)
  console.log('capstan: installing bubblewrap with apt-get, for the sandbox tests (once) …')
  // The lists of a fresh image are empty; those of an old one may name a version that is gone.
  for (const args of [['install'], ['update'], ['install']]) {
    if (!isInstalled()) await aptGet(args)
  }
  return isInstalled() || without('apt-get could not install it (is there a network?)')
}

/** @returns {boolean} */
function isInstalled() {
  return ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap'].some((path) => existsSync(path))
}

/** @returns {string | undefined} */
function whyNotHere() {
  if (process.platform !== 'linux') return `it exists only for Linux, and this is ${process.platform}`
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt-get here; install it with your package manager'
  if (process.getuid?.() !== 0) return 'we are not root; install it with: sudo apt-get install bubblewrap'
  return undefined
}

/** Resolves when apt-get has ended, also when it failed. @param {string[]} args @returns {Promise<void>} */
function aptGet([verb = 'update']) {
  const words =
    verb === 'install' ? ['install', '-y', '-qq', '--no-install-recommends', 'bubblewrap'] : ['update', '-qq']
  const child = spawn('/usr/bin/apt-get', words, {
    stdio: 'ignore',
    timeout: 120_000,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  return new Promise((resolve) => child.once('error', () => resolve()).once('close', () => resolve()))
}

/**
 * @param {string} reason
 * @returns {boolean}
 */
function without(reason) {
  console.log(`capstan: bubblewrap is not installed, so the sandbox tests do not run: ${reason}.`)
  return false
}
