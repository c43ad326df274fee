import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { listProcesses, parseProcesses } from './process-list.js'

describe('parseProcesses', () => {
  it('parses the output of ps on macOS, without processes that have ended', () => {
    const lines = [
      '    1     0     1 Ss   Mon Nov  2 08:15:30 2026    ',
      '  812     1   800 S+   Tue Nov 17 13:00:00 2026    ',
      '  813   812   800 Z    Tue Nov 17 13:00:01 2026    ',
      'ps: illegal option',
    ]
    expect(parseProcesses(lines.join('\n'))).toEqual([
      { pid: 1, ppid: 0, pgid: 1, state: 'Ss', startTime: String(Date.UTC(2026, 10, 2, 8, 15, 30) / 1000) },
      { pid: 812, ppid: 1, pgid: 800, state: 'S+', startTime: String(Date.UTC(2026, 10, 17, 13) / 1000) },
    ])
  })
})

describe.runIf(existsSync('/bin/ps'))('listProcesses', () => {
  it('finds a process with its parent and its group, and no longer when it has ended', async () => {
    const child = spawn('/bin/sh', ['-c', 'sleep 60'], { detached: true, stdio: 'ignore' })
    await once(child, 'spawn')
    const pid = child.pid ?? -1
    const [found] = listProcesses(pid)
    expect(found).toMatchObject({ pid, ppid: process.pid, pgid: pid })
    expect(listProcesses().find((entry) => entry.pid === pid)).toMatchObject({ startTime: found?.startTime })
    process.kill(-pid, 'SIGKILL')
    await once(child, 'exit')
    expect(listProcesses(pid)).toEqual([])
  })
})
