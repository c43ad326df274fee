// Instructions that a process executes. Unlike times they do not depend on the load of the machine.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

/**
 * V8 without the optimising compiler, in one thread, with fixed seeds: it decides by time when and what to optimise, so that
 * counts of two runs would differ by more than what is looked for. What is counted is the code as a process of few rounds executes it.
 */
export const steady = ['--no-opt', '--single-threaded', '--hash-seed=1', '--random-seed=1']
const program = 'bench/compare/counted.mjs'
/** Valgrind takes a minute on an idle machine; one with many jobs can take ten times as long. */
const maxCountMs = 1_800_000

/** @typedef {{ name: string, count: (args: readonly string[], cwd: string) => number }} Counter */

/** `perf stat` where the machine lets it count, else valgrind's cachegrind, which takes about fifty times as long. @returns {Counter | undefined} */
export function instructionCounter() {
  return counters.find(({ count }) => {
    try {
      return count(['-e', '0'], import.meta.dirname) > 0
    } catch {
      // Not installed, or without permission to count: the next one may be there.
      return false
    }
  })
}

/** @type {readonly Counter[]} */
const counters = [
  {
    name: 'perf stat',
    count: (args, cwd) =>
      counted(
        'perf',
        ['stat', '-x', ',', '-e', 'instructions:u', process.execPath, ...args],
        cwd,
        /^(\d+),/m,
      ),
  },
  {
    name: 'valgrind',
    count: (args, cwd) =>
      counted(
        'valgrind',
        ['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null', process.execPath, ...args],
        cwd,
        /I\s+refs:\s+([\d,]+)/,
      ),
  },
]

/**
 * Millions of instructions: of a process that opens a session and ends, and of one round.
 * @param {Counter} counter
 * @param {string} contender
 * @param {import('./checkout.mjs').Checkout} checkout
 * @param {{ url: string, root: string, place: string }} where
 */
export function countInstructions({ count }, contender, { folder }, { url, root, place }) {
  const of = (/** @type {number} */ rounds) => {
    const own = mkdtempSync(join(place, 'counted-'))
    return count([...steady, program, contender, url, root, own, String(rounds)], folder) / 1e6
  }
  const [fewer, more] = [10, 40]
  return { opened: of(0), round: (of(more) - of(fewer)) / (more - fewer) }
}

/** @param {string} file @param {readonly string[]} args @param {string} cwd @param {RegExp} found */
function counted(file, args, cwd, found) {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }
  const { status, stderr, error } = spawnSync(file, args, { cwd, encoding: 'utf8', env, timeout: maxCountMs })
  const digits = found.exec(stderr ?? '')?.[1]?.replaceAll(',', '')
  if (status !== 0 || digits === undefined)
    throw new Error(`${file} ended with ${status}: ${error?.message ?? stderr.slice(-300)}`)
  return Number(digits)
}
