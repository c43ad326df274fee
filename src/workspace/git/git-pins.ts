import { lstatSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { isInside } from '../inside.js'
import type { Pin } from '../sandbox/bubblewrap.js'
import { parseConfig } from './config-text.js'
import { type GitEntry, gitEntry, pointedTo, readSmall } from './git-directory.js'
import type { GitWork } from './git-work.js'
import { gitlinksOf } from './gitlinks.js'
import type { ScanResult } from './repository-scan.js'

/** How the repositories of a workspace are protected while one command runs. */
export type GitPins = {
  readonly pins: readonly Pin[]
  /** Placeholders for paths that must not be created. Create them before the command and remove them after it. */
  readonly absent: readonly { readonly kind: 'file' | 'directory'; readonly path: string }[]
  /**
   * Pinned paths that the guard in the sandbox protects too: a mount disappears when another program replaces the file,
   * and a directory that is not a mount could be moved away and created again.
   */
  readonly named: readonly { readonly path: string }[]
  /** Repositories outside the workspace that a worktree in it belongs to, and that the command can write to. */
  readonly outside: readonly { readonly worktree: string; readonly directory: string }[]
}

/** Whether the user has nothing at a path; placeholders of running commands are ignored. */
export type IsAbsent = (path: string) => boolean

export type GitPinOptions = {
  readonly roots: readonly string[]
  readonly found: ScanResult
  readonly work: GitWork | undefined
  readonly isAbsent: IsAbsent
}

/** Each pin is a mount for every command. */
const maxPins = 300

/**
 * Makes every repository read-only as a whole, wherever its parts are, and also the paths of submodules, because git
 * opens repositories there. Only the repositories that the git commands of the command line work in are writable,
 * except for files that git runs as programs or reads as configuration.
 */
export function gitPins({ roots, found, work, isAbsent }: GitPinOptions): GitPins {
  const pins: Pin[] = found.closed.filter((path) => !roots.includes(path)).map(readOnly)
  const absent: { kind: 'file' | 'directory'; path: string }[] = []
  const named: { path: string }[] = []
  const outside: { worktree: string; directory: string }[] = []
  const worked = new Set((work?.directories ?? []).flatMap((directory) => nearest(directory, roots) ?? []))
  const add = (held: Held): void => {
    pins.push(...held.pins)
    absent.push(...held.absent)
    named.push(...(held.named ?? []))
  }
  for (const { kind, directory } of found.repositories) {
    if (kind === 'bare') {
      if (!roots.includes(directory)) pins.push(readOnly(directory))
      continue
    }
    const entry = isAbsent(join(directory, '.git')) ? undefined : gitEntry(directory)
    if (entry === undefined) continue
    // `git worktree remove` and `git worktree move` move or remove a worktree with its part of the git directory.
    if (work?.opens.has('worktrees') === true && isWorktreeOf(entry, worked)) continue
    const changed = work !== undefined && worked.has(directory)
    if (changed) {
      const opened = openRepository(entry, work, isAbsent)
      add(opened)
      if (roots.includes(directory) && opened.common !== undefined && !insideAny(roots, opened.common))
        outside.push({ worktree: entry.path, directory: opened.common })
    } else {
      pins.push(...closeRepository(entry, roots))
    }
    if (!(changed && work.opens.has('modules'))) add(holdGitlinks(entry, directory, isAbsent))
    add(holdConfigured(entry, directory, roots, isAbsent))
  }
  return { pins: ordered(collapsed(pins, roots)), absent: unique(absent), named, outside }
}

function isWorktreeOf({ kind, gitDirectory }: GitEntry, worked: ReadonlySet<string>): boolean {
  if (kind !== 'file' || gitDirectory === undefined) return false
  return [...worked].some((directory) => dirname(gitDirectory) === join(directory, '.git/worktrees'))
}

type Held = Pick<GitPins, 'pins' | 'absent'> & { readonly named?: GitPins['named'] | undefined }

const readOnly = (path: string): Pin => ({ path, how: 'read-only' })
const ownMount = (path: string): Pin => ({ path, how: 'own-mount' })

function closeRepository(entry: GitEntry, roots: readonly string[]): Pin[] {
  const { path, kind, gitDirectory } = entry
  // A mount follows a link: the target and the directory of the link are read-only, so that the link cannot change.
  if (kind === 'link') {
    const held = gitDirectory !== undefined && insideAny(roots, gitDirectory) ? [readOnly(gitDirectory)] : []
    return roots.includes(dirname(path)) ? held : [readOnly(dirname(path)), ...held]
  }
  if (kind === 'directory') return [readOnly(path)]
  const elsewhere =
    gitDirectory !== undefined && insideAny(roots, gitDirectory) ? [readOnly(gitDirectory)] : []
  return [readOnly(path), ...elsewhere]
}

function openRepository(
  entry: GitEntry,
  work: GitWork,
  isAbsent: IsAbsent,
): Held & { readonly common?: string | undefined } {
  const { path, kind, gitDirectory } = entry
  if (kind === 'directory') return openDirectory(path, work, isAbsent)
  if (kind !== 'file' || gitDirectory === undefined) return { pins: closeRepository(entry, []), absent: [] }
  const common = pointedTo(join(gitDirectory, 'commondir'), /^(.+)\n?$/)
  if (common === undefined) {
    const own = openDirectory(gitDirectory, work, isAbsent)
    return { ...own, pins: [readOnly(path), ...own.pins] }
  }
  // The `.git` file is content of the workspace and can point anywhere. It is trusted only if its target points back,
  // which only the owner of that repository can arrange.
  const back = pointedTo(join(gitDirectory, 'gitdir'), /^(.+)\n?$/)
  if (back !== path || dirname(gitDirectory) !== join(common, 'worktrees'))
    return { pins: [readOnly(path)], absent: [] }
  const repository = openDirectory(common, { ...work, opens: new Set() }, isAbsent)
  const own = hold(gitDirectory, isAbsent, [
    ['commondir', 'file'],
    ['gitdir', 'file'],
    ['config.worktree', 'file'],
  ])
  return {
    common,
    pins: [readOnly(path), ...repository.pins, ownMount(gitDirectory), ...own.pins],
    absent: [...repository.absent, ...own.absent],
    named: repository.named,
  }
}

/** Allows commits; files that make git run programs, or read its configuration elsewhere, stay read-only. */
function openDirectory(git: string, { opens }: GitWork, isAbsent: IsAbsent): Held {
  const held = hold(git, isAbsent, [
    ['hooks', 'directory'],
    ['info', 'directory'],
    ['config', 'file'],
    ['config.worktree', 'file'],
    ['commondir', 'file'],
    ...(opens.has('modules') ? [] : ([['modules', 'directory']] as const)),
    ...(opens.has('worktrees') ? [] : ([['worktrees', 'directory']] as const)),
    ...(isDirectory(join(git, 'objects/info')) ? ([['objects/info/alternates', 'file']] as const) : []),
  ])
  return { pins: [ownMount(git), ...held.pins], absent: held.absent, named: held.pins }
}

/**
 * Git opens the paths that have commits in its index, with the configuration of the repository there: an empty path
 * stays empty, and none can be moved away to create another repository in its place.
 */
function holdGitlinks({ gitDirectory }: GitEntry, directory: string, isAbsent: IsAbsent): Held {
  const pins: Pin[] = []
  const absent: { kind: 'directory'; path: string }[] = []
  for (const path of gitDirectory === undefined ? [] : gitlinksOf(join(gitDirectory, 'index'))) {
    const steps = stepsTo(directory, path)
    if (steps === undefined) continue
    for (const [at, step] of steps.entries()) {
      if (isAbsent(step)) {
        absent.push({ kind: 'directory', path: step })
        pins.push(readOnly(step))
        break
      }
      if (!isDirectory(step)) break
      const isPlace = at === steps.length - 1
      pins.push(isPlace && gitEntry(step) === undefined ? readOnly(step) : ownMount(step))
    }
  }
  return { pins, absent }
}

/** Pins hooks and further configuration files that are in the workspace because the configuration names them. */
function holdConfigured(
  { gitDirectory }: GitEntry,
  directory: string,
  roots: readonly string[],
  isAbsent: IsAbsent,
): Held {
  const pins: Pin[] = []
  const absent: { kind: 'file' | 'directory'; path: string }[] = []
  const config = gitDirectory === undefined ? undefined : readSmall(join(gitDirectory, 'config'))
  for (const { section, key, value } of parseConfig(config ?? '') ?? []) {
    if (typeof value !== 'string' || value === '' || value.startsWith('~')) continue
    const isHooks = section === 'core' && key === 'hookspath'
    const isInclude = (section === 'include' || section === 'includeif') && key === 'path'
    if (!isHooks && !isInclude) continue
    const path = resolve(isHooks ? directory : (gitDirectory ?? directory), value)
    if (!insideAny(roots, path) || roots.includes(path) || isInside(join(directory, '.git'), path)) continue
    if (!isDirectory(dirname(path))) continue
    if (isAbsent(path)) absent.push({ kind: isHooks ? 'directory' : 'file', path })
    else if (lstatSync(path).isSymbolicLink()) continue
    pins.push(readOnly(path))
  }
  return { pins, absent, named: pins }
}

function hold(
  directory: string,
  isAbsent: IsAbsent,
  names: readonly (readonly [name: string, kind: 'file' | 'directory'])[],
): Held {
  const entries = names.map(([name, kind]) => ({ path: join(directory, name), kind }))
  return {
    pins: entries.map(({ path }) => readOnly(path)),
    absent: entries.filter(({ path }) => isAbsent(path)),
  }
}

/** Returns the directory with the `.git` that a git command in this directory works on. */
function nearest(directory: string, roots: readonly string[]): string | undefined {
  for (let at = directory; insideAny(roots, at); at = dirname(at)) {
    if (gitEntry(at) !== undefined) return at
  }
  return undefined
}

function stepsTo(directory: string, path: string): string[] | undefined {
  const names = path.split('/')
  if (names.some((name) => name === '' || name === '.' || name === '..')) return undefined
  return names.map((_, count) => join(directory, ...names.slice(0, count + 1)))
}

/** Above the limit, whole top-level directories of the workspace become read-only: those with the most pins first. */
function collapsed(pins: readonly Pin[], roots: readonly string[]): readonly Pin[] {
  if (pins.length <= maxPins) return pins
  const groups = new Map<string, number>()
  for (const { path } of pins) {
    const top = topOf(path, roots)
    if (top !== undefined) groups.set(top, (groups.get(top) ?? 0) + 1)
  }
  let left = pins
  for (const [top] of [...groups].toSorted(([, a], [, b]) => b - a)) {
    if (left.length <= maxPins) break
    left = [...left.filter(({ path }) => !isInside(top, path)), readOnly(top)]
  }
  return left
}

function topOf(path: string, roots: readonly string[]): string | undefined {
  const root = roots.find((one) => isInside(one, path))
  const [first = ''] = root === undefined ? [] : relative(root, path).split(sep)
  return root === undefined || first === '' || first === '.git' ? undefined : join(root, first)
}

/** Sorts a directory before its content and removes duplicates; of two pins for one path, the stricter remains. */
function ordered(pins: readonly Pin[]): Pin[] {
  const kept = new Map<string, Pin>()
  for (const pin of pins) if (kept.get(pin.path)?.how !== 'read-only') kept.set(pin.path, pin)
  return [...kept.values()].toSorted((a, b) => a.path.length - b.path.length)
}

function unique<Entry extends { readonly path: string }>(entries: readonly Entry[]): Entry[] {
  return [...new Map(entries.map((entry) => [entry.path, entry])).values()]
}

function insideAny(roots: readonly string[], path: string): boolean {
  return roots.some((root) => isInside(root, path))
}

function isDirectory(path: string): boolean {
  return (
    statSync(path, { throwIfNoEntry: false })?.isDirectory() === true && !lstatSync(path).isSymbolicLink()
  )
}
