/** What a sandbox lets a command see and change. All paths are real, absolute paths that exist on the host. */
export type SandboxProfile = {
  /** The workspace: writable. */
  readonly root: string
  readonly cwd: string
  /** The session's directory for temporary files; seen inside as `/tmp`. */
  readonly tmp: string
  /** The command's own home directory, new and empty; seen inside as `/run/capstan/home`. */
  readonly home: string
  /** Directories that look empty inside, files that look like `/dev/null`. */
  readonly hidden: readonly PathOfKind[]
  /** Shown read-only although what is around them is hidden: toolchains in a home directory. */
  readonly readOnly: readonly string[]
  /** Writable beside the workspace. */
  readonly writable: readonly string[]
  /** Places inside what is writable that are held, in this order: a directory before what is inside it. */
  readonly pins: readonly Pin[]
  /** Unix sockets of the host. A read-only mount does not keep anyone from connecting to them. */
  readonly sockets: readonly string[]
  /** The only way to the network, when there is one: the proxy's socket, and the Node that relays to it. */
  readonly network?: { readonly socket: string; readonly node: string } | undefined
}

export type PathOfKind = { readonly kind: 'file' | 'directory'; readonly path: string }

export type Pin = {
  readonly path: string
  /**
   * `own-mount`: writable, but it cannot be renamed or removed. `read-only`: nor changed. `blank`: a file that reads as empty
   * and takes nothing, in place of one that must not appear.
   */
  readonly how: 'own-mount' | 'read-only' | 'blank'
}

export const insideTmp = '/tmp'
export const insideHome = '/run/capstan/home'
export const insideSocket = '/run/capstan/proxy.sock'
export const insideNode = '/run/capstan/node'

/**
 * The arguments for bubblewrap up to and including `--`. Order matters, since later mounts cover earlier ones: everything
 * read-only, then what is hidden, then what is shown of it, then what is writable, then what is held inside that.
 */
export function bubblewrapArgs(profile: SandboxProfile): string[] {
  const within = profile.hidden.filter(({ path }) => isInside(profile.root, path))
  // Below /tmp and /run there is nothing of the host to hide: both are replaced.
  const outside = profile.hidden.filter(
    (entry) => !within.includes(entry) && !isInside('/tmp', entry.path) && !isInside('/run', entry.path),
  )
  return [
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'],
    ...['--bind', profile.tmp, insideTmp],
    ...outside.flatMap(hide),
    // Hidden, and made anew: the home of the command, and the ends of the proxy.
    ...[...emptyDirectory('/run'), '--bind', profile.home, insideHome],
    ...profile.readOnly.flatMap((path) => ['--ro-bind', path, path]),
    ...[profile.root, ...profile.writable].flatMap((path) => ['--bind', path, path]),
    ...profile.pins.flatMap(pin),
    ...within.flatMap(hide),
    ...profile.sockets.flatMap((path) => ['--ro-bind', '/dev/null', path]),
    ...networkArgs(profile.network),
    ...isolation,
    ...['--chdir', profile.cwd, '--'],
  ]
}

const isolation = [
  '--unshare-all',
  // Named although `all` has it: `all` only tries, and without it the next line would not hold.
  '--unshare-user',
  '--disable-userns',
  // Root keeps every capability otherwise, and could mount the host's disk writable again.
  '--cap-drop',
  'ALL',
  '--new-session',
  '--die-with-parent',
]

function hide({ kind, path }: PathOfKind): string[] {
  return kind === 'file' ? ['--ro-bind', '/dev/null', path] : emptyDirectory(path)
}

/**
 * Takes no writes that would silently be lost, by its permissions: a read-only mount would be one more step for each. It lives
 * in memory, so it is small in case its owner opens it; what is meant for writing, `/tmp` and the home, is on disk.
 */
function emptyDirectory(path: string): string[] {
  return ['--perms', '0555', '--size', '1048576', '--tmpfs', path]
}

function pin({ path, how }: Pin): string[] {
  if (how === 'blank') return ['--ro-bind', '/dev/null', path]
  return [how === 'own-mount' ? '--bind' : '--ro-bind', path, path]
}

function networkArgs(network: SandboxProfile['network']): string[] {
  if (network === undefined) return []
  return ['--ro-bind', network.socket, insideSocket, '--ro-bind', network.node, insideNode]
}

/** Whether `path` is `directory` or below it; both are real and absolute. */
export function isInside(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`)
}
