import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { hasThreads, programWithoutFirstThread } from '../../../test/support/first-thread.js'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import {
  momentOf,
  nextSnapshot,
  type PidMoment,
  ProcessSnapshot,
  snapshotSince,
  startedSinceBoot,
} from './process-table.js'

describe.skipIf(!existsSync('/proc/stat'))('a snapshot of the processes since a moment', () => {
  const start = (): PidMoment => {
    const started = startedSinceBoot()
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const moment = momentOf(child.pid ?? -1, started)
    if (moment === undefined) throw new Error('the kernel does not count processes')
    return moment
  }
  const has = ({ entries }: ProcessSnapshot, pid: number): boolean =>
    entries.some((entry) => entry.pid === pid)

  it('has the process and what was started later, and nothing older unless pids have wrapped', () => {
    const first = start()
    const second = start()
    const snapshot = snapshotSince(first)
    for (const { pid } of [first, second]) expect(has(snapshot, pid)).toBe(true)
    // Near the largest pid all are looked at.
    const isNear = first.pid > 16_000 || second.pid < first.pid
    if (!isNear && process.pid < first.pid) expect(has(snapshot, process.pid)).toBe(false)
  })

  it.each([
    ['the pid is near the largest', { pid: 2 ** 30 }],
    ['more processes were started than there are pids', { started: -(2 ** 40) }],
    ['the count of started processes does not rise', { started: 2 ** 40 }],
  ])('has all processes when pids can have wrapped: %s', (_, changed) => {
    const child = start()
    const snapshot = snapshotSince({ ...child, ...changed })
    for (const pid of [child.pid, process.pid]) expect(has(snapshot, pid)).toBe(true)
  })

  it('is shared by all callers of the same turn, and has the processes since the earliest moment of them', async () => {
    const first = start()
    const second = start()
    const [one, other] = await Promise.all([nextSnapshot(second), nextSnapshot(first)])
    expect(one).toBe(other)
    for (const { pid } of [first, second]) expect(has(one, pid)).toBe(true)
    const [, all] = await Promise.all([nextSnapshot(second), nextSnapshot(undefined)])
    expect(has(all, process.pid)).toBe(true)
  })
})

it.runIf(hasThreads)(
  'knows the files and environment of a process whose first thread has ended',
  async () => {
    const pipe = join(temporaryDirectory(), 'pipe')
    execFileSync('mkfifo', [pipe])
    const code = `open P, q(+<), q(${pipe}); syswrite STDOUT, 1; sleep 300`
    const child = spawn('sh', ['-c', `exec ${programWithoutFirstThread(code)}`], {
      env: { WORD: 'of-the-test' },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const snapshot = new ProcessSnapshot((pid) => pid === child.pid)
    expect(snapshot.entries).toHaveLength(1)
    for (const entry of snapshot.entries) {
      expect(snapshot.holdsPipe(entry, pipe)).toBe(true)
      expect(snapshot.carriesWord(entry, 'of-the-test')).toBe(true)
    }
  },
)
