import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ResourceLimits, resourceLimits } from '../limits/resource-limits.js'
import { chooseConfinement } from '../sandbox/choose.js'
import type { Confinement } from './confinement.js'
import { holdLedger, type Ledger } from './ledger.js'
import type { LocalShellOptions } from './local-shell.js'

/** What a shell opens for its first command. */
export type ShellWorkspace = {
  /** The real directories of the workspace; commands run in the first by default. */
  readonly roots: readonly [string, ...string[]]
  readonly ledger: Ledger
  readonly confinement: Confinement
  readonly limits: ResourceLimits
  readonly directory: string
  readonly tmp: string
  close(): Promise<void>
}

export async function openShellWorkspace(options: LocalShellOptions): Promise<ShellWorkspace> {
  const root = await realpath(options.root)
  const others = await Promise.all((options.roots ?? []).map((path) => realpath(path)))
  const roots = [root, ...new Set(others.filter((path) => path !== root))] as const
  const { ledger, release } = await holdLedger(options.ledgerDir)
  try {
    const directory = await mkdtemp(join(ledger.privateDirectory, 'shell-'))
    const tmp = join(directory, 'tmp')
    await mkdir(tmp, { mode: 0o700 })
    const limits = options.limits ?? resourceLimits()
    const confinement = await chooseConfinement({
      mode: options.sandbox,
      roots,
      ledger,
      directory,
      env: options.env,
      path: options.path,
      limits,
      asUser: options.asUser,
      options: options.sandboxOptions ?? {},
      onNotice: options.onNotice,
    })
    return {
      roots,
      ledger,
      confinement,
      limits,
      directory,
      tmp,
      async close() {
        await rm(directory, { recursive: true, force: true })
        await release()
      },
    }
  } catch (error) {
    await release()
    throw error
  }
}
