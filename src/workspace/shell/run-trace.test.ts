import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { markOf, newHostMark } from './process-mark.js'
import { readProcess } from './process-table.js'
import { newToken } from './run-marker.js'
import { endRun } from './run-trace.js'
import { limited } from './start-words.js'

const host = newHostMark()

it.skipIf(host === undefined)(
  'ends a process that leaves its group at that moment, without waiting',
  async () => {
    for (let run = 1; run <= 20; run += 1) {
      const mark = markOf(host ?? 0, run)
      // The command ends first. What it leaves running is about to start a session of its own.
      const command = `(env -i setsid sh -c 'sleep 600 & sleep 600' </dev/null >/dev/null 2>&1 &)`
      const [file = '', ...args] = limited(['/bin/sh', '-c', command], {}, { mark })
      const child = spawn(file, args, {
        env: { PATH: '/usr/bin:/bin' },
        detached: true,
        stdio: 'ignore',
      })
      const pid = child.pid ?? -1
      const leader = { pid, startTime: readProcess(pid)?.startTime ?? '' }
      await once(child, 'exit')
      // A process that was missed would be waited for until the test times out.
      const trace = { token: newToken(), mark, leader, contained: false }
      expect(await endRun(trace, { graceMs: 0, killMs: 600_000 })).toEqual([])
    }
  },
)
