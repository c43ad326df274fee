// Processes that are alive two seconds after their host was killed with SIGKILL.
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** @param {'off' | 'auto'} sandbox @returns {Promise<{ began: number, left: number }>} */
export async function leftOver(sandbox) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'capstan-bench-kill-')))
  const word = `bench-${randomBytes(6).toString('hex')}`
  const host = fork(join(import.meta.dirname, 'host.mjs'), [root, word, sandbox])
  try {
    await once(host, 'message')
    const end = Date.now() + 10_000
    // Two commands and the server; in a sandbox there are its own processes as well.
    while (alive(word, host.pid).length < 3 && Date.now() < end) await sleep(50)
    const began = alive(word, host.pid).length
    host.kill('SIGKILL')
    await once(host, 'exit')
    await sleep(2_000)
    const left = alive(word, host.pid)
    for (const pid of left) kill(pid)
    return { began, left: left.length }
  } finally {
    host.kill('SIGKILL')
    rmSync(root, { recursive: true, force: true })
  }
}

/** Those whose command line has the word. @param {string} word @param {number | undefined} but */
function alive(word, but) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== but)
    .map(Number)
    .filter((pid) => commandLine(pid).includes(word))
}

/** @param {number} pid */
function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // The process has ended meanwhile.
    return ''
  }
}

/** @param {number} pid */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
