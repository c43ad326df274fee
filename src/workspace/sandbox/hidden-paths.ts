import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { ifReadable } from '../if-readable.js'
import { isInside } from '../inside.js'
import type { PathOfKind } from './bubblewrap.js'
import { SandboxRootError } from './errors.js'

/**
 * Paths with private data of users and services, and the sockets of daemons. Some of it is readable for root only, but
 * the host may run as root.
 */
const privatePlaces = [
  '/home',
  '/root',
  '/var/tmp',
  '/mnt',
  '/media',
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/sudoers',
  '/etc/sudoers.d',
  '/etc/ssh',
  '/etc/ssl/private',
  '/etc/kubernetes',
  '/var/spool/cron',
  '/var/lib/docker',
  '/var/lib/kubelet',
  '/var/lib/containerd',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
  '/sys/kernel/debug',
  '/sys/kernel/tracing',
  '/sys/kernel/security',
  '/sys/fs/bpf',
  '/sys/fs/pstore',
]

/** Returns the paths hidden from every command: existing private paths, the user's home, and those of the host. */
export function hiddenPaths(extra: readonly string[] = []): PathOfKind[] {
  const hidden = new Map<string, PathOfKind>()
  for (const place of [...privatePlaces, ...homes(), ...extra]) {
    const path = ifReadable(() => realpathSync.native(place))
    const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
    if (path === undefined || stat === undefined || path === '/' || path === '/tmp') continue
    // A file that the host itself cannot read needs no mount.
    if (!stat.isDirectory() && !isReadable(path)) continue
    hidden.set(path, { kind: stat.isDirectory() ? 'directory' : 'file', path })
  }
  // Includes paths inside others: a workspace can be between the two.
  return [...hidden.values()]
}

/** Refuses a workspace that is or contains a path that the sandbox must hide (SEC-130). */
export function checkRoot(root: string): void {
  if (root === '/') throw new SandboxRootError(root, 'it is the whole machine')
  if (/[\n\0]/.test(root)) throw new SandboxRootError(JSON.stringify(root), 'its name holds a line break')
  for (const place of [
    ...homes(),
    '/home',
    '/root',
    '/tmp',
    '/var/tmp',
    '/run',
    '/etc',
    '/usr',
    '/var',
    '/proc',
    '/dev',
    '/sys',
    ...[
      '/Users',
      '/private',
      '/private/tmp',
      '/private/var',
      '/System',
      '/Library',
      '/Applications',
      '/Volumes',
    ],
  ]) {
    const path = ifReadable(() => realpathSync.native(place)) ?? place
    if (isInside(root, path))
      throw new SandboxRootError(
        root,
        root === path ? 'it is a home or system directory' : `it holds ${place}`,
      )
  }
  for (const place of ['/proc', '/dev', '/sys', '/run/capstan']) {
    if (isInside(place, root)) throw new SandboxRootError(root, `it is inside ${place}`)
  }
}

function homes(): string[] {
  const home = process.env['HOME']
  return [homedir(), ...(home?.startsWith('/') === true ? [home] : [])]
}

function isReadable(path: string): boolean {
  const answer = ifReadable(() => {
    accessSync(path, constants.R_OK)
    return true
  })
  return answer === true
}
