import { describe, expect, it } from 'vitest'
import { groupPlaces } from './group-places.js'

/** Reads from a machine that has only these files. */
const machine =
  (files: Readonly<Record<string, string>>) =>
  (path: string): string | undefined =>
    files[path]

const unified = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n'

describe('the parent of the control groups of commands', () => {
  it('is the parent of this process’s group in version 2, when the controllers are enabled there', () => {
    const files = {
      '/proc/self/cgroup': '0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n',
      '/proc/self/mountinfo': unified,
      '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/cgroup.subtree_control':
        'cpu memory pids\n',
    }
    expect(groupPlaces(machine(files))).toEqual([
      {
        version: 2,
        directory: '/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice',
        resources: ['memory', 'processes', 'cpu'],
      },
    ])
  })

  it.each([
    ['memory.max', '1000000000'],
    ['pids.max', '500'],
    ['cpu.max', '50000 100000'],
  ])(
    'is not the parent of a group that has a limit itself (%s): commands would not have that limit',
    (name, value) => {
      const files = {
        '/proc/self/cgroup': '0::/system.slice/agent.service\n',
        '/proc/self/mountinfo': unified,
        '/sys/fs/cgroup/system.slice/cgroup.subtree_control': 'cpu memory pids\n',
        '/sys/fs/cgroup/system.slice/agent.service/memory.max': 'max\n',
        [`/sys/fs/cgroup/system.slice/agent.service/${name}`]: `${value}\n`,
      }
      expect(groupPlaces(machine(files))).toEqual([])
    },
  )

  it('is the root group of version 2', () => {
    const files = {
      '/proc/self/cgroup': '0::/\n',
      '/proc/self/mountinfo': unified,
      '/sys/fs/cgroup/cgroup.subtree_control': 'memory pids\n',
    }
    expect(groupPlaces(machine(files))).toMatchObject([{ version: 2, directory: '/sys/fs/cgroup' }])
  })

  it('is missing in a container whose controllers are not enabled, or without control groups', () => {
    const files = { '/proc/self/cgroup': '0::/\n', '/proc/self/mountinfo': unified }
    expect(groupPlaces(machine({ ...files, '/sys/fs/cgroup/cgroup.subtree_control': '\n' }))).toEqual([])
    expect(groupPlaces(machine({}))).toEqual([])
  })

  it('is this process’s group of each controller in version 1, as the mount shows it', () => {
    const files = {
      '/proc/self/cgroup':
        '4:memory:/docker/abc/own\n3:cpu,cpuacct:/\n2:pids:/other\n1:name=systemd:/\n0::/\n',
      '/proc/self/mountinfo': [
        '31 23 0:27 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory',
        '32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct',
        '33 23 0:29 /elsewhere /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids',
        '34 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw',
      ].join('\n'),
    }
    expect(groupPlaces(machine(files))).toEqual([
      { version: 1, directory: '/sys/fs/cgroup/memory/own', resources: ['memory'] },
      { version: 1, directory: '/sys/fs/cgroup/cpu,cpuacct', resources: ['cpu'] },
    ])
  })
})
