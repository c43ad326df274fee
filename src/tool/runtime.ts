import type { RuntimeSession } from './session-services.js'

/**
 * The interface through which a tool acts on the machine. It checks every path, host and command against the call's
 * grant; a tool never accesses the machine in another way. A host provides the parts that it has.
 */
export interface ToolRuntime {
  readonly files?: RuntimeFiles | undefined
  readonly search?: RuntimeSearch | undefined
  readonly shell?: RuntimeShell | undefined
  readonly net?: RuntimeNet | undefined
  readonly scratch?: RuntimeScratch | undefined
  /** Services of the session, in contrast to those of the machine. */
  readonly session?: RuntimeSession
}

/** The kind of a file system entry. */
export type FileKind = 'file' | 'directory' | 'symlink' | 'other'

/** The kind, size, time and mode of a file. */
export type FileStat = {
  readonly kind: FileKind
  readonly size: number
  readonly mtimeMs: number
  readonly mode: number
}

/** One entry of a directory. */
export type DirectoryEntry = { readonly name: string; readonly kind: FileKind; readonly size?: number }

/** A file's bytes with a digest of the whole file, to detect that it changed before it is written again. */
export type FileContent = { readonly bytes: Uint8Array; readonly size: number; readonly version: string }

/** The result of one write. */
export type WriteOutcome = {
  readonly path: string
  readonly bytes: number
  readonly created: boolean
  readonly version: string
}

/** One change to one file, with the file's state when the change was computed. `after` is the new text. */
export type FileChange =
  | { readonly kind: 'write'; readonly path: string; readonly after: string; readonly before: FileBefore }
  | { readonly kind: 'create'; readonly path: string; readonly after: string }
  | { readonly kind: 'remove'; readonly path: string; readonly before: FileBefore }
  | {
      readonly kind: 'move'
      readonly path: string
      readonly to: string
      /** Absent: the file is moved unchanged. */
      readonly after?: string
      readonly before: FileBefore
    }

/** The state of a file before a change. */
export type FileBefore = Pick<FileContent, 'version' | 'bytes'>

/** The options of one write. */
export type WriteOptions = {
  /** Writes only if the file still has this version; `null`: only if there is no file. */
  readonly ifVersion?: string | null | undefined
}

/**
 * Files under the workspace root and the session's scratch directory. Paths are relative to the root, or absolute
 * inside it. A path outside the grant is denied with an error that says so. Writing creates missing directories.
 */
export interface RuntimeFiles {
  /** The real path of the workspace root. */
  readonly root: string
  stat(path: string): Promise<FileStat>
  /** Returns why this path cannot be read, judged by its text only; undefined when it can be read. */
  whyNotRead?(path: string): Promise<string | undefined>
  list(path: string): Promise<DirectoryEntry[]>
  /** Reads the whole file. Rejects when it is larger than `maxBytes`. */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<FileContent>
  /** Reads the whole file as text. Rejects when it is larger than `maxBytes` or not UTF-8. */
  readText(path: string, options?: { readonly maxBytes?: number }): Promise<string>
  /** Reads the bytes from `start` to `end` (exclusive), in memory that does not grow with the file. */
  readRange(path: string, start: number, end: number): Promise<Uint8Array>
  /** Replaces the file atomically and keeps its mode. Writes to the same path run one after the other. */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<WriteOutcome>
  remove(path: string): Promise<void>
  move(from: string, to: string): Promise<void>
  /**
   * Makes all changes or none: each only if its file has not changed, and if one fails, the earlier ones are undone.
   * Once it has begun, an abort does not stop it. Throws an error that names the file that failed and what could not
   * be undone.
   */
  change(changes: readonly FileChange[]): Promise<void>
}

/** A search in files by a regular expression. */
export type GrepRequest = {
  readonly pattern: string
  readonly path?: string | undefined
  readonly glob?: string | undefined
  readonly ignoreCase?: boolean | undefined
  readonly before?: number | undefined
  readonly after?: number | undefined
  readonly mode?: 'content' | 'files' | 'count' | undefined
  /** The maximum number of matches (or files) to return; further ones are only counted. */
  readonly limit: number
  readonly signal?: AbortSignal | undefined
}

/** One line of a search result. */
export type GrepLine = {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly match: boolean
}

/** The result of a search in files. */
export type GrepOutcome = {
  readonly lines: readonly GrepLine[]
  readonly files: readonly { readonly path: string; readonly count: number }[]
  readonly matches: number
  /** The number of files with matches. */
  readonly fileCount: number
  /** There are more matches than are listed. */
  readonly truncated: boolean
  /** Why the search ended early (deadline or abort): `matches` is a lower bound. */
  readonly incomplete?: string
}

/** A search for files by name. */
export type GlobRequest = {
  readonly pattern: string
  readonly path?: string | undefined
  readonly order?: 'name' | 'newest' | undefined
  readonly limit: number
  readonly signal?: AbortSignal | undefined
}

/** The paths that match a pattern. */
export type GlobOutcome = {
  readonly paths: readonly string[]
  readonly total: number
  readonly truncated: boolean
  readonly incomplete?: string
}

/** Searches in the files of the workspace. */
export interface RuntimeSearch {
  grep(request: GrepRequest): Promise<GrepOutcome>
  glob(request: GlobRequest): Promise<GlobOutcome>
}

/** The options of one command. */
export type ShellOptions = {
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly cwd?: string | undefined
  /** Called with output as it arrives, both streams interleaved. */
  readonly onOutput?: ((text: string) => void) | undefined
  /**
   * The maximum output in memory, in bytes. Of longer output only the head and the tail are kept in memory, and all
   * of it is written to a file.
   */
  readonly maxBytes?: number | undefined
  /**
   * Git in this command starts no program that the repository names (hooks, filters, monitors, signing, transports)
   * and works only on its own tree. For commands that call only git. `clone`: for `git clone`, which starts outside
   * of a repository and can use only HTTP.
   */
  readonly guardGit?: boolean | 'clone' | undefined
}

/** The result of one command. */
export type ShellOutcome = {
  /** Null when a signal ended the command. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly output: string
  readonly outputBytes: number
  readonly truncated: boolean
  /** The file with the whole output, if it was longer than `maxBytes`. */
  readonly outputPath?: string
  readonly timedOut: boolean
  readonly aborted: boolean
  readonly durationMs: number
  /** The name of the sandbox that confined the command, or `none`. */
  readonly sandbox: string
  /** What the sandbox is known to have denied, one sentence each. */
  readonly blocked: readonly string[]
  /** The sandbox denied a host to the command, or the command needed a network that the sandbox does not have. */
  readonly networkRefused?: boolean
  /** The limit that ended the command. */
  readonly limit?: LimitReached
  /** The id of the background job with the processes that outlived the command. */
  readonly leftover?: string
}

/** A limit that a command reached, with its value: bytes, a number of processes, or seconds. */
export type LimitReached = {
  readonly limit: 'memory' | 'processes' | 'cpu' | 'disk' | 'file_size'
  readonly max: number
}

/** A command in the background. */
export type ShellJob = {
  readonly id: string
  readonly command: string
  readonly running: boolean
  readonly exitCode: number | null
  readonly startedAtMs: number
  /** The limit that ended it. */
  readonly limit?: LimitReached
}

/** Runs commands inside the grant and the sandbox. */
export interface RuntimeShell {
  run(command: string, options?: ShellOptions): Promise<ShellOutcome>
  /** Starts a command in the background. It runs until it ends, is killed, or the session closes. */
  start(command: string, options?: Pick<ShellOptions, 'cwd'>): Promise<ShellJob>
  jobs(): ShellJob[]
  /** Reads a job's output from a position, and returns the position to continue from. */
  readJob(id: string, from?: number): Promise<{ text: string; next: number; job: ShellJob }>
  killJob(id: string): Promise<ShellJob>
}

/** The options of an HTTP request. */
export type NetRequest = {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  readonly maxBytes?: number | undefined
}

/** The response to an HTTP request. */
export type NetResponse = {
  readonly status: number
  /** The URL of the answer, after redirects. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly truncated: boolean
}

/** Requests to hosts inside the grant. Private, loopback and metadata addresses are denied on every hop. */
export interface RuntimeNet {
  fetch(url: string, request?: NetRequest): Promise<NetResponse>
}

/** The session's private directory for files that do not belong in the workspace. */
export interface RuntimeScratch {
  /** Writes a new file with an unguessable name and returns its path, which `files.read` accepts. */
  write(label: string, data: string | Uint8Array): Promise<string>
}
