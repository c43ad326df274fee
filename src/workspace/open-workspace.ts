import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../authority/scope.js'
import type { ToolRuntime } from '../tool/runtime.js'
import { createLocalFiles, type LocalFiles } from './files/index.js'
import { createGuardedFetch, NetError, resolveChecked, systemResolver } from './net/index.js'
import {
  type CheckHost,
  type DoctorCheck,
  doctor,
  type SandboxMode,
  type SandboxOptions,
} from './sandbox/index.js'
import { createScratch, defaultScratchBase, type Scratch } from './scratch/index.js'
import { createLocalSearch } from './search/index.js'
import { createLocalShell, type LocalShell } from './shell/index.js'

export type WorkspaceOptions = {
  /** The directory that a session is rooted in. It must exist. */
  readonly root: string
  /** Further directories that belong to it. */
  readonly roots?: readonly string[]
  /** `auto` (the default) confines commands where the machine can, and says once where it cannot. */
  readonly sandbox?: SandboxMode
  readonly sandboxOptions?: Omit<SandboxOptions, 'network'>
  /** Variables passed to commands, beside the fixed harmless list. */
  readonly env?: Readonly<Record<string, string>>
  readonly path?: string
  /** Hosts that commands may reach, and whether tools may reach private addresses. */
  readonly network?: { readonly allowHosts?: readonly string[]; readonly allowPrivate?: boolean }
  /** Where scratch directories are made. */
  readonly scratchDir?: string
  /** Where this host keeps track of the processes it started. */
  readonly ledgerDir?: string
  readonly onNotice?: (text: string) => void
}

/** What a call may touch, asked at the moment of use. */
export type WorkspacePermit = {
  path(kind: 'read' | 'write', realPath: string): string | undefined
  host(host: string, port: number): string | undefined
}

/** A directory of this machine with everything that may be done to it: the only door to disk, processes and network. */
export interface Workspace {
  /** The real path. */
  readonly root: string
  /** What patterns are relative to; a new object once there is a scratch directory. */
  readonly scope: Scope
  readonly files: LocalFiles
  readonly shell: LocalShell
  readonly scratch: Scratch
  /** The surface for one call, held to its permit and stopped by its signal. */
  runtimeFor(permit: WorkspacePermit, signal: AbortSignal): ToolRuntime
  /** Proves each denial of the sandbox by trying it. */
  doctor(): Promise<DoctorCheck[]>
  /** Ends every command and job, and removes the scratch directory. */
  close(): Promise<void>
}

/** Opens a directory as a workspace. Nothing is started or written until it is used. */
export function openWorkspace(options: WorkspaceOptions): Workspace {
  const scratch = createScratch({ baseDir: options.scratchDir ?? defaultScratchBase() })
  const files = createLocalFiles({
    root: options.root,
    scratch,
    ...(options.roots && { roots: options.roots }),
  })
  const { root } = files
  const shell = openShell(root, scratch, options)
  const roots = [root, ...(options.roots ?? [])]
  let scope: Scope = { variables: { workspace: roots }, home: homedir() }

  return {
    root,
    files,
    shell,
    scratch,
    get scope() {
      if (scratch.path !== undefined && scope.variables.scratch === undefined) {
        scope = { ...scope, variables: { ...scope.variables, scratch: [scratch.path] } }
      }
      return scope
    },
    runtimeFor(permit, signal) {
      return {
        files: files.forCall({ permit: (kind, realPath) => permit.path(kind, realPath), signal }),
        search: createLocalSearch({ root, permit: (realPath) => permit.path('read', realPath) }),
        shell: shellFor(shell, signal),
        net: createGuardedFetch({
          permitHost: (host, port) => permit.host(host, port),
          ...(options.network?.allowPrivate === undefined
            ? {}
            : { allowPrivate: options.network.allowPrivate }),
        }),
        scratch,
      }
    },
    doctor,
    async close() {
      await shell.close()
      await scratch.close()
    },
  }
}

function openShell(root: string, scratch: Scratch, options: WorkspaceOptions): LocalShell {
  const { allowHosts = [], allowPrivate = false } = options.network ?? {}
  const checkHost: CheckHost = async (host) => {
    const [first] = await resolveChecked(host, { allowPrivate }, systemResolver)
    if (first === undefined) throw new NetError('net_unresolved', `The host name "${host}" has no address.`)
    return first
  }
  return createLocalShell({
    root,
    ledgerDir: options.ledgerDir ?? join(homedir(), '.capstan', 'processes'),
    sandbox: options.sandbox ?? 'auto',
    // No hosts: no network at all, never all of it.
    sandboxOptions: {
      ...options.sandboxOptions,
      ...(allowHosts.length > 0 ? { network: { allowHosts, checkHost } } : {}),
    },
    scratchFile: async (label) => {
      const { path, file } = await scratch.create(label)
      await file.close()
      return path
    },
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.path === undefined ? {} : { path: options.path }),
    ...(options.onNotice === undefined ? {} : { onNotice: options.onNotice }),
  })
}

/** A call that is stopped stops its commands, whether the tool passes the signal on or not. */
function shellFor(shell: LocalShell, signal: AbortSignal): NonNullable<ToolRuntime['shell']> {
  return {
    run: (command, request = {}) =>
      shell.run(command, {
        ...request,
        signal: request.signal === undefined ? signal : AbortSignal.any([signal, request.signal]),
      }),
    start: (command, request) => shell.start(command, request),
    jobs: () => shell.jobs(),
    readJob: (id, from) => shell.readJob(id, from),
    killJob: (id) => shell.killJob(id),
  }
}
