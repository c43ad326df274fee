import type { CompletionUsage } from './completion.js'
import type { ToolDefinition } from './definition.js'
import type { Envelope } from './envelope.js'
import type { JsonSchema, JsonValue } from './json.js'
import type { VerificationCommand, VerificationReport } from './verification.js'

/**
 * The surface a tool works through. Whatever a tool does to a machine goes through the runtime it is handed, which holds every
 * path, host and command to the call's grant; a tool never reaches for the machine by itself. A host lends the parts it has.
 */
export interface ToolRuntime {
  readonly files?: RuntimeFiles
  readonly search?: RuntimeSearch
  readonly shell?: RuntimeShell
  readonly net?: RuntimeNet
  readonly scratch?: RuntimeScratch
  /** What belongs to the session rather than to the machine. */
  readonly session?: RuntimeSession
}

export type FileKind = 'file' | 'directory' | 'symlink' | 'other'
export type FileStat = {
  readonly kind: FileKind
  readonly size: number
  readonly mtimeMs: number
  readonly mode: number
}
export type DirectoryEntry = { readonly name: string; readonly kind: FileKind; readonly size?: number }

/** A file's bytes with a digest of the whole file, to notice that it changed before it is written again. */
export type FileContent = { readonly bytes: Uint8Array; readonly size: number; readonly version: string }
export type WriteOutcome = {
  readonly path: string
  readonly bytes: number
  readonly created: boolean
  readonly version: string
}
/** One change to one file, with what the file was when the change was worked out. `after` is the new text. */
export type FileChange =
  | { readonly kind: 'write'; readonly path: string; readonly after: string; readonly before: FileBefore }
  | { readonly kind: 'create'; readonly path: string; readonly after: string }
  | { readonly kind: 'remove'; readonly path: string; readonly before: FileBefore }
  | {
      readonly kind: 'move'
      readonly path: string
      readonly to: string
      /** Absent: moved as it is. */
      readonly after?: string
      readonly before: FileBefore
    }
export type FileBefore = Pick<FileContent, 'version' | 'bytes'>

export type WriteOptions = {
  /** Write only while the file still has this version; `null`: only while there is no file. */
  readonly ifVersion?: string | null
}

/**
 * Files under the workspace root (and the session's scratch directory). Paths are relative to the root, or absolute inside it. A
 * path that leads outside the grant is refused with an error that says so. Directories on the way are made when writing.
 */
export interface RuntimeFiles {
  /** The real path of the workspace root. */
  readonly root: string
  stat(path: string): Promise<FileStat>
  /** Why this path may not be read, judged by its text alone, whether or not it exists; undefined when it may. */
  whyNotRead?(path: string): Promise<string | undefined>
  list(path: string): Promise<DirectoryEntry[]>
  /** The whole file; refuses one larger than `maxBytes`. */
  read(path: string, options?: { readonly maxBytes?: number }): Promise<FileContent>
  /** The whole file as text; refuses one larger than `maxBytes`, and one that is not UTF-8. */
  readText(path: string, options?: { readonly maxBytes?: number }): Promise<string>
  /** Bytes `start` to `end` (exclusive), in memory that does not grow with the file. */
  readRange(path: string, start: number, end: number): Promise<Uint8Array>
  /** Replaces the file in one step, keeping its mode; other writes to the same path wait their turn. */
  write(path: string, data: string | Uint8Array, options?: WriteOptions): Promise<WriteOutcome>
  remove(path: string): Promise<void>
  move(from: string, to: string): Promise<void>
  /**
   * Makes all changes or none: each only while its file is still what it was, and when one fails those before it are undone. Once it
   * has begun, an abort does not stop it halfway. Throws an error that says which file failed and what could not be undone.
   */
  change(changes: readonly FileChange[]): Promise<void>
}

export type GrepRequest = {
  readonly pattern: string
  readonly path?: string
  readonly glob?: string
  readonly ignoreCase?: boolean
  readonly before?: number
  readonly after?: number
  readonly mode?: 'content' | 'files' | 'count'
  /** How many matches (or files) at most; the rest is only counted. */
  readonly limit: number
  readonly signal?: AbortSignal
}
export type GrepLine = {
  readonly path: string
  readonly line: number
  readonly text: string
  readonly match: boolean
}
export type GrepOutcome = {
  readonly lines: readonly GrepLine[]
  readonly files: readonly { readonly path: string; readonly count: number }[]
  readonly matches: number
  /** In how many files. */
  readonly fileCount: number
  /** There is more than what is listed. */
  readonly truncated: boolean
  /** The search was cut short (deadline or abort): `matches` is a lower bound. */
  readonly incomplete?: string
}
export type GlobRequest = {
  readonly pattern: string
  readonly path?: string
  readonly order?: 'name' | 'newest'
  readonly limit: number
  readonly signal?: AbortSignal
}
export type GlobOutcome = {
  readonly paths: readonly string[]
  readonly total: number
  readonly truncated: boolean
  readonly incomplete?: string
}

export interface RuntimeSearch {
  grep(request: GrepRequest): Promise<GrepOutcome>
  glob(request: GlobRequest): Promise<GlobOutcome>
}

export type ShellOptions = {
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly cwd?: string
  /** Output as it comes, both streams interleaved. */
  readonly onOutput?: (text: string) => void
  /** How much output to keep in memory; past it the head and the tail are kept, and the whole goes to a file. */
  readonly maxBytes?: number
  /**
   * Git in this command starts no program that the repository names (hooks, filters, monitors, signing, transports) and works on no
   * tree but its own. For commands that call git and nothing else. `clone`: for `git clone`, which begins outside of a repository and
   * may use HTTP and no other transport.
   */
  readonly guardGit?: boolean | 'clone'
}
export type ShellOutcome = {
  /** Null when a signal ended it. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly output: string
  readonly outputBytes: number
  readonly truncated: boolean
  /** The file with the whole output, when it was longer than was kept. */
  readonly outputPath?: string
  readonly timedOut: boolean
  readonly aborted: boolean
  readonly durationMs: number
  /** What confined it: the name of the sandbox, or `none`. */
  readonly sandbox: string
  /** What the sandbox is known to have refused, in words. */
  readonly blocked: readonly string[]
  /** The sandbox refused a host to the command, or the command needed a network that the sandbox does not have. */
  readonly networkRefused?: boolean
  /** Processes that outlived the command and now run as this background job. */
  readonly leftover?: string
}
export type ShellJob = {
  readonly id: string
  readonly command: string
  readonly running: boolean
  readonly exitCode: number | null
  readonly startedAtMs: number
}

export interface RuntimeShell {
  run(command: string, options?: ShellOptions): Promise<ShellOutcome>
  /** Starts a command that goes on in the background until it ends, is killed, or the session closes. */
  start(command: string, options?: Pick<ShellOptions, 'cwd'>): Promise<ShellJob>
  jobs(): ShellJob[]
  /** A job's output from a position on, and the position to go on from. */
  readJob(id: string, from?: number): Promise<{ text: string; next: number; job: ShellJob }>
  killJob(id: string): Promise<ShellJob>
}

export type NetRequest = {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
  readonly maxBytes?: number
}
export type NetResponse = {
  readonly status: number
  /** Where the answer came from, after redirects. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly truncated: boolean
}

/** Requests to hosts inside the grant; private, loopback and metadata addresses are refused on every hop. */
export interface RuntimeNet {
  fetch(url: string, request?: NetRequest): Promise<NetResponse>
}

/** The session's private directory for what does not belong into the workspace. */
export interface RuntimeScratch {
  /** Writes a new file with a name nobody can guess and gives its path, which `files.read` takes. */
  write(label: string, data: string | Uint8Array): Promise<string>
}

export type TodoStatus = 'pending' | 'in_progress' | 'completed'
export type Todo = { readonly content: string; readonly status: TodoStatus }

export type Question = {
  readonly question: string
  /** A few words above it. */
  readonly header?: string
  readonly options?: readonly { readonly label: string; readonly description?: string }[]
  readonly multi_select?: boolean
}
/** One list of answers for each question, in their order. */
export type QuestionAnswers = { readonly answers: readonly (readonly string[])[] }

/** The session that a call belongs to: its list, its person, its tools. A host lends the parts it has. */
export interface RuntimeSession {
  readonly todos?: {
    list(): readonly Todo[]
    replace(todos: readonly Todo[]): void | Promise<void>
  }
  /** Puts questions to a person and waits. Absent: nobody is there. */
  readonly ask?: (questions: readonly Question[], signal?: AbortSignal) => Promise<QuestionAnswers>
  readonly tools?: RuntimeTools
  readonly mode?: RuntimeMode
  /** Keeps what this call does while it runs. Absent: nobody could go on with it. */
  readonly steps?: () => CallSteps
  readonly objects?: RuntimeObjects
  /**
   * Runs commands one after the other and keeps a report of how they went. Each walks the gate as a call of `bash` with the authority
   * of the caller. Rejects only for commands that cannot be read; one that was refused, or cancelled, is told in the report.
   */
  readonly verify?: (
    subject: string,
    commands: readonly (string | VerificationCommand)[],
    options?: { readonly signal?: AbortSignal; readonly watch?: CallWatch },
  ) => Promise<VerificationReport>
  readonly tasks?: RuntimeTasks
  readonly skills?: RuntimeSkills
}

/** The mode of the session, as far as a tool may change it. Only a call that a person approved may leave the mode `plan`. */
export interface RuntimeMode {
  /** Absent: no mode is set. */
  name(): string | undefined
  /** Whether a user can approve a plan. */
  canAsk(): boolean
  enterPlan(): Promise<void>
  /** Goes back to the mode from before, and gives its name. */
  leavePlan(): Promise<string | undefined>
}

export type Invocation = {
  readonly tool: string
  readonly args: unknown
  /** Names the call among those made inside one call: where that one is run again, the same call has the same name. */
  readonly id?: string
  /** `data`: what code wants rather than a model, for the tools that `hasDataForm` says. Judged as the tool itself. */
  readonly form?: 'data'
}

/** Hears what becomes of calls on their way. */
export interface CallWatch {
  /** All that is left of them waits for somebody's yes, or does so no more. */
  waiting(waits: boolean): void
}

/** What a call that can be gone on with has done so far: kept in the log until it has its result. */
export interface CallSteps {
  /** What an earlier process kept of this very call, in order. */
  readonly before: readonly CallStep[]
  /** Calls inside it that had begun then and must not be made twice, by their names. */
  readonly begun: readonly string[]
  /** Resolves when these, and all before them, are safe. */
  add(steps: readonly CallStep[]): Promise<void>
}
export type CallStep = {
  /** The call inside it that has ended with this. */
  readonly ends?: string
  readonly step: JsonValue
}

/** The other tools of the session, reached from inside a call. */
export interface RuntimeTools {
  /**
   * Makes further calls as part of this one: each walks the gate with the authority of the caller. At most `maxConcurrency` run at
   * once, those that write the same things one after the other; the envelopes come in the order of the invocations. Never rejects
   * for a call that failed: its envelope says so.
   */
  callAll(
    invocations: readonly Invocation[],
    options?: {
      readonly maxConcurrency?: number
      readonly signal?: AbortSignal
      readonly watch?: CallWatch
    },
  ): Promise<readonly Envelope[]>
  /** Whether the tool has a form for code: `read` gives a file's text as it is, `glob` the list of paths. */
  hasDataForm?(tool: string): boolean
  /** The tools that exist and are not shown to the model; the same array as long as nothing has changed. */
  hidden(): readonly ToolDefinition[]
  /** Shows tools to the model from the next round on, behind those it sees already. */
  offer(names: readonly string[]): void
}

/** What is wanted of a model that answers with data. */
export type ObjectRequest = {
  /** The JSON Schema of the answer, of any kind: object, list or single value. */
  readonly schema: JsonSchema
  readonly prompt: string
  /** Letters, digits, `_` and `-`; `result` unless told. */
  readonly schemaName?: string
  readonly schemaDescription?: string
  readonly system?: string
  /** `auto` takes the best that the model has. */
  readonly mode?: 'auto' | 'tool' | 'prompt'
  /** How often an answer that does not fit goes back to the model; 2 unless told, 5 at most. */
  readonly maxRepairAttempts?: number
  /** For all attempts together; two minutes unless told. */
  readonly timeoutMs?: number
}
export type GeneratedObject<Value = unknown> = {
  readonly object: Value
  /** How it was asked for: `native` where the provider itself holds answers to a schema. */
  readonly mode: 'native' | 'tool' | 'prompt'
  readonly repairAttempts: number
  /** Of all attempts together. */
  readonly usage: CompletionUsage
  /** What the model wrote at last. */
  readonly rawText: string
}
/** What is known of an object while it is written; it only grows within one attempt, and each repair begins anew. */
export type PartialObject = { readonly value: unknown; readonly repairAttempt: number }

/** The model of the session, asked for data. What it costs is the session's. */
export interface RuntimeObjects {
  /** Rejects when no answer fits in the end, with what was wrong. */
  generate(
    request: ObjectRequest,
    options?: { readonly signal?: AbortSignal; onPartial?(partial: PartialObject): void },
  ): Promise<GeneratedObject>
}

/** An agent made for one task. What it may is always within what the one who asks may. */
export type TaskAgent = {
  readonly name: string
  /** What it is told that it is. */
  readonly prompt: string
  /** The tools it has, of those that the one who asks has; absent: all of them. */
  readonly tools?: readonly string[]
  /** Rules of its own, in the words of a `permissionPolicy`; absent: only those of the one who asks hold. */
  readonly permissions?: {
    readonly deny?: readonly string[]
    readonly ask?: readonly string[]
    readonly allow?: readonly string[]
    readonly defaultDecision?: 'allow' | 'deny' | 'ask'
  }
  readonly maxSteps?: number
}

/** A piece of work for another agent. */
export type TaskRequest = {
  /** The name of an agent, or one made for this task alone. */
  readonly agent: string | TaskAgent
  /** A few words for people. */
  readonly description: string
  readonly prompt: string
  readonly maxSteps?: number
  /** The answer must be JSON that fits this schema. */
  readonly outputSchema?: JsonSchema
}

export type TaskCounters = {
  readonly rounds: number
  readonly toolCalls: number
  readonly totalTokens: number
}

/** What became of a task. */
export type TaskOutcome = {
  readonly taskId: string
  /** Of the session that did it. */
  readonly sessionId: string
  readonly agent: string
  readonly description: string
  readonly success: boolean
  /** The last thing the agent said, also when it did not come to an end. */
  readonly output: string
  /** What went wrong; absent when nothing did. */
  readonly error?: string
  /** The answer as data, where there was a schema for it. */
  readonly structured?: unknown
  readonly counters: TaskCounters
}

/** Hands work to other agents: each is a session of its own on the same workspace, with no more authority than the one who asks. */
export interface RuntimeTasks {
  /**
   * Waits for all of them; the outcomes come in order. Rejects only for what cannot be begun: too many, too deep, or an unknown agent
   * of a single task. Among several tasks, an unknown agent fails its own task.
   */
  run(
    requests: readonly TaskRequest[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly TaskOutcome[]>
  /** Begins one that nobody waits for; what comes of it is told to the model later. */
  start(request: TaskRequest): Promise<{ readonly taskId: string; readonly sessionId: string }>
}

/** A skill as a model chooses among them. */
export type SkillSummary = {
  readonly name: string
  readonly description: string
  readonly kind: string
  readonly allowedTools: readonly string[]
}

/** Texts that say how kinds of work are done. */
export interface RuntimeSkills {
  /** The best first. */
  search(
    query: string,
    limit: number,
  ): Promise<{ readonly found: readonly SkillSummary[]; readonly total: number }>
  /** The text of a skill; where the model has it before it already, only words that say so, unless `reload`. Rejects for an unknown name. */
  load(
    name: string,
    options?: { readonly reload?: boolean },
  ): Promise<{ readonly text: string; readonly already: boolean }>
  /** The agent that does this skill by itself. Rejects for an unknown name. */
  agent(name: string): Promise<TaskAgent>
  /** That agent has come to its end. */
  ended(name: string): Promise<void>
}
