import { existsSync, lstatSync, readlinkSync, realpathSync, renameSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type GitPins, gitPins, type IsAbsent } from '../git/git-pins.js'
import type { GitWork } from '../git/git-work.js'
import type { ScanResult } from '../git/repository-scan.js'
import { isInside } from '../inside.js'
import type { Ledger } from '../shell/ledger.js'
import type { Pin } from './bubblewrap.js'
import type { GuardRules } from './guard/guard.js'
import { holdStubs, isAbsent, stubsSettled } from './stubs.js'

export type ProtectedName = {
  readonly name: string
  readonly kind: 'file' | 'directory'
  /** Protected only if it exists; otherwise a command can create it. */
  readonly whenPresent?: boolean | undefined
}

/**
 * Files that programs of the host read and act on: a command can neither change them nor create them if they are
 * missing (SEC-128).
 *
 * The last four make the user's package managers and shells outside the sandbox run programs (`script-shell`,
 * `yarnPath`). An installation reads them and never writes them, so it still works. What is refused is setting up a
 * project's registry or its Yarn, and checking out a commit in which one of these files differs, as with `.vscode`.
 * `package.json` is just as dangerous, but a read-only `package.json` would make normal work impossible.
 */
export const protectedNames: readonly ProtectedName[] = [
  { name: '.git', kind: 'directory' },
  { name: '.capstan', kind: 'directory' },
  { name: '.agent', kind: 'directory' },
  { name: '.agents', kind: 'directory' },
  { name: '.claude', kind: 'directory' },
  { name: '.codex', kind: 'directory' },
  { name: '.cursor', kind: 'directory' },
  { name: '.gemini', kind: 'directory' },
  { name: '.mcp.json', kind: 'file' },
  { name: '.vscode', kind: 'directory' },
  { name: '.idea', kind: 'directory' },
  { name: '.husky', kind: 'directory' },
  { name: '.npmrc', kind: 'file' },
  { name: '.yarnrc', kind: 'file' },
  { name: '.yarnrc.yml', kind: 'file' },
  // No placeholder: direnv ignores a new file until its user allows it, and would report an error for an empty one.
  { name: '.envrc', kind: 'file', whenPresent: true },
]

export type Protection = {
  readonly pins: readonly Pin[]
  /** The names whose creation the guard prevents; undefined if placeholders are used instead. */
  readonly rules: GuardRules | undefined
  /** Files that git would treat as new: placeholders only, with their path in the repository. */
  readonly ignored: readonly string[]
  /** Repositories outside the workspace that a worktree in it belongs to. */
  readonly repositories: readonly { readonly worktree: string; readonly directory: string }[]
  /** Removes the placeholders if there are any, undoes what could not be prevented, and returns a description of it. */
  release(): Promise<string[]>
}

export type ProtectOptions = {
  readonly roots: readonly string[]
  /** All repositories in the roots. */
  readonly found: ScanResult
  /** What the command can change in them; absent: nothing. */
  readonly work?: GitWork | undefined
  readonly ledger: Ledger
  readonly names: readonly ProtectedName[]
  /** Whether a guard prevents the creation of missing names. Without one, placeholders in the workspace do. */
  readonly guarded: boolean
  /** The paths that the command can write to. It can create nothing elsewhere, so no placeholders are needed there. */
  readonly writable: readonly string[]
}

/** Protects the control files of a workspace for one command. */
export async function protect({
  roots,
  found,
  work,
  ledger,
  names,
  guarded,
  writable,
}: ProtectOptions): Promise<Protection> {
  await stubsSettled()
  // No `await` from here until the paths are protected: no other command can remove in between what was checked.
  const nothingAt = (path: string): boolean => isAbsent(path, ledger)
  const git = gitPins({ roots, found, work, isAbsent: nothingAt })
  // `git init` and `git clone` create the `.git` that no other command can create.
  const held = work?.opens.has('new') === true ? names.filter(({ name }) => name !== '.git') : names
  const parts = roots.map((root) => holdRoot(root, held, nothingAt))
  const absent = [...parts.flatMap((part) => part.absent), ...git.absent]
  const isReadOnly = (path: string): boolean =>
    roots.some((root) => isInside(root, path)) && !writable.some((one) => isInside(one, dirname(path)))
  const needless = new Set(absent.map(({ path }) => path).filter(isReadOnly))
  const missing = absent.filter(({ path }) => !needless.has(path))
  const links = parts.flatMap((part) => part.links)
  const unmounted = guarded ? new Set(absent.map(({ path }) => path)) : needless
  const releaseStubs = guarded ? undefined : holdStubs(missing, ledger)
  return {
    pins: [...parts.flatMap(({ pins }) => pins), ...git.pins].filter(({ path }) => !unmounted.has(path)),
    rules: guarded
      ? rulesFor([...missing, ...links, ...parts.flatMap(({ named }) => named), ...git.named], roots, work)
      : undefined,
    ignored: guarded ? [] : parts.flatMap(({ ignored }) => ignored),
    repositories: git.outside,
    async release() {
      await releaseStubs?.()
      return links.flatMap(restoreLink)
    },
  }
}

function rulesFor(
  paths: readonly { readonly path: string }[],
  roots: readonly string[],
  work: GitWork | undefined,
): GuardRules {
  const unique = new Set(paths.map(({ path }) => path))
  return {
    names: Array.from(unique, (path) => ({ directory: dirname(path), name: basename(path) })),
    // Submodules and linked worktrees also have a `.git`.
    gitRoots: work !== undefined && work.opens.size > 0 ? [] : roots,
  }
}

type Part = Pick<Protection, 'pins' | 'ignored'> &
  Pick<GitPins, 'absent' | 'named'> & { readonly links: readonly Link[] }
type Link = { readonly path: string; readonly target: string }

function holdRoot(root: string, names: readonly ProtectedName[], nothingAt: IsAbsent): Part {
  const pins: Pin[] = []
  const absent: GitPins['absent'][number][] = []
  const named: GitPins['named'][number][] = []
  const links: Link[] = []
  for (const { name, kind, whenPresent } of names) {
    const path = join(root, name)
    if (nothingAt(path)) {
      if (whenPresent === true) continue
      absent.push({ kind, path })
      pins.push({ path, how: 'read-only' })
    } else if (lstatSync(path).isSymbolicLink()) {
      links.push({ path, target: readlinkSync(path) })
      // A mount follows the link: its target is protected. The link itself can be removed, and is restored afterwards.
      if (existsSync(path)) pins.push({ path: realpathSync(path), how: 'read-only' })
    } else if (name !== '.git') {
      // Without `.git`: `gitPins` protects each part of a repository, and the command may be allowed to work in it.
      pins.push({ path, how: 'read-only' })
      // An editor outside saves by renaming, which removes the mount of the old file: the guard protects the new one.
      named.push({ path })
    }
  }
  const isRepository = !nothingAt(join(root, '.git'))
  const ignored = names.flatMap(({ name, kind }) =>
    isRepository && kind === 'file' && absent.some(({ path }) => path === join(root, name))
      ? [`/${name}`]
      : [],
  )
  return { pins, ignored, absent, named, links }
}

function restoreLink({ path, target }: Link): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true && readlinkSync(path) === target) return []
  if (stat !== undefined) renameSync(path, freeName(`${path}.refused`))
  symlinkSync(target, path)
  return [`${basename(path)} is protected: the link was restored.`]
}

function freeName(wanted: string): string {
  let name = wanted
  for (let count = 2; lstatSync(name, { throwIfNoEntry: false }) !== undefined; count++)
    name = `${wanted}-${count}`
  return name
}
