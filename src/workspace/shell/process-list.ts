import { spawnSync } from 'node:child_process'
import type { ProcessEntry } from './process-table.js'

/** Returns the running processes as `ps` lists them, all or one: for systems without `/proc`, such as macOS. */
export function listProcesses(pid?: number): ProcessEntry[] {
  const which = pid === undefined ? ['-ax'] : ['-p', String(pid)]
  const { stdout, pid: own } = spawnSync('/bin/ps', [...which, '-o', 'pid=,ppid=,pgid=,stat=,lstart='], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC' },
    timeout: 5_000,
  })
  return parseProcesses(stdout ?? '').filter((entry) => entry.pid !== own)
}

/** Parses lines such as ` 501 1 501 Ss Tue Nov 17 13:00:00 2026`. */
export function parseProcesses(lines: string): ProcessEntry[] {
  return lines.split('\n').flatMap((line) => {
    const [, pid, ppid, pgid, state = '', started = ''] =
      /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line) ?? []
    const startedAt = Date.parse(`${started} UTC`)
    if (pid === undefined || Number.isNaN(startedAt) || /^[ZX]/.test(state)) return []
    return [
      {
        pid: Number(pid),
        ppid: Number(ppid),
        pgid: Number(pgid),
        state,
        startTime: String(startedAt / 1000),
      },
    ]
  })
}
