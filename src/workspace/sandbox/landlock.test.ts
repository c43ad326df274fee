import { describe, expect, it } from 'vitest'
import { landlockArgs } from './landlock.js'
import type { MountlessProfile } from './mountless.js'

const profile: MountlessProfile = {
  shown: [
    { path: '/srv/work', how: 'read-only' },
    { path: '/srv/work/out', how: 'writable' },
    { path: '/srv/work/out/tools', how: 'read-only' },
  ],
  hidden: [
    { kind: 'directory', path: '/home' },
    { kind: 'directory', path: '/srv/work/out/private' },
  ],
  pins: [
    { path: '/srv/work/out/.git', how: 'own-mount' },
    { path: '/srv/work/out/.git/hooks', how: 'read-only' },
  ],
  tmp: '/var/capstan/tmp',
  home: '/var/capstan/home',
  masked: [{ kind: 'file', path: '/srv/work/.env' }],
  sockets: ['/srv/work/out/host.sock'],
  rules: { names: [{ directory: '/srv/work/out', name: '.npmrc' }], gitRoots: ['/srv/work'] },
}

function valuesOf(option: string, args: readonly string[]): string[] {
  return args.flatMap((word, at) => (args[at - 1] === option ? [word] : []))
}

describe('landlockArgs', () => {
  const args = landlockArgs(profile, '/var/capstan/report')

  it('allows commands to write only to what is granted, to their own directories and to harmless devices', () => {
    const own = ['/srv/work/out', '/var/capstan/tmp', '/var/capstan/home']
    expect(new Set(valuesOf('--write', args))).toEqual(
      new Set([...own, '/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']),
    )
    expect(valuesOf('--read', args)).toContain('/srv/work')
    expect(valuesOf('--read', args).filter((path) => path.startsWith('/home'))).toEqual([])
  })

  it('denies masked files, sockets of the host and hidden paths inside shown ones', () => {
    expect(valuesOf('--deny', args)).toEqual([
      '/srv/work/.env',
      '/srv/work/out/private',
      '/srv/work/out/host.sock',
    ])
  })

  it('passes read-only paths inside writable ones to the guard, because Landlock rules can only add', () => {
    const names = args.flatMap((word, at) => (word === '--name' ? [`${args[at + 1]}/${args[at + 2]}`] : []))
    expect(names).toEqual([
      '/srv/work/out/.npmrc',
      '/srv/work/out/.git/hooks',
      '/srv/work/out/tools',
      '/srv/work/out/private',
      '/srv/work/out/host.sock',
    ])
    expect(valuesOf('--open', args)).toEqual(['/srv/work/out/.git'])
    expect(valuesOf('--git', args)).toEqual(['/srv/work'])
    expect(args.at(-1)).toBe('--')
  })
})

describe.runIf(process.platform === 'linux')('the readable part of the system', () => {
  it('omits hidden paths, links, processes and devices, and splits directories around them', () => {
    const hidden = ['/etc/ssl', '/root'].map((path) => ({ kind: 'directory', path }) as const)
    const found = valuesOf('--read', landlockArgs({ ...profile, hidden }, '/var/capstan/report'))
    expect(found).toEqual(expect.arrayContaining(['/usr', '/etc/passwd', '/proc/meminfo']))
    expect(found).not.toContain('/etc')
    const wrong = /^\/(?:root|tmp|run|dev|etc\/ssl|proc\/(?:\d|self|kcore))(?:\/|$)/
    expect(found.filter((path) => wrong.test(path))).toEqual([])
  })
})
