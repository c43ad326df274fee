import { readdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { PathFacts } from '../authority/path-facts.js'
import type { Scope } from '../authority/scope.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import type { ToolRuntime } from '../tool/runtime.js'
import type { CommitOutcome, DiscardOutcome } from './backend/backend.js'
import { WorkspaceBackendError } from './backend/errors.js'
import { type ClosedPaths, closePaths } from './closed-paths.js'
import { checkHostBy } from './egress/check-host.js'
import type { NetworkRequest, NetworkRules } from './egress/index.js'
import { findBelow } from './files/find-below.js'
import { followLinks } from './files/follow-links.js'
import { createLocalFiles, type LocalFiles, type WorkspaceFiles } from './files/index.js'
import { resourceLimits } from './limits/resource-limits.js'
import { type AllowPrivate, createGuardedFetch, privateAccess } from './net/index.js'
import { type DoctorCheck, doctor, type SandboxMode, type SandboxOptions } from './sandbox/index.js'
import { createScratch, defaultScratchBase, type Scratch } from './scratch/index.js'
import { createLocalSearch } from './search/index.js'
import { type ServerProgram, startServerProgram } from './server-program.js'
import {
  type CallConfinement,
  createLocalShell,
  type LocalShell,
  type LocalShellOptions,
  type PipedProcess,
  type ResourceLimits,
  type UnreadablePaths,
  type WorkspaceShell,
} from './shell/index.js'

/** Options of {@link openWorkspace}. */
export type WorkspaceOptions = {
  /** The directory that a session is rooted in. It must exist. */
  readonly root: string
  /** Additional directories that belong to it. */
  readonly roots?: readonly string[] | undefined
  /**
   * The directories that `{ad-hoc}` and `{user-data}` expand to at this moment; a new object when they have changed.
   */
  readonly places?: (() => OpenPlaces) | undefined
  /** `auto` (the default) confines commands if the machine supports it, and reports once if it does not. */
  readonly sandbox?: SandboxMode | undefined
  readonly sandboxOptions?:
    | Omit<SandboxOptions, 'network' | 'scratch' | 'scratchBase' | 'shownAt'>
    | undefined
  /** Variables passed to commands, in addition to a fixed list of harmless ones. */
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly path?: string | undefined
  /** Limits of each command that replace the default ones; `Infinity` removes one. */
  readonly limits?: ResourceLimits | undefined
  /** What commands and tools can do on the network. */
  readonly network?: NetworkOptions | undefined
  /** Files and directories that no tool and no command can read or change, such as the session store. */
  readonly closed?: readonly string[] | undefined
  /** Directories that the workspace is a copy of: what is denied there is denied here too. */
  readonly copyOf?: readonly string[] | undefined
  /** The directory in which scratch directories are created. */
  readonly scratchDir?: string | undefined
  /** The directory in which this host records the processes it started. */
  readonly ledgerDir?: string | undefined
  readonly onNotice?: ((text: string) => void) | undefined
}

/** The network access of commands, and the private addresses that commands and tools can connect to. */
export type NetworkOptions = Partial<NetworkRules> & {
  /** All private addresses (`true`), or those of the named hosts. */
  readonly allowPrivate?: AllowPrivate | undefined
}

/** Directories outside the workspace that a host opened for tools that declare them. Real paths. */
export type OpenPlaces = { readonly adHoc: readonly string[]; readonly userData: readonly string[] }

/** Checks each access of a call at the moment of use. Returns the reason for a refusal. */
export type WorkspacePermit = {
  path(kind: 'read' | 'write', realPath: string): string | undefined
  host(host: string, port: number): string | undefined
  command(text: string, cwd: string): string | undefined | Promise<string | undefined>
  grantsCommand(what: { readonly write: string } | { readonly host: string }): boolean
  /** The paths that a sandbox hides from the call's commands. Absent: none. */
  unreadable?(): UnreadablePaths | undefined
  /** Returns whether rules deny a host to the call's commands. Absent: none is denied. */
  deniesHost?(host: string, port: number): boolean
  /** Called for each request of the call's commands that reached the proxy of their sandbox. */
  onRequest?(request: NetworkRequest): void
}

/** Thrown when a tool tried something that its call is not allowed to do. */
export class NotPermittedError extends CapstanError {
  constructor(what: string, why: string) {
    super('not_permitted', `${what}: ${why}`)
  }
}

markErrorClass(NotPermittedError, 'NotPermittedError')

/** A workspace with its files, processes and network. Tools have no other access to the machine. */
export interface Workspace {
  /** The kind of the workspace: `local`, or the kind of its backend. */
  readonly backend: string
  /** The real path. */
  readonly root: string
  /** The directories that patterns are relative to; a new object once there is a scratch directory. */
  readonly scope: Scope
  readonly files: WorkspaceFiles
  readonly shell: WorkspaceShell
  readonly scratch: Scratch
  /** Real paths that no tool and no command can access. */
  readonly closed: readonly string[]
  /** Resolves all links of a path; undefined when the target is outside the workspace or cannot be determined. */
  realPath(path: string): Promise<string | undefined>
  /**
   * Returns the target of an absolute path through every link; with `follow: false` a link at its end is not followed.
   */
  followLinks(path: string, follow: boolean): Promise<PathFacts>
  /** Returns the first file below a directory that matches, or a text with the reason why the search ended early. */
  findBelow(directory: string, fits: (path: string) => boolean): Promise<string | undefined>
  /**
   * Returns the runtime of one call, limited by its permit and stopped by its signal. `hasEnded`: whether the call has
   * ended; default: when the signal is aborted. A tool that is being stopped can still read and end its jobs.
   */
  runtimeFor(permit: WorkspacePermit, signal: AbortSignal, hasEnded?: () => boolean): ToolRuntime
  /** Starts a program for the session, with its own permissions. It ends with `end`, or with the workspace. */
  startServer(program: ServerProgram): Promise<PipedProcess>
  /** Tests each denial of the sandbox by trying it. */
  doctor(): Promise<DoctorCheck[]>
  /** Writes the session's changes to the underlying files. Throws if changes are written at once. */
  commit(): Promise<CommitOutcome>
  /** Drops the session's changes that were not committed. Throws if changes are written at once. */
  discard(): Promise<DiscardOutcome>
  /** Ends every command and job, and removes the scratch directory. */
  close(): Promise<void>
  /**
   * Whether it can be replaced by a new workspace with the same options: nothing was started, and nothing has to be
   * closed. Absent: it never can.
   */
  readonly isUnused?: boolean
}

/** A directory of this machine as a workspace. */
export interface LocalWorkspace extends Workspace {
  readonly files: LocalFiles
  readonly shell: LocalShell
}

/** Opens a directory as a workspace. Nothing is started or written until it is used. */
export function openWorkspace(options: WorkspaceOptions): LocalWorkspace {
  const places = options.places ?? (() => noPlaces)
  const scratch = createScratch({ baseDir: options.scratchDir ?? defaultScratchBase() })
  const further = (options.roots ?? []).map((path) => realpathSync(path))
  const closed = closePaths(options.closed ?? [], [realpathSync(options.root), ...further])
  for (const path of closed.open)
    options.onNotice?.(
      `${path} holds the workspace, so that tools and commands can change what is stored there. Store sessions in a directory of their own.`,
    )
  const files = createLocalFiles({
    root: options.root,
    scratch,
    roots: further,
    opened: () => [...places().adHoc, ...places().userData],
    ...(closed.paths.length > 0 && { permit: (_: string, path: string) => closed.refusal(path) }),
    protectPaths: closed.paths,
  })
  const { root } = files
  const roots: readonly [string, ...string[]] = [root, ...further]
  const common = commonShellOptions(roots, scratch, options)
  const shell = openShell(common, scratch, options)
  const servers = new Set<Promise<PipedProcess>>()
  let seen = places()
  let scope = scopeOf(roots, seen, undefined, options.copyOf)

  return {
    backend: 'local',
    root,
    files,
    shell,
    scratch,
    closed: closed.paths,
    get scope() {
      const now = places()
      const isNew = scratch.path !== undefined && scope.variables.scratch === undefined
      if (now === seen && !isNew) return scope
      seen = now
      scope = scopeOf(roots, now, scratch.path, options.copyOf)
      return scope
    },
    realPath: (path) => files.resolve(path).catch(() => undefined),
    followLinks: (path, follow) => followLinks(path, follow),
    findBelow: (directory, fits) => findBelow(directory, fits),
    runtimeFor: (permit, signal, hasEnded) => ({
      files: files.forCall({ permit: (kind, realPath) => permit.path(kind, realPath), signal }),
      search: searchFor(createLocalSearch({ root, permit: readBy(withClosed(permit, closed)) }), signal),
      shell: shellFor(
        shell,
        root,
        permit,
        signal,
        () => confinementFor(roots, options.network?.allowHosts ?? [], closed.paths, permit),
        hasEnded,
      ),
      net: netFor(permit, signal, options.network?.allowPrivate),
      scratch: scratchFor(scratch, signal),
    }),
    startServer(program) {
      const forget = (): unknown => servers.delete(started)
      const started: Promise<PipedProcess> = startServerProgram(common, program).then((server) => ({
        ...server,
        end: () => server.end().finally(forget),
      }))
      servers.add(started)
      started.catch(forget)
      return started
    },
    doctor: () => doctor(options.sandboxOptions),
    commit: async () => refuseCommit('local'),
    discard: async () => refuseCommit('local'),
    get isUnused() {
      return shell.isUnused && servers.size === 0 && scratch.isUnused
    },
    async close() {
      const ending = Array.from(servers, (started) => started.then((server) => server.end()))
      await Promise.allSettled(ending)
      await shell.close()
      await scratch.close()
    },
  }
}

const noPlaces: OpenPlaces = { adHoc: [], userData: [] }

/** Throws for a workspace that writes its changes at once. */
export function refuseCommit(backend: string): never {
  throw new WorkspaceBackendError(
    'commit_unavailable',
    `This workspace (${backend}) writes changes at once, so there is nothing to commit or discard. Open the session with createOverlayBackend(directory) to review changes first.`,
  )
}

export function scopeOf(
  roots: readonly string[],
  { adHoc, userData }: OpenPlaces,
  scratch: string | undefined,
  copyOf: readonly string[] = [],
  home = homedir(),
): Scope {
  return {
    variables: {
      workspace: roots,
      ...(scratch !== undefined && { scratch: [scratch] }),
      ...(adHoc.length > 0 && { 'ad-hoc': adHoc }),
      ...(userData.length > 0 && { 'user-data': userData }),
    },
    home,
    ...(copyOf.length > 0 && { copyOf }),
  }
}

type CommonShellOptions = Pick<
  LocalShellOptions,
  'root' | 'roots' | 'ledgerDir' | 'sandbox' | 'onNotice' | 'limits'
> & {
  readonly sandboxOptions: NonNullable<LocalShellOptions['sandboxOptions']>
}

/** Returns the options for every program that is started here. */
export function commonShellOptions(
  [root, ...roots]: readonly [string, ...string[]],
  scratch: Scratch,
  options: Omit<WorkspaceOptions, 'root'>,
): CommonShellOptions {
  return {
    root,
    roots,
    ledgerDir: options.ledgerDir ?? join(homedir(), '.capstan', 'processes'),
    sandbox: options.sandbox ?? 'auto',
    limits: resourceLimits(options.limits),
    sandboxOptions: {
      ...options.sandboxOptions,
      scratch: () => scratch.path,
      // Hidden as a whole, for all sessions; that is only possible for a directory that no other program uses.
      scratchBase: options.scratchDir ?? defaultScratchBase(),
    },
    onNotice: options.onNotice,
  }
}

export function openShell(
  common: CommonShellOptions,
  scratch: Scratch,
  options: Omit<WorkspaceOptions, 'root'>,
): LocalShell {
  const { allowHosts = [], allowPrivate, ...rules } = options.network ?? {}
  // No hosts means no network at all, never all of it. The host check is only loaded for sessions that allow some.
  const network: SandboxOptions['network'] =
    allowHosts.length > 0
      ? { ...rules, allowHosts, checkHost: checkHostBy(privateAccess(allowPrivate)) }
      : undefined
  return createLocalShell({
    ...common,
    sandboxOptions: { ...common.sandboxOptions, ...(network && { network }) },
    scratchFile: (label) => scratchFile(scratch, label),
    env: options.env,
    path: options.path,
  })
}

export function withClosed(permit: WorkspacePermit, closed: ClosedPaths): WorkspacePermit {
  if (closed.paths.length === 0) return permit
  return { ...permit, path: (kind, realPath) => closed.refusal(realPath) ?? permit.path(kind, realPath) }
}

/** Stops the searches of a call when the call ends or is cancelled. */
export function searchFor(search: Search, signal: AbortSignal): Search {
  return {
    grep: async (request) => search.grep({ ...request, signal: both(signal, request.signal) }),
    glob: async (request) => search.glob({ ...request, signal: both(signal, request.signal) }),
  }
}

type Search = NonNullable<ToolRuntime['search']>

export function scratchFor(scratch: Scratch, signal: AbortSignal): NonNullable<ToolRuntime['scratch']> {
  return {
    write: async (label, data) => {
      signal.throwIfAborted()
      return scratch.write(label, data)
    },
  }
}

/** Creates an empty file in the scratch directory and returns its path. */
export async function scratchFile(scratch: Scratch, label: string): Promise<string> {
  const { path, file } = await scratch.create(label)
  await file.close()
  return path
}

/** How long a fetch can take when its tool sets no limit, and the maximum. */
const usualFetchMs = 30_000
const maxFetchMs = 120_000

export function netFor(
  permit: WorkspacePermit,
  signal: AbortSignal,
  allowPrivate: AllowPrivate | undefined,
): NonNullable<ToolRuntime['net']> {
  const net = createGuardedFetch({
    permitHost: (host, port) => permit.host(host, port),
    timeoutMs: maxFetchMs,
    ...(allowPrivate === undefined ? {} : { allowPrivate }),
  })
  return {
    fetch: async (url, request = {}) =>
      net.fetch(url, { timeoutMs: usualFetchMs, ...request, signal: both(signal, request.signal) }),
  }
}

/** Creates the shell of one call, which checks each command with its permit. `confine`: the sandbox restrictions. */
export function shellFor(
  shell: WorkspaceShell,
  root: string,
  permit: WorkspacePermit,
  signal: AbortSignal,
  confine: () => CallConfinement | undefined | Promise<CallConfinement>,
  hasEnded: () => boolean = () => signal.aborted,
): NonNullable<ToolRuntime['shell']> {
  const refuseAfterEnd = (): void => {
    if (hasEnded()) throw new DOMException('the call has ended', 'AbortError')
  }
  const admit = async (command: string, cwd: string | undefined): Promise<void> => {
    signal.throwIfAborted()
    const refusal = await permit.command(command, resolve(root, cwd ?? '.'))
    if (refusal !== undefined) throw new NotPermittedError('The command was not run', refusal)
  }
  return {
    run: async (command, request = {}) => {
      await admit(command, request.cwd)
      return shell.run(command, {
        ...request,
        signal: both(signal, request.signal),
        confine: await confine(),
      })
    },
    start: async (command, request) => {
      await admit(command, request?.cwd)
      const confinement = await confine()
      // The call can have ended in the meantime; a job that has started does not end with it.
      signal.throwIfAborted()
      return shell.start(command, { ...request, confine: confinement })
    },
    jobs: () => {
      refuseAfterEnd()
      return shell.jobs()
    },
    readJob: async (id, from) => {
      refuseAfterEnd()
      return shell.readJob(id, from)
    },
    killJob: async (id) => {
      refuseAfterEnd()
      return shell.killJob(id)
    },
  }
}

/** Restricts the sandbox of a command to the grants of its call; rules have already judged the command itself. */
export function confinementFor(
  roots: readonly string[],
  allowHosts: readonly string[],
  masked: readonly string[],
  permit: WorkspacePermit,
  directories: () => readonly string[] = () => roots.flatMap(directoriesIn),
): CallConfinement {
  return {
    hosts: allowHosts.filter((pattern) => permit.grantsCommand({ host: pattern.replace(/^\*\./, 'any.') })),
    ...(roots.every((root) => permit.grantsCommand({ write: join(root, anyName) }))
      ? {}
      : {
          // If the whole workspace is not granted: its top-level directories that are.
          writable: directories().filter((path) => permit.grantsCommand({ write: join(path, anyName) })),
        }),
    ...(masked.length > 0 && { masked }),
    unreadable: permit.unreadable?.(),
    deniesHost: permit.deniesHost,
    onRequest: permit.onRequest,
  }
}

/** A name that no pattern is written for: if it is granted, the whole directory is granted. */
const anyName = '.capstan-any-name'

function directoriesIn(root: string): string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(root, entry.name))
}

/** Returns the check for a search: a function that returns why a path must not be read. */
export function readBy(permit: WorkspacePermit): (realPath: string) => string | undefined {
  return (realPath) => permit.path('read', realPath)
}

function both(signal: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  signal.throwIfAborted()
  return other === undefined ? signal : AbortSignal.any([signal, other])
}
