import { readFile, rm } from 'node:fs/promises'
import type { GitWatch } from '../git/git-guard.js'
import { isInside } from '../inside.js'
import type { CallConfinement, ConfinedCommand } from '../shell/confinement.js'
import type { PathOfKind } from './bubblewrap.js'
import { grantedDirectories } from './call-mounts.js'
import type { Choice, SandboxOptions } from './choose.js'
import { refusedPaths } from './guard/guard.js'
import { type Protection, protect, protectedNames } from './protected-paths.js'

/** The settings for all commands of a shell in a sandbox. */
export type SandboxShell = Pick<Choice, 'roots' | 'directory' | 'ledger' | 'env' | 'path' | 'limits'> &
  Pick<SandboxOptions, 'readOnly' | 'writable' | 'scratch' | 'protect' | 'shownAt' | 'network'> & {
    readonly hidden: readonly PathOfKind[]
  }

/** Removes the paths outside the workspace that no command sees anyway. */
export function visiblePart(
  call: CallConfinement | undefined,
  hidden: readonly PathOfKind[],
): CallConfinement | undefined {
  if (call?.unreadable?.outside === undefined) return call
  const outside = call.unreadable.outside.filter(
    (place) => !hidden.some(({ path }) => isInside(path, place)) && !isInside('/proc', place),
  )
  return { ...call, unreadable: { ...call.unreadable, outside } }
}

/** Protects existing paths. At the end, after the placeholders were removed, checks what the command created. */
export async function watchedProtection(
  {
    roots,
    ledger,
    guarded,
    protect: further = [],
  }: Pick<SandboxShell, 'roots' | 'ledger' | 'protect'> & {
    /** Whether the guard prevents the creation of missing names; if not, placeholders in the workspace do. */
    readonly guarded: boolean
  },
  command: ConfinedCommand,
  watches: readonly GitWatch[],
): Promise<Protection> {
  const end = async (): Promise<string[]> => (await Promise.all(watches.map((watch) => watch.end()))).flat()
  try {
    const writable = grantedDirectories(roots, command.call)
    const found = {
      repositories: watches.flatMap((watch) => watch.found.repositories),
      closed: watches.flatMap((watch) => watch.found.closed),
    }
    const protection = await protect({
      roots,
      found,
      work: command.call?.git,
      ledger,
      names: [...protectedNames, ...further],
      guarded,
      writable,
    })
    return { ...protection, release: async () => [...(await protection.release()), ...(await end())] }
  } catch (error) {
    await end()
    throw error
  }
}

/** Reads the paths that the guard refused, and removes the report. */
export async function takeReport(file: string): Promise<string[]> {
  // The file does not exist when the command was never started.
  const text = await readFile(file, 'utf8').catch(() => '')
  await rm(file, { force: true })
  return refusedPaths(text)
}
