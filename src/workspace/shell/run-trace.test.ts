import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished } from 'vitest'
import { markOf, newHostMark } from './process-mark.js'
import { ProcessSnapshot, readProcess } from './process-table.js'
import { newToken } from './run-marker.js'
import { endRun, findRemaining } from './run-trace.js'
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

describe.skipIf(host === undefined)('a process that ended while the process table was read', () => {
  const traceOf = (pid: number): Parameters<typeof findRemaining>[0] => ({
    leader: { pid, startTime: readProcess(pid)?.startTime ?? '' },
    contained: false,
  })
  /** Snapshots that list only these processes, in turn. */
  const listing = (pids: readonly number[]): (() => ProcessSnapshot) => {
    let look = 0
    return () => {
      const listed = pids[look++ % pids.length]
      return new ProcessSnapshot((pid) => pid === listed)
    }
  }

  it('can have left a child, so the table is read again', async () => {
    const { parent, zombie } = await startZombie()
    const left = findRemaining(traceOf(parent), listing([zombie, parent]))
    expect(left?.map(({ pid }) => pid)).toEqual([parent])
  })

  it('leaves the answer open when one ended during every look', async () => {
    const first = await startZombie()
    const second = await startZombie()
    const take = listing([first.zombie, second.zombie])
    expect(findRemaining(traceOf(first.parent), take)).toBeUndefined()
  })

  it('left none when it had already ended at the look before', async () => {
    const { parent, zombie } = await startZombie()
    expect(findRemaining(traceOf(parent), listing([zombie]))).toEqual([])
  })
})

/** Starts a process whose child has ended and whose exit code it never collects. */
async function startZombie(): Promise<{ parent: number; zombie: number }> {
  const child = spawn('/bin/sh', ['-c', 'sleep 0 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [line] = await once(child.stdout, 'data')
  const zombie = Number(String(line))
  await expect.poll(() => readProcess(zombie)).toBeUndefined()
  return { parent: child.pid ?? -1, zombie }
}
