import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Confinement } from '../shell/confinement.js'
import { placeGuard } from './guard/guard.js'
import { type SandboxShell, takeReport } from './hold-command.js'
import { landlockArgs } from './landlock.js'
import { mountlessConfinement } from './mountless.js'

export type LandlockOptions = SandboxShell & { readonly guard: Uint8Array }

/** Runs each command under the guard, which confines it with Landlock and a system call filter. */
export function landlockConfinement(options: LandlockOptions): Confinement {
  const { directory } = options
  const program = placeGuard(options.guard, directory)
  // The error is reported by each command that needs the program.
  program.catch(() => undefined)
  return mountlessConfinement(options, {
    name: 'landlock',
    contained: true,
    async start(profile) {
      const report = join(directory, `refused-${randomBytes(9).toString('base64url')}`)
      return { file: await program, args: landlockArgs(profile, report), finish: () => takeReport(report) }
    },
  })
}
