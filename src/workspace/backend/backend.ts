import type { WorkspaceFileSystem } from '../files/file-system.js'
import type { LocalWorkspaceBackend } from '../local-backend.js'

/**
 * A place that a session works in other than a directory of this machine: a file system, and a way to run commands if
 * it has one. It provides operations; paths, rules, versions and limits are checked outside of it, in the same way for
 * every backend.
 */
export interface WorkspaceBackend {
  /** Names the kind of backend in messages and logs: lower-case letters, digits and `-`. */
  readonly kind: string
  /** The absolute path of the workspace on the backend. */
  readonly root: string
  /**
   * The directory of this machine that the workspace begins with. Instructions, rules, skills and agents of the project
   * are read there. Absent: the project has none on this machine.
   */
  readonly localRoot?: string | undefined
  /** Opens the workspace for one session. Sessions of subagents open it too, while the first is open. */
  open(context: BackendContext): Promise<OpenBackend>
}

/** The context that a session passes to its backend. */
export type BackendContext = {
  /** Shows a text to the user. */
  readonly onNotice: (text: string) => void
}

/** A backend that is open for one session. */
export type OpenBackend = {
  /** The real path of the workspace: no part of it is a link. */
  readonly root: string
  readonly fileSystem: WorkspaceFileSystem
  /** Equal for all users of the same files, so that their writes to one file run one after the other. */
  readonly id: string
  /** Without it, and without `copiedCommands`, commands are refused with the code `commands_unavailable`. */
  readonly commands?: WorkspaceCommands | undefined
  /**
   * Commands run in the sandbox of this machine, on a private copy of the files. What they change is written back
   * through the file system. Without a sandbox they are refused. Ignored where `commands` is there.
   */
  readonly copiedCommands?: CopiedCommands | undefined
  /** What `~` means in a command. Absent: the home directory of this process. */
  readonly home?: string | undefined
  /** Writes what the session changed to where it belongs. Absent: changes are written at once. */
  commit?(): Promise<CommitOutcome>
  /** Drops what the session changed and did not commit. */
  discard?(): Promise<DiscardOutcome>
  /** Ends the session's use of the backend. */
  close(): Promise<void>
}

/** The paths that a commit wrote and removed, relative to the workspace. */
export type CommitOutcome = { readonly written: readonly string[]; readonly removed: readonly string[] }

/** The paths whose changes were dropped, relative to the workspace. */
export type DiscardOutcome = { readonly discarded: readonly string[] }

/** Limits of the private copy that the commands of a backend run on. */
export type CopiedCommands = {
  /** How large the copy can be, in bytes; 4 GiB by default. */
  readonly maxBytes?: number | undefined
  /** How many files, directories and links it can have; 250,000 by default. */
  readonly maxPaths?: number | undefined
}

/** Runs commands where the files of a backend are. */
export interface WorkspaceCommands {
  /**
   * What confines each command to the workspace, for the outcome of commands: the name of a container or virtual
   * machine. `none`: nothing does, and `sandbox: 'required'` refuses commands.
   */
  readonly sandbox: string
  start(command: BackendCommand): Promise<BackendProcess>
}

/** A command that rules and grants have admitted. */
export type BackendCommand = {
  /** The words of the command. No shell reads them. */
  readonly argv: readonly [string, ...string[]]
  /** A directory inside the workspace, as a real path. */
  readonly cwd: string
  /** Variables for this command. They can be secrets: pass them on without showing them in a list of processes. */
  readonly env: Readonly<Record<string, string>>
}

/** A running command of a backend. */
export interface BackendProcess {
  /** What it prints, both streams together. Ends when the command has ended. */
  readonly output: AsyncIterable<Uint8Array>
  /** How it ended. Rejects when that cannot be known, for example because a connection broke. */
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal?: string | undefined }>
  /** Ends the command and every process that it started. Resolves when they are gone. */
  end(): Promise<void>
}

/** Whether a session works on a backend of its own, not in a directory of this machine. */
export function isBackend(
  backend: LocalWorkspaceBackend | WorkspaceBackend | undefined,
): backend is WorkspaceBackend {
  return backend !== undefined && 'open' in backend
}

/** The address of a workspace on a backend, as logs have it. A directory of this machine never looks like this. */
export function backendAddress({ kind, root }: Pick<WorkspaceBackend, 'kind' | 'root'>): string {
  return `${kind}://${root}`
}

/** The kind of backend that an address names; undefined for a directory of this machine. */
export function kindInAddress(address: string): string | undefined {
  return /^([a-z][a-z0-9-]*):\/\//.exec(address)?.[1]
}
