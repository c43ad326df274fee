import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { namesIfReadable } from '../if-readable.js'
import { isInside } from '../inside.js'
import type { PathOfKind } from './bubblewrap.js'
import { tasksWords } from './guard/guard.js'
import { kernelFiles } from './kernel-files.js'
import type { MountlessProfile } from './mountless.js'

/** Returns the arguments before a command that confine it, up to and including `--`. */
export function landlockArgs(profile: MountlessProfile, report: string): string[] {
  const writable = profile.shown.filter(({ how }) => how === 'writable').map(({ path }) => path)
  const readOnly = profile.shown.filter(({ how }) => how === 'read-only').map(({ path }) => path)
  const denied = deniedPaths(profile)
  const names = new Map<string, { directory: string; name: string }>()
  const protect = (path: string): void =>
    void names.set(path, { directory: dirname(path), name: basename(path) })
  for (const { directory, name } of profile.rules.names)
    names.set(`${directory}/${name}`, { directory, name })
  for (const { path, how } of profile.pins) if (how === 'read-only') protect(path)
  // Landlock rules can only add access: a read-only path inside a writable one is protected by the guard.
  for (const path of readOnly) if (writable.some((around) => isBelow(around, path))) protect(path)
  for (const path of denied) if (writable.some((around) => isBelow(around, path))) protect(path)
  return [
    '--confine',
    ...['--report-to', report],
    ...tasksWords(profile.maxTasks),
    ...(profile.proxyPort === undefined ? [] : ['--proxy', String(profile.proxyPort)]),
    ...[...readableSystem(profile.hidden), ...readOnly].flatMap((path) => ['--read', path]),
    ...[...writable, profile.tmp, profile.home, ...devices].flatMap((path) => ['--write', path]),
    ...profile.pins.flatMap(({ path, how }) => (how === 'own-mount' ? ['--open', path] : [])),
    ...denied.flatMap((path) => ['--deny', path]),
    ...profile.rules.gitRoots.flatMap((root) => ['--git', root]),
    ...Array.from(names.values(), ({ directory, name }) => ['--name', directory, name]).flat(),
    '--',
  ]
}

/** Harmless devices that most programs need. */
const devices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom']

/** Returns the paths that rules deny, sockets, and hidden paths inside visible ones. */
function deniedPaths({ masked, sockets, hidden, shown }: MountlessProfile): string[] {
  const within = hidden.filter(({ path }) => shown.some((around) => isBelow(around.path, path)))
  return [...new Set([...masked, ...within].map(({ path }) => path)), ...sockets]
}

/**
 * Returns the topmost directories and files of the system that contain nothing hidden. Links are omitted: their target
 * is in the list, or hidden. A directory that contains something hidden cannot be listed.
 */
function readableSystem(hidden: readonly PathOfKind[]): string[] {
  const covered = ['/tmp', '/run', '/dev', '/proc', ...hidden.map(({ path }) => path)]
  return [...placesBelow('/', covered), ...readableProc()]
}

function placesBelow(directory: string, covered: readonly string[]): string[] {
  const prefix = directory === '/' ? '/' : `${directory}/`
  // What is not readable for this user is not readable for its commands either.
  return namesIfReadable(directory).flatMap((name) => {
    const path = `${prefix}${name}`
    if (covered.includes(path)) return []
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink()) return []
    return stat.isDirectory() && covered.some((one) => isBelow(path, one))
      ? placesBelow(path, covered)
      : [path]
  })
}

/** Returns the files of `/proc` that a sandbox with mounts shows too, without those of processes. */
function readableProc(): string[] {
  const { masked } = kernelFiles()
  return placesBelow('/proc', [
    // Shared memory and locks of the host, with the process IDs.
    ...['/proc/sysvipc', '/proc/locks'],
    ...masked.map(({ path }) => path),
    ...namesIfReadable('/proc').flatMap((name) => (/^[0-9]+$/.test(name) ? [`/proc/${name}`] : [])),
  ])
}

function isBelow(directory: string, path: string): boolean {
  return path !== directory && isInside(directory, path)
}
