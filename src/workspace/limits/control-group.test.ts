import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { createControlGroup, removeLeftGroups } from './control-group.js'
import type { GroupPlace } from './group-places.js'

describe('a control group of version 2', () => {
  // A plain directory takes the same writes as the file system of control groups; it only enforces nothing.
  const placeIn = (directory: string): GroupPlace => ({
    version: 2,
    directory,
    resources: ['memory', 'processes', 'cpu'],
  })

  it('gets the limits of the command, and reports what the kernel counts', () => {
    const group = createControlGroup([placeIn(temporaryDirectory())], { memoryBytes: 5e8, processes: 40 })
    const procs = group?.start(['true']).find((word) => word.endsWith('/cgroup.procs')) ?? ''
    const own = join(procs, '..')
    expect(readFileSync(join(own, 'memory.max'), 'utf8')).toBe('500000000')
    expect(readFileSync(join(own, 'memory.oom.group'), 'utf8')).toBe('1')
    expect(readFileSync(join(own, 'pids.max'), 'utf8')).toBe('40')
    writeFileSync(join(own, 'memory.events'), 'low 0\nhigh 0\nmax 7\noom 1\noom_kill 2\noom_group_kill 1\n')
    writeFileSync(join(own, 'pids.events'), 'max 3\n')
    writeFileSync(join(own, 'cpu.stat'), 'usage_usec 2500000\nuser_usec 1\n')
    expect(group?.usage()).toEqual({ memoryKills: 2, refusedProcesses: 3, cpuSeconds: 2.5 })
    group?.kill()
    expect(readFileSync(join(own, 'cgroup.kill'), 'utf8')).toBe('1')
  })

  it('starts a program after it has joined the group', () => {
    const words = createControlGroup([placeIn(temporaryDirectory())], { processes: 40 })?.start([
      ...['/bin/echo', '--', 'x'],
    ])
    expect(words?.slice(3)).toEqual([
      ...['capstan', expect.stringContaining('/cgroup.procs'), '--', '/bin/echo', '--', 'x'],
    ])
  })

  it('is removed by another host once its own has ended, and not while that may still run', () => {
    const directory = temporaryDirectory()
    const group = createControlGroup([placeIn(temporaryDirectory())], { processes: 40 })
    const [, pid, started, namespace] =
      /capstan-(\d+)-(\w+)-(\w+)-\d+\/cgroup.procs/.exec(group?.start(['true']).join(' ') ?? '') ?? []
    expect(Number(pid)).toBe(process.pid)
    const ended = spawnSync('/bin/sh', ['-c', 'exit 0']).pid
    const kept = [
      `capstan-${pid}-${started}-${namespace}-9`,
      // In another container, the process may run.
      `capstan-${ended}-1-1-1`,
      'capstan-host',
      'other',
    ]
    const left = [`capstan-${ended}-1-${namespace}-1`, `capstan-${pid}-1-${namespace}-1`]
    for (const name of [...kept, ...left]) mkdirSync(join(directory, name))
    removeLeftGroups(directory)
    expect(readdirSync(directory).sort()).toEqual(kept.sort())
  })

  it('is not created when the host lacks the permission', () => {
    const directory = temporaryDirectory()
    const missing = placeIn(join(directory, 'missing'))
    expect(createControlGroup([placeIn(directory), missing], { processes: 40 })).toBeUndefined()
  })
})
