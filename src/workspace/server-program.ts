import { realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { CapstanError, messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { checkHostBy } from './egress/check-host.js'
import type { CheckHost } from './egress/index.js'
import { type ResourceLimits, resourceLimits } from './limits/resource-limits.js'
import { privateAccess } from './net/index.js'
import { sandboxBackends } from './sandbox/backends.js'
import type { SandboxMode } from './sandbox/choose.js'
import { createLocalShell, type LocalShellOptions, type PipedProcess } from './shell/index.js'
import { directoryInside } from './shell/working-directory.js'

/** A program that a user configured, and whether and how it is confined. */
export type ServerProgram = {
  /** The words of the command. They are not parsed by a shell. */
  readonly argv: readonly [string, ...string[]]
  /**
   * The working directory, relative to the root of the workspace; default: the root. It must be inside the root, unless
   * the program runs as the user.
   */
  readonly cwd?: string | undefined
  /** The variables of its configuration entry. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The search path for programs. */
  readonly path?: string | undefined
  /**
   * `workspace`: in a sandbox, or not at all. `off`: as the user would start it, with network and the user's home.
   * Absent: like commands of the workspace.
   */
  readonly sandbox?: 'workspace' | 'off' | undefined
  /** Whether the entry came with the workspace: then its directory must be inside. */
  readonly fromWorkspace?: boolean | undefined
  /** The hosts it can reach when it is confined, private ones only if they are named. Empty: no network. */
  readonly allowHosts?: readonly string[] | undefined
  /** The directories of the workspace it can write to when it is confined; `.` is all of it. Empty: read-only. */
  readonly writable?: readonly string[] | undefined
  /** Paths that are visible although the sandbox hides their parent, such as the directory it is installed in. */
  readonly readOnly?: readonly string[] | undefined
}

/** A server is a separate principal: its grants come from its configuration, not from what commands can do. */
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

/** A server runs as long as its session, so high totals of processor time and disk use are normal. */
function serverLimits(limits: ResourceLimits = resourceLimits()): ResourceLimits {
  return { ...limits, cpuSeconds: undefined, diskBytes: undefined }
}

/** The options for a program that runs as the user: with the limits of the user's own programs. */
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
    sandbox: sandbox === 'workspace' ? requiredSandbox(base.sandbox) : base.sandbox,
    sandboxOptions: {
      ...options,
      readOnly: [...(options.readOnly ?? []), ...shown],
      ...(allowHosts.length > 0 && { network: { allowHosts, checkHost: checkFor(allowHosts) } }),
    },
  }
}

/** A server that has to be confined is not started without a sandbox: the one that the session names, or else any. */
function requiredSandbox(ofSession: SandboxMode | undefined): SandboxMode {
  return sandboxBackends.find((backend) => backend === ofSession) ?? 'required'
}

/** The error for a path in the entry of a server that cannot be used. */
function placeRefused(option: string, place: string, why: string): CapstanError {
  return new CapstanError(
    'server_place_refused',
    `${option} of the server names ${JSON.stringify(place)}: ${why}`,
  )
}

/** Resolves an absolute path, one in the user's home (`~/…`), or one relative to the workspace. */
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

/** A host that is named explicitly can have a private address; hosts that a pattern matches must be public. */
function checkFor(allowHosts: readonly string[]): CheckHost {
  return checkHostBy(privateAccess(allowHosts.filter((host) => !host.includes('*'))))
}
