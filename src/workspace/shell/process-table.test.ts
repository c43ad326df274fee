import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  nextSnapshot,
  type PidMoment,
  type ProcessSnapshot,
  pidMoment,
  snapshotSince,
} from './process-table.js'

describe.skipIf(!existsSync('/proc/stat'))('a snapshot of the processes since a moment', () => {
  const now = (): PidMoment => {
    const moment = pidMoment()
    if (moment === undefined) throw new Error('the kernel names no moment')
    return moment
  }
  const start = (): number => {
    const child = spawn('sleep', ['600'], { stdio: 'ignore' })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child.pid ?? -1
  }
  const has = ({ entries }: ProcessSnapshot, pid: number): boolean =>
    entries.some((entry) => entry.pid === pid)

  it('has what was started later, and nothing older', () => {
    const moment = now()
    const child = start()
    const snapshot = snapshotSince(moment)
    expect(has(snapshot, child)).toBe(true)
    // This process is the older one, unless pids have wrapped since: then all are looked at.
    if (moment.pid < child && process.pid < moment.pid) expect(has(snapshot, process.pid)).toBe(false)
  })

  it.each([
    ['the last pid is a lower one', { pid: 2 ** 30 }],
    ['more processes were started than there are pids', { started: -(2 ** 40) }],
    ['the count of started processes does not rise', { started: 2 ** 40 }],
  ])('has all processes when pids can have wrapped: %s', (_, changed) => {
    const moment = { ...now(), ...changed }
    const child = start()
    for (const pid of [child, process.pid]) expect(has(snapshotSince(moment), pid)).toBe(true)
  })

  it('is shared by all callers of the same turn, and has the processes since the earliest moment of them', async () => {
    const early = now()
    const first = start()
    const late = now()
    const second = start()
    const [one, other] = await Promise.all([nextSnapshot(late), nextSnapshot(early)])
    expect(one).toBe(other)
    for (const pid of [first, second]) expect(has(one, pid)).toBe(true)
    const [, all] = await Promise.all([nextSnapshot(late), nextSnapshot(undefined)])
    expect(has(all, process.pid)).toBe(true)
  })
})
