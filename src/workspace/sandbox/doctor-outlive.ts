import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { textIfReadable } from '../if-readable.js'
import { markOf, newHostMark } from '../shell/process-mark.js'
import { ProcessSnapshot, readProcess } from '../shell/process-table.js'
import { newToken } from '../shell/run-marker.js'
import { endRun } from '../shell/run-trace.js'
import { limited } from '../shell/start-words.js'
import type { DoctorCheck } from './doctor-trap.js'

const check = 'processes without a sandbox'

/** Tries to outlive a command that is not in a sandbox: double fork, own session, no environment, no output. */
export async function tryToOutlive(): Promise<DoctorCheck> {
  const host = newHostMark()
  if (host === undefined) {
    const detail =
      'not marked here: one that leaves its session, environment and output can outlive its command'
    return { check, held: false, detail }
  }
  const mark = markOf(host, 1)
  // Ends by itself, and is recognised by its number.
  const word = `60.${randomInt(100_000, 999_999)}`
  const command = `(env -i setsid sh -c 'sleep ${word} & sleep ${word}' </dev/null >/dev/null 2>&1 &)`
  const [file = '/bin/sh', ...args] = limited(['/bin/sh', '-c', command], {}, { mark })
  const child = spawn(file, args, {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    detached: true,
    stdio: 'ignore',
  })
  const pid = child.pid ?? -1
  const leader = { pid, startTime: readProcess(pid)?.startTime ?? '' }
  await once(child, 'exit')
  // On a busy machine a killed process can take long to end, so the limit is high.
  await endRun({ token: newToken(), mark, leader, contained: false }, { graceMs: 0, killMs: 60_000 })
  const left = new ProcessSnapshot().entries.filter((entry) =>
    textIfReadable(`/proc/${entry.pid}/cmdline`)?.includes(word),
  )
  return left.length === 0
    ? { check, held: true, detail: 'found by their mark and ended' }
    : { check, held: false, detail: `${left.length} outlived their command` }
}
