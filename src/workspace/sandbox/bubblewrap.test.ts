import { describe, expect, it } from 'vitest'
import { isInside } from '../inside.js'
import { bubblewrapArgs, type SandboxProfile } from './bubblewrap.js'

const profile: SandboxProfile = {
  cwd: '/home/me/project/src',
  user: { uid: 1000, gid: 1000, accounts: [{ file: '/state/passwd', shownAt: '/etc/passwd' }] },
  kernel: { readOnly: ['/proc/sys'], masked: [{ kind: 'file', path: '/proc/kcore' }] },
  tmp: '/state/tmp',
  home: '/state/home',
  blankFile: '/state/blank',
  hidden: [
    { kind: 'directory', path: '/home' },
    { kind: 'file', path: '/etc/shadow' },
    { kind: 'directory', path: '/home/me/project/.capstan/state' },
    { kind: 'directory', path: '/tmp/x/ledger' },
  ],
  shown: [
    { path: '/home/me/.cargo', how: 'read-only' },
    { path: '/home/me/project', how: 'writable' },
    { path: '/cache', how: 'writable' },
  ],
  pins: [
    { path: '/home/me/project/.git', how: 'own-mount' },
    { path: '/home/me/project/.git/hooks', how: 'read-only' },
    { path: '/home/me/project/.mcp.json', how: 'read-only' },
  ],
  sockets: ['/var/lib/db.sock'],
}

function position(args: readonly string[], ...words: string[]): number {
  return args.findIndex((_, index) => words.every((word, offset) => args[index + offset] === word))
}

describe('bubblewrapArgs', () => {
  const args = bubblewrapArgs(profile)

  it('mounts in order: everything read-only, hidden, shown again, writable, protected', () => {
    const order = [
      position(args, '--ro-bind', '/', '/'),
      position(args, '--tmpfs', '/home'),
      position(args, '--ro-bind', '/home/me/.cargo', '/home/me/.cargo'),
      position(args, '--bind', '/home/me/project', '/home/me/project'),
      position(args, '--bind', '/home/me/project/.git', '/home/me/project/.git'),
      position(args, '--ro-bind', '/home/me/project/.git/hooks', '/home/me/project/.git/hooks'),
      position(args, '--ro-bind', '/home/me/project/.mcp.json', '/home/me/project/.mcp.json'),
      position(args, '--tmpfs', '/home/me/project/.capstan/state'),
      position(args, '--chdir', '/home/me/project/src'),
    ]
    expect(order.every((at) => at >= 0)).toBe(true)
    expect(order.toSorted((a, b) => a - b)).toEqual(order)
  })

  it('creates new namespaces, drops capabilities, leaves the terminal and ends with the parent', () => {
    for (const word of [
      '--unshare-all',
      '--unshare-user',
      '--disable-userns',
      '--new-session',
      '--die-with-parent',
    ]) {
      expect(args).toContain(word)
    }
    expect(position(args, '--cap-drop', 'ALL')).toBeGreaterThan(0)
    expect(args).not.toContain('--share-net')
    expect(args.at(-1)).toBe('--')
  })

  it('covers sockets and single files with /dev/null, and hides nothing below /tmp', () => {
    expect(position(args, '--ro-bind', '/dev/null', '/var/lib/db.sock')).toBeGreaterThan(0)
    expect(position(args, '--ro-bind', '/dev/null', '/etc/shadow')).toBeGreaterThan(0)
    expect(args).not.toContain('/tmp/x/ledger')
  })

  it('shows again what is inside a hidden path of the workspace, with its protected parts', () => {
    const inner = bubblewrapArgs({
      ...profile,
      shown: [
        ...profile.shown,
        { path: '/home/me/project/.capstan/state/own', how: 'writable' },
        { path: '/home/me/project/vendor', how: 'read-only' },
      ],
      masked: [{ kind: 'file', path: '/home/me/project/.env' }],
    })
    const own = '/home/me/project/.capstan/state/own'
    const order = [
      position(inner, '--bind', '/home/me/project', '/home/me/project'),
      position(inner, '--ro-bind', '/home/me/project/vendor', '/home/me/project/vendor'),
      position(inner, '--tmpfs', '/home/me/project/.capstan/state'),
      inner.lastIndexOf(own),
      position(inner, '--ro-bind', '/state/blank', '/home/me/project/.env'),
    ]
    expect(order.every((at) => at >= 0)).toBe(true)
    expect(order.toSorted((a, b) => a - b)).toEqual(order)
  })

  it('mounts a copy after a writable directory around its path', () => {
    const copied = bubblewrapArgs({
      ...profile,
      shown: [
        { path: '/copy', how: 'writable' },
        { path: '/srv/projects', how: 'writable' },
      ],
      inside: (path) => path.replace(/^\/copy/, '/srv/projects/one'),
    })
    expect(position(copied, '--bind', '/copy', '/srv/projects/one')).toBeGreaterThan(
      position(copied, '--bind', '/srv/projects', '/srv/projects'),
    )
  })

  it('hides nothing twice: a path inside a hidden one does not exist', () => {
    const twice = bubblewrapArgs({
      ...profile,
      hidden: [...profile.hidden, { kind: 'directory', path: '/home/other' }],
    })
    expect(twice).not.toContain('/home/other')
  })

  it('creates the paths through /tmp again, so that no earlier command decides where they lead', () => {
    expect(position(args, '--tmpfs', '/tmp/x')).toBeGreaterThan(
      position(args, '--bind', '/state/tmp', '/tmp'),
    )
    const below = bubblewrapArgs({ ...profile, shown: [{ path: '/tmp/w/project', how: 'writable' }] })
    expect(position(below, '--tmpfs', '/tmp/w')).toBeLessThan(position(below, '--bind', '/tmp/w/project'))
    expect(bubblewrapArgs({ ...profile, shown: [{ path: '/tmp/w', how: 'writable' }] })).not.toContain(
      '/tmp/w/',
    )
  })

  it('mounts the proxy only when there is one, and never the network itself', () => {
    expect(args.join(' ')).not.toContain('proxy.sock')
    const online = bubblewrapArgs({ ...profile, network: { socket: '/s/p', node: '/n/node' } })
    expect(position(online, '--ro-bind', '/s/p', '/run/capstan/proxy.sock')).toBeGreaterThan(0)
    expect(online).toContain('--unshare-all')
    expect(online).not.toContain('--share-net')
  })
})

describe('isInside', () => {
  it.each([
    ['/a', '/a', true],
    ['/a', '/a/b', true],
    ['/a', '/ab', false],
    ['/', '/a', true],
    ['/a/b', '/a', false],
  ])('%s contains %s: %s', (directory, path, expected) => {
    expect(isInside(directory, path)).toBe(expected)
  })
})
