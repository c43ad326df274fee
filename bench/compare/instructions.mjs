// Instructions that a process executes. Unlike times they do not depend on the load of the machine.
import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

/** V8 in one thread, with fixed seeds: what its compilers and its collector do is counted too. */
const compiling = ['--single-threaded', '--hash-seed=1', '--random-seed=1']
/**
 * The same without the optimising compiler: what is counted is the code as a process of few rounds executes it. Two counts of the same
 * code differ by less than 1 %.
 */
export const steady = [...compiling, '--no-opt']
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
 * Millions of instructions of a process that opens a session and ends.
 * @param {Counter} counter @param {string} contender @param {Side} side @param {Where} where
 */
export function instructionsToOpen(counter, contender, side, where) {
  return counts(counter, contender, side, where, 0, steady)
}

/**
 * Millions of instructions of one round. `few`: rounds 11 to 40 without the optimising compiler. `250`: rounds 11 to 260 with
 * everything that V8 does meanwhile.
 * @param {Counter} counter @param {string} contender @param {Side} side @param {Where} where @param {'few' | '250'} rounds
 */
export function instructionsOfRound(counter, contender, side, where, rounds) {
  const [flags, last] = rounds === 'few' ? [steady, 40] : [compiling, 260]
  const of = (/** @type {number} */ count) => counts(counter, contender, side, where, count, flags)
  return (of(last) - of(first)) / (last - first)
}

const first = 10

/**
 * @param {Counter} counter @param {string} contender @param {Side} side @param {Where} where @param {number} rounds
 * @param {readonly string[]} flags
 */
function counts({ count }, contender, { folder }, { url, root, place }, rounds, flags) {
  const own = mkdtempSync(join(place, 'counted-'))
  return count([...flags, program, contender, url, root, own, String(rounds)], folder) / 1e6
}

/** @typedef {import('./checkout.mjs').Checkout} Side */
/** @typedef {{ url: string, root: string, place: string }} Where */

/** @param {string} file @param {readonly string[]} args @param {string} cwd @param {RegExp} found */
function counted(file, args, cwd, found) {
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }
  const { status, stderr, error } = spawnSync(file, args, { cwd, encoding: 'utf8', env, timeout: maxCountMs })
  const digits = found.exec(stderr ?? '')?.[1]?.replaceAll(',', '')
  if (status !== 0 || digits === undefined)
    throw new Error(`${file} ended with ${status}: ${error?.message ?? stderr.slice(-300)}`)
  return Number(digits)
}
