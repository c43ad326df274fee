import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { CapstanError, messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { checkHostBy } from './egress/check-host.js'
import type { CheckHost } from './egress/index.js'
import { type ResourceLimits, resourceLimits } from './limits/resource-limits.js'
import { privateAccess } from './net/index.js'
import { createLocalShell, type LocalShellOptions, type PipedProcess } from './shell/index.js'
import { directoryInside } from './shell/working-directory.js'

/** A program that a person configured, and whether and how it is confined. */
export type ServerProgram = {
  /** Its words; no shell reads them. */
  readonly argv: readonly [string, ...string[]]
  /** Relative to the root of the workspace; default: the root. Inside it, unless the program runs as the user. */
  readonly cwd?: string | undefined
  /** The variables of its entry. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Where programs are looked for. */
  readonly path?: string | undefined
  /**
   * `workspace`: in a sandbox, or not at all. `off`: as the user would start it, with network and the user's home.
   * Absent: as commands of the workspace run.
   */
  readonly sandbox?: 'workspace' | 'off' | undefined
  /** The entry came with the workspace: its directory must be inside. */
  readonly fromWorkspace?: boolean | undefined
  /** Hosts it may reach when it is confined, private ones too where they are named. None: no network. */
  readonly allowHosts?: readonly string[] | undefined
  /** Directories of the workspace it may write to when it is confined; `.` is all of it. None: it only reads. */
  readonly writable?: readonly string[] | undefined
  /** Places it sees although the sandbox hides what is around them, such as the directory it is installed in. */
  readonly readOnly?: readonly string[] | undefined
}

/** A server is a principal of its own: its grants come from its configuration, not from what commands may do. */
export async function startServerProgram(
  base: Pick<LocalShellOptions, 'root' | 'roots' | 'ledgerDir' | 'sandbox' | 'onNotice' | 'limits'> & {
    readonly sandboxOptions: NonNullable<LocalShellOptions['sandboxOptions']>
  },
  program: ServerProgram,
): Promise<PipedProcess> {
  const { env, path, cwd, argv } = program
  const shell = createLocalShell({
    ...base,
    limits: serverLimits(base.limits),
    ...(program.sandbox === 'off' ? asUser : await confinementOf(base, program)),
    ...omitUndefined({ env, path }),
  })
  try {
    if (program.fromWorkspace) await directoryInside([base.root, ...(base.roots ?? [])], cwd)
    const process = await shell.open(argv, {
      cwd,
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

/** A server runs as long as its session: what it uses of processors and disk adds up without being wrong. */
function serverLimits(limits: ResourceLimits = resourceLimits()): ResourceLimits {
  return { ...limits, cpuSeconds: undefined, diskBytes: undefined }
}

/** With the limits that the user's own programs have. */
const asUser = { sandbox: 'off', asUser: true, limits: {} } as const

async function confinementOf(
  base: Parameters<typeof startServerProgram>[0],
  { sandbox, allowHosts = [], writable = [], readOnly = [] }: ServerProgram,
): Promise<Pick<LocalShellOptions, 'sandbox' | 'sandboxOptions'>> {
  const { network: _, scratch: __, ...options } = base.sandboxOptions
  const shown = await Promise.all(readOnly.map((place) => existing('readOnly', base.root, place)))
  for (const place of writable)
    await directoryInside([base.root, ...(base.roots ?? [])], place).catch((error: unknown) => {
      throw placeRefused('writable', place, messageOf(error))
    })
  return {
    // A server that is to be confined is not started where nothing can confine it.
    sandbox: sandbox === 'workspace' ? 'required' : base.sandbox,
    sandboxOptions: {
      ...options,
      readOnly: [...(options.readOnly ?? []), ...shown],
      ...(allowHosts.length > 0 && { network: { allowHosts, checkHost: checkFor(allowHosts) } }),
    },
  }
}

/** A place that the entry of a server names cannot be used. */
function placeRefused(option: string, place: string, why: string): CapstanError {
  return new CapstanError(
    'server_place_refused',
    `${option} of the server names ${JSON.stringify(place)}: ${why}`,
  )
}

/** An absolute path, one in the user's home (`~/…`), or one of the workspace. */
async function existing(option: string, root: string, place: string): Promise<string> {
  const path = /^~(?:\/|$)/.test(place) ? join(homedir(), place.slice(1)) : resolve(root, place)
  return realpath(path).catch(() => {
    throw placeRefused(option, place, `${path} does not exist.`)
  })
}

function writableOf(root: string, writable: readonly string[]): { writable?: readonly string[] } {
  const paths = writable.map((path) => resolve(root, path))
  return paths.includes(root) ? {} : { writable: paths }
}

/** A host that was named outright is meant, wherever it is; what a pattern covers must be public. */
function checkFor(allowHosts: readonly string[]): CheckHost {
  return checkHostBy(privateAccess(allowHosts.filter((host) => !host.includes('*'))))
}
