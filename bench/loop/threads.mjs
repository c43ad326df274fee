// CPU time of this process by group of threads. `process.cpuUsage()` is the sum.
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Milliseconds: `main` runs JavaScript, `v8` compiles and collects garbage, `pool` waits for files and the disk.
 * @typedef {{ main: number, v8: number, pool: number }} ThreadTimes
 */

/**
 * Node starts its threads in this order: its own, V8's (one for delayed tasks, then its workers) and one for signals. The thread
 * pool starts on first use. Undefined where the system does not report times of threads.
 * @returns {ThreadTimes | undefined}
 */
export function threadTimes() {
  try {
    const ids = readdirSync('/proc/self/task').map(Number)
    const times = ids.toSorted((a, b) => a - b).map(timeOf)
    const sum = (/** @type {number[]} */ some) => some.reduce((all, one) => all + one, 0)
    return {
      main: sum(times.slice(0, 1)),
      v8: sum(times.slice(1, 1 + v8Threads)),
      pool: sum(times.slice(1 + v8Threads)),
    }
  } catch {
    return undefined
  }
}

const v8Threads = 5

/** @param {number} id */
function timeOf(id) {
  const [nanoseconds = '0'] = readFileSync(`/proc/self/task/${id}/schedstat`, 'utf8').split(' ')
  return Number(nanoseconds) / 1e6
}
