import { existsSync, lstatSync, readlinkSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Ledger } from '../shell/ledger.js'
import type { Pin } from './bubblewrap.js'
import { gitPins } from './git-pins.js'
import { holdStubs, isAbsent, stubsSettled } from './stubs.js'

/** What programs of the host read and obey: a command may not change it, nor make it where it is missing (SEC-128). */
export const protectedNames: readonly { readonly name: string; readonly kind: 'file' | 'directory' }[] = [
  { name: '.git', kind: 'directory' },
  { name: '.capstan', kind: 'directory' },
  { name: '.agent', kind: 'directory' },
  { name: '.mcp.json', kind: 'file' },
  { name: '.vscode', kind: 'directory' },
  { name: '.idea', kind: 'directory' },
  { name: '.husky', kind: 'directory' },
]

export type Protection = {
  readonly pins: readonly Pin[]
  readonly writable: readonly string[]
  /** Removes the placeholders, undoes what could not be prevented, and says what that was. */
  release(): Promise<string[]>
}

/** Holds the protected places of a workspace for one command. */
export async function protect(root: string, ledger: Ledger, names = protectedNames): Promise<Protection> {
  await stubsSettled()
  // From here to the holding without a pause: nobody may remove in between what was seen.
  const nothingAt = (path: string): boolean => isAbsent(path, ledger)
  const git = gitPins(root, nothingAt)
  const pins: Pin[] = []
  const absent = [...(git?.absent ?? [])]
  const links: { path: string; target: string }[] = []
  for (const { name, kind } of names) {
    const path = join(root, name)
    if (name === '.git' && git !== undefined) {
      pins.push(...git.pins)
    } else if (nothingAt(path)) {
      absent.push({ kind, path })
      pins.push({ path, how: kind === 'file' ? 'blank' : 'read-only' })
    } else if (lstatSync(path).isSymbolicLink()) {
      links.push({ path, target: readlinkSync(path) })
      // A mount follows the link: what it points to is held, the link itself can only be put back afterwards.
      if (existsSync(path)) pins.push({ path: realpathSync(path), how: 'read-only' })
    } else {
      pins.push({ path, how: 'read-only' })
    }
  }
  const releaseStubs = holdStubs(absent, ledger)
  return {
    pins,
    writable: git?.writable ?? [],
    async release() {
      await releaseStubs()
      return [...links.flatMap(restoreLink), ...(git?.unwanted ?? []).flatMap(removeUnwanted)]
    },
  }
}

function restoreLink({ path, target }: { path: string; target: string }): string[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink() === true && readlinkSync(path) === target) return []
  if (stat !== undefined) renameSync(path, freeName(`${path}.refused`))
  symlinkSync(target, path)
  return [`${basename(path)} is protected: the link was put back as it was.`]
}

function removeUnwanted(path: string): string[] {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return []
  rmSync(path, { recursive: true, force: true })
  return [`.git/${basename(path)} is protected: it was removed again.`]
}

function freeName(wanted: string): string {
  let name = wanted
  for (let count = 2; lstatSync(name, { throwIfNoEntry: false }) !== undefined; count++)
    name = `${wanted}-${count}`
  return name
}
