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
import { type OpenedTelemetry, openTelemetry } from '../telemetry/open-telemetry.js'
import type { OtelMeter } from '../telemetry/otel.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { isBackend } from '../workspace/backend/backend.js'
import { type AgentConfig, type AgentConfigInput, describeConfig, loadConfig } from './config/index.js'
import { configuredStore } from './configured-store.js'
import type { AgentDirHandle } from './dir/handle.js'
import type { ServeAgentDirOptions } from './dir/serve-options.js'
import type { OpenerSetup, SessionOpener } from './dir/serving-host.js'
import { noWorkspace, SessionNotFoundError } from './errors.js'
import { builtinAgents } from './named-agents.js'
import type { OpenSessions } from './open-sessions.js'
import { type AgentEnvironment, type MakerParts, SessionMaker } from './session-maker.js'
import { loadSessionModules, type SessionModules } from './session-modules.js'
import { chosenRoot, workspaceInLog, workspaceRoot } from './workspace-root.js'

/**
 * A configuration and its open sessions. Without a configured provider, sessions use the built-in offline model.
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
  readonly #environment: AgentEnvironment
  readonly #machinery: SessionModules
  readonly #maker: SessionMaker
  readonly #sessions: OpenSessions
  /** Agent directories that this agent serves. */
  readonly #served = new Set<Promise<AgentDirHandle>>()
  readonly #closing = new AbortController()
  /** Settles when no request to an MCP server is pending. */
  #asking: Promise<unknown> = Promise.resolve()
  readonly #telemetry: OpenedTelemetry | undefined
  /** Warnings about the configuration. */
  readonly warnings: readonly string[]

  private constructor(parts: MakerParts, warnings: readonly string[]) {
    this.#telemetry = parts.telemetry
    this.#config = parts.config
    this.#environment = parts.environment
    this.#machinery = parts.machinery
    this.#maker = new SessionMaker(parts)
    this.#sessions = this.#maker.sessions
    this.warnings = warnings
  }

  /**
   * Creates an agent from ACL text, the path of an `.acl` file, or an object.
   *
   * @example
   * await using agent = await Agent.create({
   *   defaultModel: 'openai/gpt-5-mini',
   *   providers: { openai: { apiKey: process.env.OPENAI_API_KEY, models: ['gpt-5-mini'] } },
   * })
   */
  static async create(
    source: string | AgentConfigInput = {},
    environment: AgentEnvironment = {},
  ): Promise<Agent> {
    const { env, cwd } = environment
    const { config, warnings } = await loadConfig(source, { env, cwd })
    const machinery = await loadSessionModules()
    // Reports an invalid rule or pattern here, not in the first session.
    if (config.manifest !== undefined) machinery.checkOptions({ manifest: config.manifest })
    const store = configuredStore(config)
    const telemetry = await openTelemetry(environment.telemetry, config.telemetry, env ?? process.env)
    return new Agent({ config, environment, machinery, store, telemetry }, warnings)
  }

  /**
   * The meter of the agent's telemetry; undefined without telemetry. Workers and servers report queue metrics to it.
   */
  get meter(): OtelMeter | undefined {
    return this.#telemetry?.meter
  }

  /** The limits of tenants and of the queue in the configuration, for workers. */
  get clusterConfig(): AgentConfig['cluster'] {
    return this.#config.cluster
  }

  /** The parsed configuration, with every secret masked. */
  describe(): Record<string, unknown> {
    return describeConfig(this.#config)
  }

  /** The store of the configuration, for sessions without a `sessionStore` of their own; undefined without one. */
  get sessionStore(): SessionStore | undefined {
    return this.#maker.store
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted
  }

  /**
   * Opens a session on a directory. Returns at once; files, processes and servers are opened on first use.
   *
   * @example
   * const session = agent.session('.', { permissionPolicy: { allow: ['bash(npm test)'] } })
   * const { text } = await session.send('Make the tests pass.')
   */
  session(workspace: string, options: SessionOptions = {}): Session {
    return this.#open(workspace, options, [])
  }

  /**
   * Opens a session with the prompt, tools, rules and limits of a named agent. Options take precedence, except over its
   * denies.
   *
   * @example
   * const session = agent.sessionForAgent('.', 'review')
   */
  sessionForAgent(
    workspace: string,
    agentName: string,
    agentDirs: readonly string[] = [],
    options: SessionOptions = {},
  ): Session {
    this.#machinery.checkOptions(options)
    const directories = [...agentDirs, ...(options.agentDirs ?? [])]
    const { agent, problems } = this.#machinery.lookUpAgent(agentName, {
      root: isBackend(options.workspaceBackend)
        ? undefined
        : chosenRoot(options.workspaceBackend, workspace, this.#environment.cwd),
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

  /** Opens a session for a worker, which is an agent described by a short specification. */
  sessionForWorker(workspace: string, spec: WorkerAgentSpec, options: SessionOptions = {}): Session {
    const worker = this.#machinery.workerAgent(spec, builtinAgents)
    return this.#open(workspace, this.#maker.asAgent(worker, options), [], worker.name)
  }

  /**
   * Resumes a stored session with its history, todos, labels and settings, for stores that can be read synchronously.
   * The given options take precedence. Permissions in the log can only restrict the session, unless `trustStore` is
   * set. The lease is taken with the first message, not here.
   *
   * @example
   * const session = agent.resumeSession('3f2a…', { sessionStore: new FileSessionStore('./sessions') })
   */
  resumeSession(sessionId: string, options: ResumeOptions = {}): Session {
    const store = this.#storeFor(options)
    if (store.readSync === undefined)
      throw new SessionOptionError(
        'sessionStore',
        `Failed to resume session: the store "${store.backend}" cannot be read synchronously; use await agent.openSession(id, options).`,
      )
    return this.#resume(sessionId, options, this.#machinery.loadNow(store, sessionId))
  }

  /**
   * Resumes a stored session like {@link Agent.resumeSession}, for every store, also those that can only be read
   * asynchronously.
   *
   * @example
   * const session = await agent.openSession(id, { sessionStore: store })
   */
  async openSession(sessionId: string, options: ResumeOptions = {}): Promise<Session> {
    return this.#resume(sessionId, options, await this.#machinery.load(this.#storeFor(options), sessionId))
  }

  /**
   * Copies a session, up to its end or to a message, into a new session. The copy has new ids, and the labels and
   * options of the original, but not its approvals. The given options take precedence. Throws while the original has a
   * run in progress.
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
      point: omitUndefined({ fromMessageId, beforeMessageId }),
      options: given,
      store,
      workspace,
    })
    if (fork === undefined) throw new SessionNotFoundError(id, store?.backend ?? 'memory', 'fork')
    const root =
      workspace ?? (open === undefined ? this.#workspaceOf(id, fork.state, 'fork', given) : fork.workspace)
    return this.#make(root, fork.options, [], fork.agentId, fork.state)
  }

  /**
   * Exports a stored session as lines of JSON: the session, its messages, and the rest of its log.
   *
   * @example
   * for await (const line of agent.exportSession(id)) process.stdout.write(line)
   */
  exportSession(
    sessionId: string,
    options: Pick<SessionOptions, 'sessionStore'> = {},
  ): AsyncGenerator<string, void, undefined> {
    return exportedFrom(this.#storeFor(options, 'export'), sessionId)
  }

  /**
   * Imports exported lines into the store, all or none; `resumeSession` then resumes the session. Unless the lines are
   * `trusted`, they give no authority: rules, options, mode, labels, the workspace and the content of an undo are
   * dropped, and the result lists them. `workspace` is the directory in which the session resumes.
   */
  async importSession(
    lines: AsyncIterable<string> | Iterable<string>,
    options: Omit<ImportSessionOptions, 'now'> & Pick<SessionOptions, 'sessionStore'> = {},
  ): Promise<ImportedSession> {
    const { sessionStore, workspace, ...rest } = options
    const store = this.#storeFor({ sessionStore }, 'import')
    const root = workspace === undefined ? {} : { workspace: workspaceRoot(workspace, this.#environment.cwd) }
    const { importSession } = await import('../store/import-session.js')
    return importSession(store, lines, { ...rest, ...root, now: () => systemClock.now() })
  }

  /**
   * Removes records from the log of a session that are only history: events of finished runs, except the last
   * `keepRuns`, and records that later ones replaced. Messages, checkpoints, undo data and all counts stay. Nothing
   * else ever removes records. Throws while the session is open in this or another process.
   */
  async pruneSession(
    sessionId: string,
    options: Omit<PruneSessionOptions, 'now'> & Pick<SessionOptions, 'sessionStore'> = {},
  ): Promise<PrunedSession> {
    const { sessionStore, ...rest } = options
    const store = this.#storeFor({ sessionStore }, 'prune')
    const { pruneSession } = await import('../store/prune-session.js')
    return pruneSession(store, sessionId, { ...rest, now: () => systemClock.now() })
  }

  /**
   * Serves an agent directory: opens a session for each schedule, with the directory's instructions, skills and tools,
   * and fires the schedules when they are due, until it is stopped. Rejects and starts nothing if the directory has a
   * problem.
   *
   * @example
   * const onResult = (report) => console.log(report.status)
   * const served = await agent.serveAgentDir('release-agent', '.', { onResult })
   * await served.runNow('daily')
   * await served.stop()
   */
  async serveAgentDir(
    dir: string,
    workspace: string,
    options: ServeAgentDirOptions = {},
  ): Promise<AgentDirHandle> {
    this.#assertOpen()
    const { cwd = '.', env = process.env } = this.#environment
    const root = workspaceRoot(workspace, cwd)
    const { serveAgentDir } = await import('./dir/serve-agent-dir.js')
    this.#assertOpen()
    const starting = serveAgentDir(resolve(cwd, dir), options, {
      config: this.#config,
      env,
      workspace: root,
      machine: this.#maker.machine(),
      store: this.#maker.store,
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

  /** The ids of the open sessions, sorted. */
  async listSessions(): Promise<string[]> {
    return this.#sessions.ids()
  }

  /** Closes the session with this id. Returns false if it is not open. */
  async closeSession(sessionId: string): Promise<boolean> {
    return this.#sessions.close(sessionId)
  }

  /**
   * Lists the tools of the configured MCP servers, so that sessions opened afterwards have them in `toolNames()` from
   * the start. Open sessions that use servers refresh their lists and reconnect lost servers. Resolves even if a server
   * fails; `mcpStatus()` of a session has the error.
   */
  async refreshMcpTools(): Promise<void> {
    this.#assertOpen()
    const asking = this.#maker.askServers(this.#closing.signal)
    this.#asking = Promise.allSettled([this.#asking, asking])
    await Promise.all([asking, ...this.#sessions.all().map((session) => session.refreshUsedMcpTools())])
  }

  /**
   * Disconnects MCP servers that no call has used for this long, in every session. They stay configured, and the next
   * call of one of their tools connects them again. Returns their names.
   */
  async disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    assertIdleThreshold(thresholdMs)
    const dropped = await Promise.all(
      this.#sessions.all().map((session) => session.disconnectIdleMcp(thresholdMs)),
    )
    return [...new Set(dropped.flat())].sort()
  }

  /** Closes every session. No session can be opened afterwards. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#served].map(stopServing))
    await this.#asking
    try {
      await this.#sessions.closeAll()
    } finally {
      await this.#maker.closeMachine()
      await this.#telemetry?.close?.()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Opens sessions with another configuration, which belong to this agent and run their programs in it. */
  #openerOf(
    { config, store = this.#maker.store, agentId, secrets }: OpenerSetup,
    root: string,
  ): SessionOpener {
    const lent = { sessions: this.#sessions, machine: () => this.#maker.machine(), secrets }
    const other = new SessionMaker({
      config,
      telemetry: this.#telemetry,
      environment: this.#environment,
      machinery: this.#machinery,
      store,
      lent,
    })
    return async (options) => {
      const { sessionId, sessionStore = store } = options
      this.#assertOpen()
      this.#assertFree(sessionId)
      const stored = sessionStore && (await this.#machinery.load(sessionStore, sessionId))
      this.#assertOpen()
      const session = other.make(root, options, [], agentId, stored && withoutOptions(stored))
      return { session, runs: stored?.runs.values() ?? [] }
    }
  }

  #assertOpen(): void {
    if (this.isClosed) throw new SessionClosedError('agent')
  }

  #assertFree(sessionId: string): void {
    if (this.#sessions.find(sessionId) !== undefined)
      throw new SessionOptionError('sessionId', `A session with the id '${sessionId}' is already open.`)
  }

  #storeFor(
    { sessionStore }: { readonly sessionStore?: SessionStore | undefined },
    doing = 'resume',
  ): SessionStore {
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
    // A stored session with this id is resumed. Invalid options are reported before anything is read.
    this.#machinery.checkOptions(given)
    return this.#make(workspace, given, warnings, agentId, store && this.#machinery.loadNow(store, sessionId))
  }

  #make(...given: Parameters<SessionMaker['make']>): Session {
    this.#assertOpen()
    return this.#maker.make(...given)
  }
}

/** Options of a resumed session. `workspace` is the directory in which it resumes, if it is another one. */
export type ResumeOptions = SessionOptions & { readonly workspace?: string }

/** Options of a forked session. `workspace` is the directory of the fork, if it is another one. */
export type ForkOptions = ResumeOptions & ForkPoint

async function* exportedFrom(
  store: SessionStore,
  sessionId: string,
): AsyncGenerator<string, void, undefined> {
  const { exportSession } = await import('../store/export-session.js')
  yield* exportSession(store, sessionId)
}

/** Drops stored options: a served session has only the options that are given now. */
function withoutOptions(state: RestoredSession): RestoredSession {
  if (state.session === undefined) return state
  const { options: _, ...session } = state.session
  return { ...state, session }
}

async function stopServing(starting: Promise<AgentDirHandle>): Promise<void> {
  const handle = await starting.catch(() => undefined)
  await handle?.stop({ drainMs: 0 })
}
