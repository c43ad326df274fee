/// <reference lib="esnext.disposable" preserve="true" />
import { resolve } from 'node:path'
import { systemClock } from '../loop/host-env.js'
import { SessionClosedError, SessionOptionError } from '../session/errors.js'
import type { ForkPoint } from '../session/history/fork.js'
import { assertIdleThreshold } from '../session/idle-threshold.js'
import type { RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { ImportedSession, ImportSessionOptions } from '../store/import-session.js'
import type { PrunedSession, PruneSessionOptions } from '../store/prune-session.js'
import type { SessionStore } from '../store/session-store.js'
import type { WorkerAgentSpec } from '../subagents/files/worker-spec.js'
import { type AgentConfig, type AgentConfigInput, describeConfig, loadConfig } from './config/index.js'
import { configuredStore } from './configured-store.js'
import type { AgentDirHandle } from './dir/handle.js'
import type { ServeAgentDirOptions } from './dir/serve-options.js'
import type { OpenerSetup, SessionOpener } from './dir/serving-host.js'
import { noWorkspace, SessionNotFoundError } from './errors.js'
import { builtinAgents } from './named-agents.js'
import type { OpenSessions } from './open-sessions.js'
import { type AgentSurroundings, type MakerParts, SessionMaker } from './session-maker.js'
import { loadSessionModules, type SessionModules } from './session-modules.js'
import { workspaceInLog, workspaceRoot } from './workspace-root.js'

/**
 * Configuration and live sessions. With no provider configured its sessions use the built-in offline model, which says so.
 *
 * @example
 * const agent = await Agent.create(`
 *   default_model = "openai/gpt-5-mini"
 *   providers "openai" { api_key = env("OPENAI_API_KEY")  models "gpt-5-mini" {} }
 * `)
 * const session = agent.session('.')
 * console.log((await session.send('What is this project?')).text)
 * await agent.close()
 */
export class Agent {
  readonly #config: AgentConfig
  readonly #surroundings: AgentSurroundings
  readonly #machinery: SessionModules
  readonly #maker: SessionMaker
  readonly #sessions: OpenSessions
  /** Agent directories that are served with it. */
  readonly #served = new Set<Promise<AgentDirHandle>>()
  readonly #closing = new AbortController()
  /** Settles when no server is being asked what it offers. */
  #asking: Promise<unknown> = Promise.resolve()
  /** What was odd about the configuration, one sentence each. */
  readonly warnings: readonly string[]

  private constructor(parts: MakerParts, warnings: readonly string[]) {
    this.#config = parts.config
    this.#surroundings = parts.surroundings
    this.#machinery = parts.machinery
    this.#maker = new SessionMaker(parts)
    this.#sessions = this.#maker.sessions
    this.warnings = warnings
  }

  /** Takes ACL text, the path of an `.acl` file, or the same as an object. */
  static async create(
    source: string | AgentConfigInput = {},
    surroundings: AgentSurroundings = {},
  ): Promise<Agent> {
    const { env, cwd } = surroundings
    const { config, warnings } = await loadConfig(source, {
      ...(env !== undefined && { env }),
      ...(cwd !== undefined && { cwd }),
    })
    const machinery = await loadSessionModules()
    // A rule or pattern that cannot be used is refused here rather than with the first session.
    if (config.manifest !== undefined) machinery.checkOptions({ manifest: config.manifest })
    return new Agent({ config, surroundings, machinery, store: configuredStore(config) }, warnings)
  }

  /** The configuration as it was understood, with every secret hidden. */
  describe(): Record<string, unknown> {
    return describeConfig(this.#config)
  }

  /** The store of the configuration, which sessions without a `sessionStore` of their own are in; undefined when there is none. */
  get sessionStore(): SessionStore | undefined {
    return this.#maker.store
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /** Opens a session on a directory. It is there at once; what it needs is opened with its first call. */
  session(workspace: string, options: SessionOptions = {}): Session {
    return this.#open(workspace, options, [])
  }

  /** A session of an agent that has a name: its prompt, tools, rules and limits, with the options on top. */
  sessionForAgent(
    workspace: string,
    agentName: string,
    agentDirs: readonly string[] = [],
    options: SessionOptions = {},
  ): Session {
    this.#machinery.checkOptions(options)
    const directories = [...agentDirs, ...(options.agentDirs ?? [])]
    const { agent, problems } = this.#machinery.lookUpAgent(agentName, {
      root: workspaceRoot(options.workspaceBackend?.root ?? workspace, this.#surroundings.cwd),
      userDir: this.#maker.userDir,
      directories: [...directories, ...(this.#config.agentDirs ?? [])],
      discover: options.discoverAgents !== false,
    })
    return this.#open(
      workspace,
      this.#maker.asAgent(agent, { ...options, agentDirs: directories }),
      problems,
      agent.name,
    )
  }

  /** A session of a worker: an agent in a few words. */
  sessionForWorker(workspace: string, spec: WorkerAgentSpec, options: SessionOptions = {}): Session {
    const worker = this.#machinery.workerAgent(spec, builtinAgents)
    return this.#open(workspace, this.#maker.asAgent(worker, options), [], worker.name)
  }

  /**
   * Resumes a session of a store with its history, todos, labels and settings, for stores that can be read synchronously. Options given
   * now win. What the log says about authority only restricts the session, unless `trustStore` is set. Reading takes no lease: the first
   * message does.
   */
  resumeSession(sessionId: string, options: ResumeOptions = {}): Session {
    const store = this.#storeFor(options)
    if (store.readSync === undefined)
      throw new SessionOptionError(
        'sessionStore',
        `Failed to resume session: the store "${store.backend}" cannot be read at once; use await agent.openSession(id, options).`,
      )
    return this.#resume(sessionId, options, this.#machinery.loadNow(store, sessionId))
  }

  /** The same for every store. */
  async openSession(sessionId: string, options: ResumeOptions = {}): Promise<Session> {
    return this.#resume(sessionId, options, await this.#machinery.load(this.#storeFor(options), sessionId))
  }

  /**
   * A new session with what was said in another, up to its end or a message: under new ids, with its labels and options, and without
   * what a person agreed to for it. Options given now win. Refused while a run is at work in the other.
   *
   * @example
   * const other = await agent.forkSession(session, { beforeMessageId: id, model: 'openai/gpt-5' })
   * await other.send('Do it another way.')
   */
  async forkSession(from: string | Session, options: ForkOptions = {}): Promise<Session> {
    const { fromMessageId, beforeMessageId, workspace, ...given } = options
    const id = typeof from === 'string' ? from : from.sessionId
    const open = typeof from === 'string' ? this.#sessions.find(id) : from
    const store = open === undefined ? this.#storeFor(given, 'fork') : this.#maker.store
    this.#machinery.checkOptions(given)
    const { makeFork } = await import('./fork-session.js')
    const fork = await makeFork({
      from: open ?? id,
      point: {
        ...(fromMessageId !== undefined && { fromMessageId }),
        ...(beforeMessageId !== undefined && { beforeMessageId }),
      },
      options: given,
      store,
      workspace,
    })
    if (fork === undefined) throw new SessionNotFoundError(id, store?.backend ?? 'memory', 'fork')
    const root =
      workspace ?? (open === undefined ? this.#workspaceOf(id, fork.state, 'fork', given) : fork.workspace)
    return this.#make(root, fork.options, [], fork.agentId, fork.state)
  }

  /** A kept session as lines of JSON: the session, its messages with their parts, and the rest of its log. */
  exportSession(
    sessionId: string,
    options: Pick<SessionOptions, 'sessionStore'> = {},
  ): AsyncGenerator<string, void, undefined> {
    return exportedFrom(this.#storeFor(options, 'export'), sessionId)
  }

  /**
   * Takes such lines into the store, all or nothing; `resumeSession` goes on with what they tell. Unless they are `trusted`, nothing in
   * them gives authority: rules, options, mode, labels, the workspace and what an undo would write are left out, and the outcome says so.
   * `workspace` says where it goes on.
   */
  async importSession(
    lines: AsyncIterable<string> | Iterable<string>,
    options: Omit<ImportSessionOptions, 'now'> & Pick<SessionOptions, 'sessionStore'> = {},
  ): Promise<ImportedSession> {
    const { sessionStore, workspace, ...rest } = options
    const store = this.#storeFor({ ...(sessionStore !== undefined && { sessionStore }) }, 'import')
    const root =
      workspace === undefined ? {} : { workspace: workspaceRoot(workspace, this.#surroundings.cwd) }
    const { importSession } = await import('../store/import-session.js')
    return importSession(store, lines, { ...rest, ...root, now: () => systemClock.now() })
  }

  /**
   * Takes out of a kept session what only looks back: events of runs that are over, except those of the last `keepRuns`, and notes that
   * later records made worthless. What was said, what a run can go on from, what can be undone and all counts stay. Nothing is ever
   * taken out of a log unless this is called. Refused while somebody has the session.
   */
  async pruneSession(
    sessionId: string,
    options: Omit<PruneSessionOptions, 'now'> & Pick<SessionOptions, 'sessionStore'> = {},
  ): Promise<PrunedSession> {
    const { sessionStore, ...rest } = options
    const store = this.#storeFor({ ...(sessionStore !== undefined && { sessionStore }) }, 'prune')
    const { pruneSession } = await import('../store/prune-session.js')
    return pruneSession(store, sessionId, { ...rest, now: () => systemClock.now() })
  }

  /**
   * Serves an agent directory: opens a session for each of its schedules, with its instructions, skills and tools, and fires them when
   * they are due, until it is stopped. Rejects, and starts nothing, unless all of it is in order.
   *
   * @example
   * const served = await agent.serveAgentDir('release-agent', '.', { onResult: (report) => console.log(report.status) })
   * await served.runNow('daily')
   * await served.stop()
   */
  async serveAgentDir(
    dir: string,
    workspace: string,
    options: ServeAgentDirOptions = {},
  ): Promise<AgentDirHandle> {
    this.#assertOpen()
    const { cwd = '.', env = process.env } = this.#surroundings
    const root = workspaceRoot(workspace, cwd)
    const { serveAgentDir } = await import('./dir/serve-agent-dir.js')
    this.#assertOpen()
    const starting = serveAgentDir(resolve(cwd, dir), options, {
      config: this.#config,
      env,
      workspace: root,
      machine: this.#maker.machine,
      signal: this.#closing.signal,
      opener: (setup) => this.#openerOf(setup, root),
    })
    this.#served.add(starting)
    starting.catch(() => this.#served.delete(starting))
    const handle = await starting
    if (handle.isStopped()) this.#served.delete(starting)
    handle.on(({ type }) => type === 'stopped' && this.#served.delete(starting))
    return handle
  }

  /** The ids of the sessions that are open, sorted. */
  async listSessions(): Promise<string[]> {
    return this.#sessions.ids()
  }

  /** Closes a session by its id. False when no such session is open. */
  async closeSession(sessionId: string): Promise<boolean> {
    return this.#sessions.close(sessionId)
  }

  /**
   * Asks the MCP servers of the configuration what they offer: sessions that begin afterwards have their tools in `toolNames()` from the
   * start. In sessions that use servers the lists are read again, and servers that were lost are connected. Resolves also when a server
   * fails: `mcpStatus()` of a session says which and why.
   */
  async refreshMcpTools(): Promise<void> {
    this.#assertOpen()
    const asking = this.#maker.askServers(this.#closing.signal)
    this.#asking = Promise.allSettled([this.#asking, asking])
    await Promise.all([asking, ...this.#sessions.all().map((session) => session.refreshUsedMcpTools())])
  }

  /**
   * Disconnects MCP servers that no call has used for this long, in every session. They stay configured, and the next call of one of
   * their tools connects them again. Returns their names.
   */
  async disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    assertIdleThreshold(thresholdMs)
    const dropped = await Promise.all(
      this.#sessions.all().map((session) => session.disconnectIdleMcp(thresholdMs)),
    )
    return [...new Set(dropped.flat())].sort()
  }

  /** Closes every session. Afterwards none can be opened. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#served].map(stopServing))
    await this.#asking
    await this.#sessions.closeAll()
    await this.#maker.machine.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Sessions with another configuration, which count among this agent's and run their programs with it. */
  #openerOf(
    { config, store = this.#maker.store, agentId, secrets }: OpenerSetup,
    root: string,
  ): SessionOpener {
    const { machine } = this.#maker
    const lent = { sessions: this.#sessions, machine, secrets }
    const other = new SessionMaker({
      config,
      surroundings: this.#surroundings,
      machinery: this.#machinery,
      store,
      lent,
    })
    return async (options) => {
      const { sessionId, sessionStore = store } = options
      this.#assertOpen()
      this.#assertFree(sessionId)
      const kept = sessionStore && (await this.#machinery.load(sessionStore, sessionId))
      this.#assertOpen()
      const session = other.make(root, options, [], agentId, kept && withoutOptions(kept))
      return { session, runs: kept?.runs.values() ?? [] }
    }
  }

  #assertOpen(): void {
    if (this.isClosed) throw new SessionClosedError('agent')
  }

  #assertFree(sessionId: string): void {
    if (this.#sessions.find(sessionId) !== undefined)
      throw new SessionOptionError('sessionId', `A session with the id '${sessionId}' is open already.`)
  }

  #storeFor({ sessionStore }: SessionOptions, doing = 'resume'): SessionStore {
    const store = sessionStore ?? this.#maker.store
    if (store !== undefined) return store
    throw new SessionOptionError(
      'sessionStore',
      `Failed to ${doing} session: set sessionStore, or storage_backend.`,
    )
  }

  #resume(sessionId: string, options: ResumeOptions, state: RestoredSession | undefined): Session {
    const { workspace, ...rest } = options
    if (state === undefined) throw new SessionNotFoundError(sessionId, this.#storeFor(options).backend)
    const root =
      rest.workspaceBackend?.root ?? workspace ?? this.#workspaceOf(sessionId, state, 'resume', options)
    return this.#make(root, { ...rest, sessionId }, [], state.session?.agent, state)
  }

  #workspaceOf(
    sessionId: string,
    { session }: Pick<RestoredSession, 'session'>,
    doing: string,
    { trustStore }: SessionOptions,
  ): string {
    const { workspaceRoot: root } = session ?? {}
    if (root === undefined) throw noWorkspace(sessionId, doing)
    return trustStore === true ? root : workspaceInLog(sessionId, root, this.#maker.userDir)
  }

  #open(workspace: string, given: SessionOptions, warnings: readonly string[], agentId?: string): Session {
    const { sessionId } = given
    if (sessionId === undefined) return this.#make(workspace, given, warnings, agentId)
    this.#assertFree(sessionId)
    const store = given.sessionStore ?? this.#maker.store
    // One that is kept under this id goes on; a bad option is told before anything is read.
    this.#machinery.checkOptions(given)
    return this.#make(workspace, given, warnings, agentId, store && this.#machinery.loadNow(store, sessionId))
  }

  #make(...given: Parameters<SessionMaker['make']>): Session {
    this.#assertOpen()
    return this.#maker.make(...given)
  }
}

/** `workspace` is where the session goes on, when that is not where it was. */
export type ResumeOptions = SessionOptions & { readonly workspace?: string }

/** `workspace` is where the fork works, when that is not where the other does. */
export type ForkOptions = ResumeOptions & ForkPoint

async function* exportedFrom(
  store: SessionStore,
  sessionId: string,
): AsyncGenerator<string, void, undefined> {
  const { exportSession } = await import('../store/export-session.js')
  yield* exportSession(store, sessionId)
}

/** Whoever serves says what holds: options that were given another time must not outlive their being left out. */
function withoutOptions(state: RestoredSession): RestoredSession {
  if (state.session === undefined) return state
  const { options: _, ...session } = state.session
  return { ...state, session }
}

async function stopServing(starting: Promise<AgentDirHandle>): Promise<void> {
  const handle = await starting.catch(() => undefined)
  await handle?.stop({ drainMs: 0 })
}
