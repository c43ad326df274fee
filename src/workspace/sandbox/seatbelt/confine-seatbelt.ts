import { randomBytes } from 'node:crypto'
import { realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ifReadable } from '../../if-readable.js'
import type { Confinement } from '../../shell/confinement.js'
import type { SandboxShell } from '../hold-command.js'
import { type MountlessProfile, mountlessConfinement } from '../mountless.js'
import { seatbeltProfile } from './profile.js'

export type SeatbeltOptions = SandboxShell & {
  /** The program that starts another one under a profile. */
  readonly program: string
}

/** Runs each command under its own Seatbelt profile, which all processes that it starts inherit. */
export function seatbeltConfinement(options: SeatbeltOptions): Confinement {
  return mountlessConfinement(options, {
    name: 'seatbelt',
    // The kernel confines the processes; there is no parent process whose end would end them.
    contained: false,
    async start(profile) {
      // A file: a profile can be too long for a command line, and every user of the machine can read command lines.
      const file = join(options.directory, `profile-${randomBytes(9).toString('base64url')}.sb`)
      writeFileSync(file, seatbeltProfile(asKernel(profile, realPath)), { mode: 0o600, flag: 'wx' })
      return {
        file: options.program,
        args: ['-f', file, '--'],
        // The kernel reports a refusal only to the command.
        async finish() {
          await rm(file, { force: true })
          return []
        },
      }
    },
  })
}

/** Returns the profile with all paths in the kernel's form. A path that does not exist is resolved by its directory. */
export function asKernel(profile: MountlessProfile, real: (path: string) => string): MountlessProfile {
  const placed = <Entry extends { readonly path: string }>(entries: readonly Entry[]): Entry[] =>
    entries.map((entry) => ({ ...entry, path: real(entry.path) }))
  return {
    ...profile,
    shown: placed(profile.shown),
    hidden: placed(profile.hidden),
    pins: placed(profile.pins),
    masked: placed(profile.masked),
    sockets: profile.sockets.map(real),
    tmp: real(profile.tmp),
    home: real(profile.home),
    rules: {
      names: profile.rules.names.map(({ directory, name }) => ({ directory: real(directory), name })),
      gitRoots: profile.rules.gitRoots.map(real),
    },
  }
}

/**
 * Returns the path in the kernel's form: `/tmp` and `/var` are links into `/private`, case is as stored, and a file
 * that appears on two volumes has one path.
 */
export function realPath(path: string): string {
  const found = ifReadable(() => realpathSync.native(path)) ?? path
  const data = '/System/Volumes/Data'
  return found.startsWith(`${data}/`) ? found.slice(data.length) : found
}
