import type { CompletionUsage } from './completion.js'
import type { ToolDefinition } from './definition.js'
import type { Envelope } from './envelope.js'
import type { JsonSchema, JsonValue } from './json.js'
import type { VerificationCommand, VerificationReport } from './verification.js'

/**
 * The interface through which a tool acts on the machine. It checks every path, host and command against the call's
 * grant; a tool never accesses the machine in another way. A host provides the parts that it has.
 */
export interface ToolRuntime {
  readonly files?: RuntimeFiles
  readonly search?: RuntimeSearch
  readonly shell?: RuntimeShell
  readonly net?: RuntimeNet
  readonly scratch?: RuntimeScratch
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
  /**
   * Returns why this path cannot be read, judged by its text only, whether or not it exists; undefined when it can be
   * read.
   */
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
  /** How much output stays in memory. Of longer output the head and the tail stay, and all of it goes to a file. */
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
  /** The id of the background job with the processes that outlived the command. */
  readonly leftover?: string
}
/** A command in the background. */
export type ShellJob = {
  readonly id: string
  readonly command: string
  readonly running: boolean
  readonly exitCode: number | null
  readonly startedAtMs: number
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

/** The state of an item of the task list. */
export type TodoStatus = 'pending' | 'in_progress' | 'completed'
/** One item of the task list. */
export type Todo = { readonly content: string; readonly status: TodoStatus }

/** A question of the model to the user. */
export type Question = {
  readonly question: string
  /** A short heading. */
  readonly header?: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  readonly multi_select?: boolean
}
/** One list of answers per question, in the order of the questions. */
export type QuestionAnswers = { readonly answers: readonly (readonly string[])[] }

/** The session that a call belongs to: its task list, its user, its tools. A host provides the parts that it has. */
export interface RuntimeSession {
  readonly todos?: {
    list(): readonly Todo[]
    replace(todos: readonly Todo[]): void | Promise<void>
  }
  /** Asks the user questions and waits for the answers. Absent: no user can answer. */
  readonly ask?: (questions: readonly Question[], signal?: AbortSignal) => Promise<QuestionAnswers>
  readonly tools?: RuntimeTools
  readonly mode?: RuntimeMode
  /** Saves what this call does while it runs. Absent: the call cannot be resumed. */
  readonly steps?: (() => CallSteps) | undefined
  readonly objects?: RuntimeObjects
  /**
   * Runs commands one after the other and saves a report. Each passes the gate as a call of `bash` with the caller's
   * authority. Rejects only for invalid commands; the report lists those that were denied or cancelled.
   */
  readonly verify?: (
    subject: string,
    commands: readonly (string | VerificationCommand)[],
    options?: { readonly signal?: AbortSignal; readonly watch?: CallWatch },
  ) => Promise<VerificationReport>
  readonly tasks?: RuntimeTasks
  readonly skills?: RuntimeSkills
}

/** The session's mode, as far as a tool can change it. Only a call that a user approved can leave the mode `plan`. */
export interface RuntimeMode {
  /** Returns the current mode. Undefined: no mode is set. */
  name(): string | undefined
  /** Returns whether a user can approve a plan. */
  canAsk(): boolean
  enterPlan(): Promise<void>
  /** Restores the mode from before `plan`, and returns its name. */
  leavePlan(): Promise<string | undefined>
}

/** A call of another tool from inside a call. */
export type Invocation = {
  readonly tool: string
  readonly args: unknown
  /**
   * Identifies the call among those made inside one call: if that call runs again, the same inner call has the same
   * id.
   */
  readonly id?: string
  /**
   * `data`: the result is for code rather than a model, for tools for which `hasDataForm` is true. Judged like the
   * tool itself.
   */
  readonly form?: 'data'
}

/** Observes calls while they run. */
export interface CallWatch {
  /** Called with true when all remaining calls wait for an approval, and with false when they no longer do. */
  waiting(waits: boolean): void
}

/** The steps of a resumable call so far: saved in the log until the call has its result. */
export interface CallSteps {
  /** The steps of this call that an earlier process saved, in order. */
  readonly before: readonly CallStep[]
  /** Ids of inner calls that had started then and must not run twice. */
  readonly begun: readonly string[]
  /** Resolves when these steps and all earlier ones are saved. */
  add(steps: readonly CallStep[]): Promise<void>
}
/** One recorded step of a resumable call. */
export type CallStep = {
  /** The id of the inner call that ended with this step. */
  readonly ends?: string
  readonly step: JsonValue
}

/** The other tools of the session, called from inside a call. */
export interface RuntimeTools {
  /**
   * Makes further calls as part of this one; each passes the gate with the caller's authority. At most
   * `maxConcurrency` run at once, and those that write the same things run one after the other. The envelopes are in
   * the order of the invocations. A failed call does not reject: its envelope reports the failure.
   */
  callAll(
    invocations: readonly Invocation[],
    options?: {
      readonly maxConcurrency?: number
      readonly signal?: AbortSignal
      readonly watch?: CallWatch
    },
  ): Promise<readonly Envelope[]>
  /** Returns whether the tool has a form for code: `read` returns a file's plain text, `glob` the list of paths. */
  hasDataForm?(tool: string): boolean
  /** Returns the tools that are not shown to the model; the same array as long as nothing has changed. */
  hidden(): readonly ToolDefinition[]
  /** Shows tools to the model from the next round on, after those it already sees. */
  offer(names: readonly string[]): void
}

/** A request for an answer as data. */
export type ObjectRequest = {
  /** The JSON Schema of the answer, of any kind: object, list or single value. */
  readonly schema: JsonSchema
  readonly prompt: string
  /** Letters, digits, `_` and `-`. Default: `result`. */
  readonly schemaName?: string
  readonly schemaDescription?: string
  readonly system?: string
  /** `auto` uses the best mode that the model supports. */
  readonly mode?: 'auto' | 'tool' | 'prompt'
  /** How often an answer that does not fit is sent back to the model. Default: 2; at most 5. */
  readonly maxRepairAttempts?: number
  /** For all attempts together. Default: two minutes. */
  readonly timeoutMs?: number
}
/** A generated object with its usage. */
export type GeneratedObject<Value = unknown> = {
  readonly object: Value
  /** How it was requested: `native` where the provider itself enforces the schema. */
  readonly mode: 'native' | 'tool' | 'prompt'
  readonly repairAttempts: number
  /** The usage of all attempts together. */
  readonly usage: CompletionUsage
  /** The text that the model wrote last. */
  readonly rawText: string
}
/** The part of an object that has arrived so far. It only grows within one attempt; each repair starts from nothing. */
export type PartialObject = { readonly value: unknown; readonly repairAttempt: number }

/** Asks the session's model for data. Its usage counts for the session. */
export interface RuntimeObjects {
  /** Generates an object. Rejects when no answer fits in the end, with the problems. */
  generate(
    request: ObjectRequest,
    options?: { readonly signal?: AbortSignal; onPartial?(partial: PartialObject): void },
  ): Promise<GeneratedObject>
}

/** An agent created for one task. Its permissions are a subset of the caller's. */
export type TaskAgent = {
  readonly name: string
  /** The agent's system prompt. */
  readonly prompt: string
  /** The tools it has, a subset of the caller's; absent: all of them. */
  readonly tools?: readonly string[]
  /** Additional rules, in the form of a `permissionPolicy`; absent: only the caller's rules apply. */
  readonly permissions?: {
    readonly deny?: readonly string[]
    readonly ask?: readonly string[]
    readonly allow?: readonly string[]
    readonly defaultDecision?: 'allow' | 'deny' | 'ask'
  }
  readonly maxSteps?: number | undefined
}

/** Work for another agent. */
export type TaskRequest = {
  /** The name of an agent, or an agent created for this task. */
  readonly agent: string | TaskAgent
  /** A short description for users. */
  readonly description: string
  readonly prompt: string
  readonly maxSteps?: number | undefined
  /** The JSON Schema that the answer must fit. */
  readonly outputSchema?: JsonSchema | undefined
}

/** The numbers of rounds, calls and tokens of a task. */
export type TaskCounters = {
  readonly rounds: number
  readonly toolCalls: number
  readonly totalTokens: number
}

/** The result of a task. */
export type TaskOutcome = {
  readonly taskId: string
  /** The id of the session that did the task. */
  readonly sessionId: string
  readonly agent: string
  readonly description: string
  readonly success: boolean
  /** The agent's last text, also when it did not finish. */
  readonly output: string
  /** What failed; absent when nothing did. */
  readonly error?: string
  /** The answer as data, if there was an output schema. */
  readonly structured?: unknown
  readonly counters: TaskCounters
}

/**
 * Gives work to other agents: each is a separate session on the same workspace, with no more authority than the
 * caller.
 */
export interface RuntimeTasks {
  /**
   * Waits for all tasks and returns their results in order. Rejects only for tasks that cannot start: too many,
   * nested too deeply, or an unknown agent of a single task. Among several tasks, an unknown agent fails only its own
   * task.
   */
  run(
    requests: readonly TaskRequest[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly TaskOutcome[]>
  /** Starts a task without waiting for it; the model gets its result later. */
  start(request: TaskRequest): Promise<{ readonly taskId: string; readonly sessionId: string }>
}

/** The data by which a model chooses a skill. */
export type SkillSummary = {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly allowedTools: readonly string[]
}

/** Instructions for kinds of work. */
export interface RuntimeSkills {
  /** Returns the skills that match, best first. */
  search(
    query: string,
    limit: number,
  ): Promise<{ readonly found: readonly SkillSummary[]; readonly total: number }>
  /**
   * Returns the text of a skill. If the model already has it, returns a note that says so, unless `reload` is set.
   * Rejects for an unknown name.
   */
  load(
    name: string,
    options?: { readonly reload?: boolean },
  ): Promise<{ readonly text: string; readonly already: boolean }>
  /** Returns the agent that does this skill on its own. Rejects for an unknown name. */
  agent(name: string): Promise<TaskAgent>
  /** Reports that this agent has finished. */
  ended(name: string): Promise<void>
}
