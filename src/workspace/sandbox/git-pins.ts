import { lstatSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Pin } from './bubblewrap.js'

/** How a repository is held: it can be committed to, and what makes git run programs cannot be changed. */
export type GitPins = {
  /** Directories outside the workspace that belong to its repository. */
  readonly writable: readonly string[]
  readonly pins: readonly Pin[]
  /** Placeholders for what must not appear; to be made before and removed after the command. */
  readonly absent: readonly { readonly kind: 'file' | 'directory'; readonly path: string }[]
  /** Files that must not appear but cannot have a placeholder, since git would stumble over it. */
  readonly unwanted: readonly string[]
}

/** Whether there is nothing of the user's at a path; placeholders of running commands count as nothing. */
export type IsAbsent = (path: string) => boolean

/**
 * For a `.git` directory inside the workspace, and for the `.git` file of a linked worktree. Hooks, configuration and
 * attributes are what git turns into programs (`core.fsmonitor`, filters, aliases); a `commondir` makes it read them elsewhere.
 */
export function gitPins(root: string, isAbsent: IsAbsent): GitPins | undefined {
  const git = join(root, '.git')
  if (isAbsent(git)) return undefined
  const stat = lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isDirectory() === true) return ofDirectory(git, isAbsent)
  if (stat?.isFile() === true) return ofWorktree(git, isAbsent)
  return undefined
}

/**
 * For a `.git` below the root of the workspace. Fewer placeholders than there: there may be many of these, and what they would
 * keep away has no effect as long as the configuration stays as it is. Nothing outside the workspace is opened for it.
 */
export function nestedGitPins(directory: string, isAbsent: IsAbsent): GitPins | undefined {
  const git = join(directory, '.git')
  const stat = isAbsent(git) ? undefined : lstatSync(git, { throwIfNoEntry: false })
  if (stat?.isFile() === true) {
    return { writable: [], pins: [{ path: git, how: 'read-only' }], absent: [], unwanted: [] }
  }
  if (stat?.isDirectory() !== true) return undefined
  const whole = ofDirectory(git, isAbsent)
  const spared = new Set([
    join(git, 'modules'),
    ...(usesWorktreeConfig(join(git, 'config')) ? [] : [join(git, 'config.worktree')]),
  ])
  const left = whole.absent.filter(({ path }) => spared.has(path)).map(({ path }) => path)
  return {
    ...whole,
    pins: whole.pins.filter(({ path }) => !left.includes(path)),
    absent: whole.absent.filter(({ path }) => !left.includes(path)),
  }
}

function usesWorktreeConfig(config: string): boolean {
  try {
    return /worktreeconfig|include/i.test(readFileSync(config, 'utf8'))
  } catch {
    // None, and none can be made: a placeholder holds its place.
    return false
  }
}

function ofDirectory(git: string, isAbsent: IsAbsent): GitPins {
  const held = hold(git, isAbsent, [
    { name: 'hooks', kind: 'directory' },
    { name: 'info', kind: 'directory' },
    { name: 'modules', kind: 'directory' },
    { name: 'config', kind: 'file' },
    { name: 'config.worktree', kind: 'file' },
  ])
  return {
    writable: [],
    pins: [{ path: git, how: 'own-mount' }, ...held.pins],
    absent: held.absent,
    unwanted: [join(git, 'commondir')].filter(isAbsent),
  }
}

/**
 * The `.git` file is part of the repository's content and may point anywhere. It is believed only if the place it points to
 * points back, which nobody but that repository's owner can arrange; otherwise its target stays as unwritable as it is.
 */
function ofWorktree(file: string, isAbsent: IsAbsent): GitPins {
  const pinned: GitPins = { writable: [], pins: [{ path: file, how: 'read-only' }], absent: [], unwanted: [] }
  const gitDirectory = pointedTo(file, /^gitdir: (.+)\n?$/)
  if (gitDirectory === undefined) return pinned
  const back = pointedTo(join(gitDirectory, 'gitdir'), /^(.+)\n?$/)
  const common = pointedTo(join(gitDirectory, 'commondir'), /^(.+)\n?$/)
  if (back !== file || common === undefined || dirname(gitDirectory) !== join(common, 'worktrees'))
    return pinned
  const repository = ofDirectory(common, isAbsent)
  const own = hold(gitDirectory, isAbsent, [
    { name: 'commondir', kind: 'file' },
    { name: 'gitdir', kind: 'file' },
    { name: 'config.worktree', kind: 'file' },
  ])
  return {
    writable: [common],
    pins: [
      ...pinned.pins,
      ...repository.pins,
      { path: join(common, 'worktrees'), how: 'read-only' },
      { path: gitDirectory, how: 'own-mount' },
      ...own.pins,
    ],
    absent: [...repository.absent, ...own.absent],
    unwanted: repository.unwanted,
  }
}

type Held = { readonly name: string; readonly kind: 'file' | 'directory' }

function hold(
  directory: string,
  isAbsent: IsAbsent,
  names: readonly Held[],
): Pick<GitPins, 'pins' | 'absent'> {
  const pins: Pin[] = []
  const absent: { kind: 'file' | 'directory'; path: string }[] = []
  for (const { name, kind } of names) {
    const path = join(directory, name)
    if (isAbsent(path)) absent.push({ kind, path })
    pins.push({ path, how: 'read-only' })
  }
  return { pins, absent }
}

function pointedTo(file: string, form: RegExp): string | undefined {
  try {
    const target = form.exec(readFileSync(file, 'utf8'))?.[1]
    return target === undefined ? undefined : realpathSync(resolve(dirname(file), target))
  } catch {
    // Not there or not readable: then it points to nothing that can be used.
    return undefined
  }
}
