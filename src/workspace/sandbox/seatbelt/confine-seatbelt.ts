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

/** Each command under a Seatbelt profile of its own, which every process that it starts inherits. */
export function seatbeltConfinement(options: SeatbeltOptions): Confinement {
  return mountlessConfinement(options, {
    name: 'seatbelt',
    // It is the kernel that holds them, not a process whose end would be theirs.
    contained: false,
    async start(profile) {
      // A file, because a profile can be longer than the words of a command, which every user of the machine can see.
      const file = join(options.directory, `profile-${randomBytes(9).toString('base64url')}.sb`)
      writeFileSync(file, seatbeltProfile(asKernel(profile, realPath)), { mode: 0o600, flag: 'wx' })
      return {
        file: options.program,
        args: ['-f', file, '--'],
        // The kernel says to the command alone what it refused.
        async finish() {
          await rm(file, { force: true })
          return []
        },
      }
    },
  })
}

/** The profile with all paths as the kernel writes them. What does not exist is found by its directory. */
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

/** `/tmp` and `/var` are links into `/private`, case is as it was stored, and each file has one path of two volumes. */
export function realPath(path: string): string {
  const found = ifReadable(() => realpathSync.native(path)) ?? path
  const data = '/System/Volumes/Data'
  return found.startsWith(`${data}/`) ? found.slice(data.length) : found
}
