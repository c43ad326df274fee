import { resolve } from 'node:path'
import { NetError, privateAccess, resolveChecked, systemResolver } from './net/index.js'
import type { CheckHost } from './sandbox/index.js'
import { createLocalShell, type LocalShellOptions, type PipedProcess } from './shell/index.js'

/** A program that a person configured, with what it may do beyond reading the workspace. */
export type ServerProgram = {
  /** Its words; no shell reads them. */
  readonly argv: readonly [string, ...string[]]
  /** Inside the workspace; absent: its root. */
  readonly cwd?: string
  /** All the variables it has beside the fixed harmless list. */
  readonly env?: Readonly<Record<string, string>>
  /** Where programs are looked for. */
  readonly path?: string
  /** Hosts it may reach when a sandbox confines it, private ones too where they are named. None: no network. */
  readonly allowHosts?: readonly string[]
  /** Directories of the workspace it may write to when a sandbox confines it; `.` is all of it. None: it only reads. */
  readonly writable?: readonly string[]
  /** Places it sees although the sandbox hides what is around them, such as the directory it is installed in. */
  readonly readOnly?: readonly string[]
}

/** A server is a principal of its own: what it is granted comes from its configuration alone, not from what commands may do. */
export async function startServerProgram(
  base: Pick<LocalShellOptions, 'root' | 'roots' | 'ledgerDir' | 'sandbox' | 'onNotice'> & {
    readonly sandboxOptions: NonNullable<LocalShellOptions['sandboxOptions']>
  },
  program: ServerProgram,
): Promise<PipedProcess> {
  const { allowHosts = [], readOnly = [], env, path } = program
  const { network: _, scratch: __, ...options } = base.sandboxOptions
  const shell = createLocalShell({
    ...base,
    sandboxOptions: {
      ...options,
      readOnly: [...(options.readOnly ?? []), ...readOnly],
      ...(allowHosts.length > 0 && { network: { allowHosts, checkHost: checkFor(allowHosts) } }),
    },
    ...(env !== undefined && { env }),
    ...(path !== undefined && { path }),
  })
  try {
    const process = await shell.open(program.argv, {
      ...(program.cwd !== undefined && { cwd: program.cwd }),
      confine: writableOf(base.root, program.writable ?? []),
    })
    return {
      ...process,
      async end() {
        await process.end()
        await shell.close()
      },
    }
  } catch (error) {
    await shell.close()
    throw error
  }
}

function writableOf(root: string, writable: readonly string[]): { writable?: readonly string[] } {
  const paths = writable.map((path) => resolve(root, path))
  return paths.includes(root) ? {} : { writable: paths }
}

/** A host that was named outright is meant, wherever it is; what a pattern covers must be public. */
function checkFor(allowHosts: readonly string[]): CheckHost {
  const policyFor = privateAccess(allowHosts.filter((host) => !host.includes('*')))
  return async (host, port) => {
    const [first] = await resolveChecked(host, policyFor(host, port), systemResolver)
    if (first === undefined) throw new NetError('net_unresolved', `The host name "${host}" has no address.`)
    return first
  }
}
