import type { NetworkRequest } from '../egress/network-request.js'
import type { GitWork } from '../git/git-work.js'
import type { ChildEnvironment } from './child-env.js'

/** How a command is confined: not at all, with the permissions of the user, or in a sandbox. */
export interface Confinement {
  /** The name of the confinement, for the outcome: `none`, `bubblewrap`, `landlock`, `seatbelt`. */
  readonly name: string
  /** Whether commands have separate mounts and process IDs. If not, their processes are marked. */
  readonly namespaces: boolean
  confine(command: ConfinedCommand): Promise<ConfinedLaunch>
}

export type ConfinedCommand = {
  readonly argv: readonly string[]
  /** A real path inside the workspace. */
  readonly cwd: string
  /** A new private directory for the home of this command. */
  readonly home: string
  /** The session's own directory for temporary files. */
  readonly tmp: string
  readonly marker: string
  /** The mark of its processes, if no pid namespace contains them, see `process-mark.ts`. */
  readonly mark?: number | undefined
  /** The maximum number of processes and threads under the guard; absent: another mechanism enforces the limit. */
  readonly maxTasks?: number | undefined
  /** `apart`: standard output and standard error are read separately. */
  readonly streams?: 'joined' | 'apart' | undefined
  /** Whether it runs git, which must not start a program that a repository names. */
  readonly guardGit?: boolean | undefined
  /** Restrictions of this command in addition to those of the shell. */
  readonly call?: CallConfinement | undefined
}

/**
 * The confinement of one command, derived from the grant of its call. Only a sandbox can enforce it: without one
 * (`sandbox: 'none'` in the outcome) all of it is ignored.
 */
export type CallConfinement = {
  /**
   * The hosts that this command can connect to, in the form of the shell's `allowHosts` and never more than those.
   * Empty: no network. Absent: all of `allowHosts`.
   */
  readonly hosts?: readonly string[] | undefined
  /** Returns whether rules deny one of these hosts; called for each connection. Absent: none is denied. */
  readonly deniesHost?: ((host: string, port: number) => boolean) | undefined
  /** Called for each request of the command that reached the proxy of its sandbox. */
  readonly onRequest?: ((request: NetworkRequest) => void) | undefined
  /**
   * Real directories inside the workspace that stay writable; the rest of it is read-only. Directories that are
   * missing, or lead elsewhere, are ignored. Absent: the whole workspace. Scratch and `SandboxOptions.writable` stay
   * writable in any case.
   */
  readonly writable?: readonly string[] | undefined
  /**
   * Real paths to hide: a file cannot be opened, a directory looks empty, and neither is writable. Other hard links of
   * a hidden file in the workspace are hidden too. A copy of it, such as an object in `.git`, is not found.
   */
  readonly masked?: readonly string[] | undefined
  /** Which files to hide in the same way, anywhere in the workspace; they are searched for before each command. */
  readonly unreadable?: UnreadablePaths | undefined
  /** What a command that only runs git can change in its repositories. Absent: every git directory is read-only. */
  readonly git?: GitWork | undefined
}

/** The paths that rules deny a command to read. */
export type UnreadablePaths = {
  /** The same object as long as the results are the same. */
  readonly key: object
  /** Returns whether a real path is denied. For a directory: whether all of it is. */
  denies(path: string): boolean
  /** Directories outside the workspace to search. */
  readonly outside?: readonly string[] | undefined
}

/** What the sandbox refused to one command. */
export type SandboxRefusals = {
  /** A sentence for each refusal. */
  readonly messages: readonly string[]
  /** Whether one of them is about the network. */
  readonly network: boolean
}

export const noRefusals: SandboxRefusals = { messages: [], network: false }

export type ConfinedLaunch = {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: ChildEnvironment
  /** Whether no process outlives the started one: the others are in its pid namespace, or it kills them at its end. */
  readonly contained: boolean
  /** Call it after the command and all its processes have ended. Returns what the sandbox refused. */
  finish(outcome: { readonly exitCode: number | null; readonly output: string }): Promise<SandboxRefusals>
}
