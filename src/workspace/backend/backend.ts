import type { WorkspaceFileSystem } from '../files/file-system.js'
import type { LocalWorkspaceBackend } from '../local-backend.js'

/**
 * A workspace other than a directory of this machine: a file system, and a way to run commands if it has one. It
 * provides operations; paths, rules, versions and limits are checked outside of it, in the same way for every backend.
 */
export interface WorkspaceBackend {
  /** Names the kind of backend in messages and logs: lower-case letters, digits and `-`. */
  readonly kind: string
  /** The absolute path of the workspace on the backend. */
  readonly root: string
  /**
   * The directory of this machine that the workspace starts from. Instructions, rules, skills and agents of the project
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
  /** The real path of the workspace: it contains no links. */
  readonly root: string
  readonly fileSystem: WorkspaceFileSystem
  /** Equal for all users of the same files, so that their writes to one file run one after the other. */
  readonly id: string
  /**
   * Runs commands. Without it, and without `copiedCommands`, commands are refused with the code `commands_unavailable`.
   */
  readonly commands?: WorkspaceCommands | undefined
  /**
   * Commands run in the sandbox of this machine, on a private copy of the files. Their changes are written back through
   * the file system. Without a sandbox they are refused. Ignored if `commands` is given.
   */
  readonly copiedCommands?: CopiedCommands | undefined
  /** The directory that `~` means in a command. Absent: the home directory of this process. */
  readonly home?: string | undefined
  /** Writes the session's changes to the underlying files. Absent: changes are written at once. */
  commit?(): Promise<CommitOutcome>
  /** Drops the session's changes that were not committed. */
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
  /** The maximum size of the copy, in bytes. Default: 4 GiB. */
  readonly maxBytes?: number | undefined
  /** The maximum number of files, directories and links. Default: 250,000. */
  readonly maxPaths?: number | undefined
}

/** Runs commands on the machine that has the files of a backend. */
export interface WorkspaceCommands {
  /**
   * What confines each command to the workspace, for the outcome of commands: the name of a container or virtual
   * machine. `none`: nothing does, and `sandbox: 'required'` refuses commands.
   */
  readonly sandbox: string
  start(command: BackendCommand): Promise<BackendProcess>
}

/** A command that rules and grants have allowed. */
export type BackendCommand = {
  /** The words of the command. They are not parsed by a shell. */
  readonly argv: readonly [string, ...string[]]
  /** A directory inside the workspace, as a real path. */
  readonly cwd: string
  /** Variables for this command. They can be secrets: pass them on without showing them in a list of processes. */
  readonly env: Readonly<Record<string, string>>
}

/** A running command of a backend. */
export interface BackendProcess {
  /** The output, both streams together. Ends when the command has ended. */
  readonly output: AsyncIterable<Uint8Array>
  /** The exit code. Rejects when it cannot be known, for example because a connection broke. */
  readonly exit: Promise<{ readonly exitCode: number | null; readonly signal?: string | undefined }>
  /** Ends the command and every process that it started. Resolves when they have ended. */
  end(): Promise<void>
}

/** Whether a session uses a backend other than a directory of this machine. */
export function isBackend(
  backend: LocalWorkspaceBackend | WorkspaceBackend | undefined,
): backend is WorkspaceBackend {
  return backend !== undefined && 'open' in backend
}

/** Returns the address of a workspace on a backend, as stored in logs. It never looks like a path of this machine. */
export function backendAddress({ kind, root }: Pick<WorkspaceBackend, 'kind' | 'root'>): string {
  return `${kind}://${root}`
}

/** Returns the kind of backend that an address names; undefined for a directory of this machine. */
export function kindInAddress(address: string): string | undefined {
  return /^([a-z][a-z0-9-]*):\/\//.exec(address)?.[1]
}
