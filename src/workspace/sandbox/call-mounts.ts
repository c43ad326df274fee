import { statSync } from 'node:fs'
import { realPathIfReadable } from '../if-readable.js'
import { isInside } from '../inside.js'
import type { CallConfinement } from '../shell/confinement.js'
import type { PathOfKind, SandboxProfile, Shown } from './bubblewrap.js'
import type { Protection } from './protected-paths.js'

export type MountOptions = {
  readonly roots: readonly string[]
  readonly hidden: readonly PathOfKind[]
  readonly readOnly?: readonly string[] | undefined
  readonly writable?: readonly string[] | undefined
  readonly scratch?: (() => string | undefined) | undefined
}

/** Returns what one command sees and can change: the workspace, or the part of it that was granted to the call. */
export function mountsOf(
  options: MountOptions,
  call: CallConfinement | undefined,
  protection: Pick<Protection, 'pins' | 'repositories'>,
): Pick<SandboxProfile, 'hidden' | 'shown' | 'pins'> {
  const { roots } = options
  const granted = grantedDirectories(roots, call)
  const mayWrite = (path: string): boolean => granted.some((directory) => isInside(directory, path))
  // Commits in a worktree write to its repository elsewhere: the repository is writable if the worktree's `.git` is.
  const repositories = protection.repositories.filter(({ worktree }) => mayWrite(worktree))
  const opened = [...granted, ...repositories.map(({ directory }) => directory)]
  const scratch = options.scratch?.()
  return {
    hidden: options.hidden,
    shown: [
      ...as('read-only', [...(options.readOnly ?? []), ...roots]),
      ...as('writable', [...(options.writable ?? []), ...opened]),
      ...as('writable', scratch !== undefined && isRealDirectory(scratch) ? [scratch] : []),
    ],
    // An own mount would be writable: it becomes read-only for a call that cannot write there.
    pins: protection.pins.map((pin) =>
      pin.how === 'own-mount' && !opened.some((directory) => isInside(directory, pin.path))
        ? { ...pin, how: 'read-only' }
        : pin,
    ),
  }
}

/** Returns the directories of the workspace that a command can write to. */
export function grantedDirectories(
  roots: readonly string[],
  call: CallConfinement | undefined,
): readonly string[] {
  return call?.writable?.filter((path) => isGrantable(path, roots)) ?? roots
}

/** Returns the paths to hide that exist, without those inside a directory that is hidden as a whole. */
export function maskedPaths(paths: readonly string[] = []): PathOfKind[] {
  const found = new Map<string, PathOfKind>()
  for (const given of paths) {
    const path = realPathIfReadable(given)
    if (path === undefined) continue
    const isDirectory = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
    found.set(path, { kind: isDirectory ? 'directory' : 'file', path })
  }
  const directories = new Set(
    [...found.values()].flatMap(({ kind, path }) => (kind === 'directory' ? [path] : [])),
  )
  return [...found.values()].filter(({ path }) => !ancestorsOf(path).some((above) => directories.has(above)))
}

function as(how: Shown['how'], paths: readonly string[]): Shown[] {
  return paths.map((path) => ({ path, how }))
}

/** Never allows more than the workspace, even if a command replaced the path by a link since the grant was read. */
function isGrantable(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => isInside(root, path)) && isRealDirectory(path)
}

function isRealDirectory(path: string): boolean {
  return (
    realPathIfReadable(path) === path && statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  )
}

function ancestorsOf(path: string): string[] {
  const parts = path.split('/')
  return parts.slice(1).map((_, count) => parts.slice(0, count + 1).join('/') || '/')
}
