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
  /** Held only where it exists; otherwise a command may make it. */
  readonly whenPresent?: boolean | undefined
}

/**
 * What programs of the host read and obey: a command may not change it, nor make it where it is missing (SEC-128).
 *
 * The last four make package managers and shells of the user outside run programs (`script-shell`, `yarnPath`).
 * Installing reads and never writes them, so it works as before; what is refused is setting up a project's registry or
 * its Yarn, and checking out a commit that has another of these files, as with `.vscode`. `package.json` can do as much
 * harm, but no one could work with it read-only.
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
  // No placeholder: direnv obeys no new one before its user allows it, and would complain of an empty one.
  { name: '.envrc', kind: 'file', whenPresent: true },
]

export type Protection = {
  readonly pins: readonly Pin[]
  /** What the guard keeps from being made; undefined where placeholders do. */
  readonly rules: GuardRules | undefined
  /** Files that git would take for new ones: nothing but placeholders, named from their repository. */
  readonly ignored: readonly string[]
  /** Repositories outside the workspace that a worktree in it belongs to. */
  readonly repositories: readonly { readonly worktree: string; readonly directory: string }[]
  /** Removes the placeholders if there are any, undoes what could not be prevented, and says what that was. */
  release(): Promise<string[]>
}

export type ProtectOptions = {
  readonly roots: readonly string[]
  /** Every repository in the roots. */
  readonly found: ScanResult
  /** What the command may change in them; absent: nothing. */
  readonly work?: GitWork | undefined
  readonly ledger: Ledger
  readonly names: readonly ProtectedName[]
  /** A guard keeps missing names from being made. Without one, placeholders in the workspace do. */
  readonly guarded: boolean
  /** Where the command may write. Elsewhere it can make nothing, so nothing needs a placeholder. */
  readonly writable: readonly string[]
}

/** Holds the protected places of a workspace for one command. */
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
  // From here to the holding without a pause: no other command may remove in between what was seen.
  const nothingAt = (path: string): boolean => isAbsent(path, ledger)
  const git = gitPins({ roots, found, work, isAbsent: nothingAt })
  // `git init` and `git clone` make the `.git` that any other command must not make.
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
    // Submodules and linked worktrees have a `.git` of their own too.
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
      // A mount follows the link: what it points to is held. The link itself can be removed, and is put back
      // afterwards.
      if (existsSync(path)) pins.push({ path: realpathSync(path), how: 'read-only' })
    } else if (name !== '.git') {
      // A repository is held with all its parts, and may be one that the command works in.
      pins.push({ path, how: 'read-only' })
      // An editor outside saves by renaming, and the mount of the old file disappears with it: the guard protects the
      // new one.
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
