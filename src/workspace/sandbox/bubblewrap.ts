import { dirname } from 'node:path'
import { isInside } from '../inside.js'
import type { InsideUser } from './inside-user.js'
import type { KernelFiles } from './kernel-files.js'

/** What a command in a sandbox can see and change. All paths are real, absolute paths that exist on the host. */
export type SandboxProfile = {
  readonly cwd: string
  readonly user: InsideUser
  readonly kernel: KernelFiles
  /** The session's directory for temporary files; seen inside as `/tmp`. */
  readonly tmp: string
  /** The command's own home directory, new and empty; seen inside as `/run/capstan/home`. */
  readonly home: string
  /** Directories that look empty inside, files that look like `/dev/null`. */
  readonly hidden: readonly PathOfKind[]
  /** The workspace, and other visible paths inside hidden ones. For duplicate paths the later entry applies. */
  readonly shown: readonly Shown[]
  /** Paths inside writable directories that are protected, in this order: a directory before its content. */
  readonly pins: readonly Pin[]
  /** Paths that are hidden regardless of other entries: directories look empty, files look like `blankFile`. */
  readonly masked?: readonly PathOfKind[] | undefined
  /** Files that have other content inside: `source` is shown at `path`. */
  readonly replaced?: readonly { readonly path: string; readonly source: string }[] | undefined
  /** An empty file that cannot be opened: a program gets an error, and git does not treat it as a change. */
  readonly blankFile: string
  /** Unix sockets of the host. A read-only mount does not prevent a process from connecting to them. */
  readonly sockets: readonly string[]
  /** The only network access, if there is any: the socket of the proxy, and the Node binary that relays to it. */
  readonly network?: { readonly socket: string; readonly node: string } | undefined
  /** Whether the guard is the first program; bubblewrap reads it from a descriptor. */
  readonly guarded?: boolean | undefined
  /** Maps a path of the host to its path inside; absent: the same path. */
  readonly inside?: ((path: string) => string) | undefined
}

export type Shown = { readonly path: string; readonly how: 'read-only' | 'writable' }

export type PathOfKind = { readonly kind: 'file' | 'directory'; readonly path: string }

export type Pin = {
  readonly path: string
  /** `own-mount`: writable, but cannot be renamed or removed. `read-only`: cannot be changed either. */
  readonly how: 'own-mount' | 'read-only'
}

export const insideTmp = '/tmp'
export const insideHome = '/run/capstan/home'
export const insideSocket = '/run/capstan/proxy.sock'
export const insideNode = '/run/capstan/node'
export const insideGuard = '/run/capstan/guard'

/**
 * Returns the arguments for bubblewrap up to and including `--`. Order matters, because later mounts cover earlier
 * ones: first everything read-only, then hidden paths, then visible paths inside those, then protected paths inside the
 * visible ones. A hidden path inside a visible one comes after it, and so does a visible path inside that.
 */
export function bubblewrapArgs(profile: SandboxProfile): string[] {
  const inside = profile.inside ?? ((path: string) => path)
  const shown = profile.shown.toSorted((a, b) => inside(a.path).length - inside(b.path).length)
  const hidden = profile.hidden.filter((entry) => isVisible(entry.path, placesOf(profile, entry)))
  const within = hidden.filter(({ path }) => shown.some((around) => isBelow(around.path, path)))
  const again = shown.filter(({ path }) => within.some((around) => isBelow(around.path, inside(path))))
  const bind = (how: '--bind' | '--ro-bind', path: string): string[] => [how, path, inside(path)]
  const hide = ({ kind, path }: PathOfKind): string[] =>
    kind === 'file' ? ['--ro-bind', '/dev/null', inside(path)] : emptyDirectory(inside(path))
  const show = ({ path, how }: Shown): string[] => bind(how === 'writable' ? '--bind' : '--ro-bind', path)
  const pin = ({ path, how }: Pin): string[] => bind(how === 'own-mount' ? '--bind' : '--ro-bind', path)
  const pinsAgain = profile.pins.filter(({ path }) => again.some((around) => isInside(around.path, path)))
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...profile.kernel.readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...profile.kernel.masked.flatMap(hide),
    ...profile.user.accounts.flatMap(({ file, shownAt }) => ['--ro-bind', file, shownAt]),
    ...['--bind', profile.tmp, insideTmp],
    ...hidden.filter((entry) => !within.includes(entry)).flatMap(hide),
    // `/run` is hidden and created again, with the home of the command and the sockets of the proxy.
    ...[...emptyDirectory('/run'), '--bind', profile.home, insideHome],
    ...(profile.guarded === true ? guardArgs : []),
    ...waysThroughTmp(profile, inside),
    ...shown.flatMap(show),
    ...profile.pins.flatMap(pin),
    ...within.flatMap(hide),
    ...again.flatMap(show),
    ...pinsAgain.flatMap(pin),
    ...(profile.masked ?? []).flatMap((entry) =>
      entry.kind === 'file' ? ['--ro-bind', profile.blankFile, inside(entry.path)] : hide(entry),
    ),
    ...(profile.replaced ?? []).flatMap(({ path, source }) => ['--ro-bind', source, inside(path)]),
    ...profile.sockets.flatMap((path) => ['--ro-bind', '/dev/null', inside(path)]),
    ...networkArgs(profile.network),
    ...isolation,
    ...['--uid', String(profile.user.uid), '--gid', String(profile.user.gid)],
    ...['--seccomp', String(seccompDescriptor)],
    ...['--chdir', inside(profile.cwd), '--'],
  ]
}

/** The descriptor from which bubblewrap reads the seccomp filter. */
export const seccompDescriptor = 3
/** The descriptor to which the guard reports what it refused. */
export const reportDescriptor = 4
/** The descriptor from which bubblewrap copies the guard: the file on the host need not be executable. */
export const guardDescriptor = 5

/** As process 1, the guard cannot be killed from inside, and when it ends, every other process ends. */
const guardArgs = ['--perms', '0555', '--file', String(guardDescriptor), insideGuard, '--as-pid-1']

/** Directories that a sandbox has its own version of. */
const replaced = ['/tmp', '/run', '/dev', '/proc']

export type Places = { readonly hidden: readonly string[]; readonly shown: readonly string[] }

/** Returns the places that decide whether a path is visible; `without` omits an entry, to test whether it is needed. */
export function placesOf(
  { hidden, shown }: Pick<SandboxProfile, 'hidden' | 'shown'>,
  without?: PathOfKind,
): Places {
  return {
    hidden: [...replaced, ...hidden.filter((entry) => entry !== without).map(({ path }) => path)],
    shown: shown.map(({ path }) => path),
  }
}

/** Whether the host's file at this path is visible inside: the innermost place around it decides. */
export function isVisible(path: string, { hidden, shown }: Places): boolean {
  return deepest(path, shown) >= deepest(path, hidden)
}

function deepest(path: string, around: readonly string[]): number {
  return Math.max(0, ...around.filter((directory) => isInside(directory, path)).map(({ length }) => length))
}

/**
 * Returns the directories directly below `/tmp` that lead to a visible path, now or (if it is hidden) in a later
 * command. `/tmp` persists between commands, and a process that replaced one of them by a link would control where the
 * next command's mounts are created: therefore they are created again each time.
 */
function waysThroughTmp({ shown, hidden }: SandboxProfile, inside: (path: string) => string): string[] {
  const places = shown.map(({ path }) => inside(path))
  const bases = hidden.flatMap(({ kind, path }) => (kind === 'directory' ? [`${path}/`] : [path]))
  const ways = [...places, ...bases].flatMap((path) => /^(\/tmp\/[^/]+)\//.exec(path)?.[1] ?? [])
  const fresh = [...new Set(ways)].filter((way) => !places.includes(way))
  // Directories further down are created with them, and are not writable either.
  const below = places.flatMap((path) =>
    directoriesBetween(
      fresh.find((way) => isBelow(way, path)),
      path,
    ),
  )
  return [
    ...fresh.flatMap(emptyDirectory),
    ...[...new Set(below)].flatMap((path) => ['--perms', '0555', '--dir', path]),
  ]
}

function directoriesBetween(top: string | undefined, path: string): string[] {
  const above = dirname(path)
  return top === undefined || above === top ? [] : [...directoriesBetween(top, above), above]
}

/** The options for namespaces and privileges of every command. */
export const isolation = [
  '--unshare-all',
  // Explicit although `all` includes it: `all` only tries, and without it the next line would have no effect.
  '--unshare-user',
  '--disable-userns',
  // Otherwise root keeps every capability, and could mount the host's disk writable again.
  '--cap-drop',
  'ALL',
  '--new-session',
  '--die-with-parent',
]

/**
 * Returns the options for an empty directory. Its permissions refuse writes, which would silently be lost; a read-only
 * mount would need one more step for each directory. It is in memory, so its size is limited in case its owner changes
 * the permissions; the writable directories, `/tmp` and the home, are on disk.
 */
function emptyDirectory(path: string): string[] {
  return ['--perms', '0555', '--size', '1048576', '--tmpfs', path]
}

function networkArgs(network: SandboxProfile['network']): string[] {
  if (network === undefined) return []
  return ['--ro-bind', network.socket, insideSocket, '--ro-bind', network.node, insideNode]
}

function isBelow(directory: string, path: string): boolean {
  return path !== directory && isInside(directory, path)
}
