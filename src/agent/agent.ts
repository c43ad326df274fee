/// <reference lib="esnext.disposable" preserve="true" />
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { PermissionPolicy } from '../authority/policy.js'
import { randomIds, systemClock } from '../loop/host-env.js'
import type { ProgramMachine } from '../program/index.js'
import type { ChildMaker } from '../session/child.js'
import type { SessionParts } from '../session/core.js'
import { SessionClosedError, SessionOptionError } from '../session/errors.js'
import type { ForkPoint } from '../session/history/fork.js'
import type { RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { ImportedSession, ImportSessionOptions } from '../store/import-session.js'
import type { PrunedSession, PruneSessionOptions } from '../store/prune-session.js'
import type { SessionStore } from '../store/session-store.js'
import type { AgentDefinition } from '../subagents/agent-definition.js'
import type { WorkerAgentSpec } from '../subagents/files/worker-spec.js'
import type { AnyTool } from '../tool/contract.js'
import { defaultInstructionNames } from '../workspace/instructions/read-instructions.js'
import { AgentModels } from './agent-models.js'
import {
  type AgentConfig,
  type AgentConfigInput,
  describeConfig,
  loadConfig,
  secretsOf,
} from './config/index.js'
import { configuredMemory } from './configured-memory.js'
import { configuredQueue } from './configured-queue.js'
import { configuredStore } from './configured-store.js'
import type { AgentDirHandle } from './dir/handle.js'
import type { ServeAgentDirOptions } from './dir/serve-options.js'
import type { OpenerSetup, SessionOpener } from './dir/serving-host.js'
import { noWorkspace, SessionNotFoundError } from './errors.js'
import { loadMachinery, type SessionMachinery } from './machinery.js'
import { builtinAgents } from './named-agents.js'
import { OpenSessions } from './open-sessions.js'
import { workspaceRoot } from './workspace-root.js'

/** What belongs to the machine rather than to the configuration. */
export type AgentSurroundings = {
  /** What `env("NAME")` of a configuration looks into. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where relative paths begin. */
  readonly cwd?: string
  /** The user's own directory: rules and instructions for every project. `~/.capstan` unless said otherwise. */
  readonly userDir?: string
}

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
  readonly #machinery: SessionMachinery
  /** Runs the programs of all sessions; loads nothing before the first. */
  readonly #machine: ProgramMachine
  readonly #agentTools: readonly AnyTool[]
  /** One list for all sessions, so that what is made of it can be shared. */
  readonly #secrets: readonly string[]
  readonly #sessions: OpenSessions
  /** Agent directories that are served with it. */
  readonly #served = new Set<Promise<AgentDirHandle>>()
  readonly #store: SessionStore | undefined
  readonly #memory: ReturnType<typeof configuredMemory>
  readonly #models: AgentModels
  /** Makes the sessions of subagents. */
  readonly #children: ChildMaker
  #closed = false
  /** What was odd about the configuration, one sentence each. */
  readonly warnings: readonly string[]

  private constructor(
    config: AgentConfig,
    warnings: readonly string[],
    surroundings: AgentSurroundings,
    machinery: SessionMachinery,
    store: SessionStore | undefined,
    lent?: LentParts,
  ) {
    this.#store = store
    this.#sessions = lent?.sessions ?? new OpenSessions()
    this.#memory = configuredMemory(config)
    this.#config = config
    this.#models = new AgentModels(config)
    this.#secrets = lent?.secrets ?? secretsOf(config)
    this.#machinery = machinery
    this.#children = machinery.childMaker(this.#sessions)
    this.#machine = lent?.machine ?? machinery.createProgramMachine()
    this.#agentTools = [machinery.createProgramTool({ machine: this.#machine })]
    this.warnings = warnings
    this.#surroundings = surroundings
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
    const store = configuredStore(config)
    const machinery = await loadMachinery()
    return new Agent(config, warnings, surroundings, machinery, store)
  }

  /** The configuration as it was understood, with every secret hidden. */
  describe(): Record<string, unknown> {
    return describeConfig(this.#config)
  }

  get isClosed(): boolean {
    return this.#closed
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
      root: workspaceRoot(workspace, this.#surroundings.cwd),
      userDir: this.#userDir(),
      directories: [...directories, ...(this.#config.agentDirs ?? [])],
      discover: options.discoverAgents !== false,
    })
    return this.#sessionOf(agent, workspace, { ...options, agentDirs: directories }, problems)
  }

  /** A session of a worker: an agent in a few words. */
  sessionForWorker(workspace: string, spec: WorkerAgentSpec, options: SessionOptions = {}): Session {
    return this.#sessionOf(this.#machinery.workerAgent(spec, builtinAgents), workspace, options, [])
  }

  /**
   * A session that a store has, with what was said and agreed to in it: at once, for stores that can read at once. Options given now
   * win over what was kept. Reading takes no lease: the first message does.
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
    const store = open === undefined ? this.#storeFor(given, 'fork') : this.#store
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
    return this.#make(fork.workspace, fork.options, [], fork.agentId, fork.state)
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
    if (this.#closed) throw new SessionClosedError('agent')
    const { cwd = '.', env = process.env } = this.#surroundings
    const root = workspaceRoot(workspace, cwd)
    const { serveAgentDir } = await import('./dir/serve-agent-dir.js')
    const starting = serveAgentDir(resolve(cwd, dir), options, {
      config: this.#config,
      env,
      workspace: root,
      machine: this.#machine,
      opener: (setup) => this.#openerOf(setup, root),
    })
    this.#served.add(starting)
    starting.catch(() => this.#served.delete(starting))
    const handle = await starting
    if (handle.isStopped) this.#served.delete(starting)
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

  /** Reads again what MCP servers offer, in every session that uses them, and connects those that were lost. */
  async refreshMcpTools(): Promise<void> {
    await Promise.all(this.#sessions.all().map((session) => session.refreshUsedMcpTools()))
  }

  /**
   * Lets go of MCP servers that no call has used for so long, in every session. They stay configured, and the next call of one of their
   * tools connects them again. Gives their names.
   */
  async disconnectIdleMcp(thresholdMs: number): Promise<string[]> {
    const dropped = await Promise.all(
      this.#sessions.all().map((session) => session.disconnectIdleMcp(thresholdMs)),
    )
    return [...new Set(dropped.flat())].sort()
  }

  /** Closes every session. Afterwards none can be opened. */
  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#served].map(stopServing))
    await this.#sessions.closeAll()
    await this.#machine.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  /** Sessions with another configuration, which count among this agent's and run their programs with it. */
  #openerOf({ config, store = this.#store, agentId, secrets }: OpenerSetup, root: string): SessionOpener {
    const lent = { sessions: this.#sessions, machine: this.#machine, secrets }
    const other = new Agent(config, [], this.#surroundings, this.#machinery, store, lent)
    return async (options) => {
      const { sessionId, sessionStore = store } = options
      if (this.#closed) throw new SessionClosedError('agent')
      if (this.#sessions.find(sessionId) !== undefined)
        throw new SessionOptionError('sessionId', `A session with the id '${sessionId}' is open already.`)
      const kept = sessionStore && (await this.#machinery.load(sessionStore, sessionId))
      const session = other.#make(root, options, [], agentId, kept && withoutOptions(kept))
      return { session, runs: kept?.runs.values() ?? [] }
    }
  }

  #storeFor({ sessionStore }: SessionOptions, doing = 'resume'): SessionStore {
    const store = sessionStore ?? this.#store
    if (store !== undefined) return store
    throw new SessionOptionError(
      'sessionStore',
      `Failed to ${doing} session: set sessionStore, or storage_backend.`,
    )
  }

  #resume(sessionId: string, options: ResumeOptions, state: RestoredSession | undefined): Session {
    const { workspace = state?.session?.workspaceRoot, ...rest } = options
    if (state === undefined) throw new SessionNotFoundError(sessionId, this.#storeFor(options).backend)
    if (workspace === undefined) throw noWorkspace(sessionId, 'resume')
    return this.#make(workspace, { ...rest, sessionId }, [], state.session?.agent, state)
  }

  #open(workspace: string, given: SessionOptions, warnings: readonly string[], agentId?: string): Session {
    const { sessionId } = given
    if (sessionId === undefined) return this.#make(workspace, given, warnings, agentId)
    if (this.#sessions.find(sessionId) !== undefined)
      throw new SessionOptionError('sessionId', `A session with the id '${sessionId}' is open already.`)
    const store = given.sessionStore ?? this.#store
    // One that is kept under this id goes on; a bad option is told before anything is read.
    this.#machinery.checkOptions(given)
    return this.#make(workspace, given, warnings, agentId, store && this.#machinery.loadNow(store, sessionId))
  }

  #make(
    workspace: string,
    given: SessionOptions,
    warnings: readonly string[],
    agentId = 'capstan',
    restored?: RestoredSession,
  ): Session {
    if (this.#closed) throw new SessionClosedError('agent')
    const { Session, checkOptions, withRestored } = this.#machinery
    const checked = checkOptions(withRestored(given, restored))
    const options = { ...this.#defaults(), ...checked.options, ...this.#directories(checked.options) }
    const sessionId = options.sessionId ?? (options.hostEnv?.idGenerator ?? randomIds).next()
    if (typeof options.model === 'string' || this.#config.providers.length > 0)
      this.#models.resolve(typeof options.model === 'string' ? options.model : undefined)
    let open: Session | undefined
    const session = new Session({
      sessionId,
      agentId,
      root: workspaceRoot(workspace, this.#surroundings.cwd),
      userDir: this.#userDir(),
      ...this.#instructions(),
      secrets: this.#secrets,
      agentTools: this.#agentTools,
      ...(this.#config.mcpServers.length > 0 && { mcpServers: this.#config.mcpServers }),
      children: this.#children,
      options,
      ...(restored !== undefined && { restored }),
      warnings: [...warnings, ...checked.warnings, ...damageIn(restored)],
      resolveModel: (name) => this.#models.resolve(name),
      closed: (ended) => this.#sessions.closed(open, ended),
    })
    // One whose signal was aborted before is closed as soon as it is made.
    if (session.isClosed) return session
    open = session
    this.#sessions.add(session)
    return session
  }

  #sessionOf(
    agent: AgentDefinition,
    workspace: string,
    options: SessionOptions,
    warnings: readonly string[],
  ): Session {
    const tools = agent.tools?.filter((name) => this.#machinery.builtinToolNames().includes(name))
    const layered: SessionOptions = {
      role: agent.prompt,
      ...(tools !== undefined && { builtinTools: tools }),
      ...(agent.maxSteps !== undefined && { maxToolRounds: agent.maxSteps }),
      ...(agent.model !== undefined && { model: agent.model }),
      // An option that is there without a value must not take the agent's own away.
      ...Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)),
      permissionPolicy: withDenies(agent.permissions ?? {}, options.permissionPolicy ?? undefined),
    }
    return this.#open(workspace, layered, warnings, agent.name)
  }

  #userDir(): string {
    return this.#surroundings.userDir ?? join(homedir(), '.capstan')
  }

  /** Directories of the configuration come behind those of a session. */
  #directories(options: SessionOptions): Pick<SessionOptions, 'skillDirs' | 'agentDirs'> {
    const { skillDirs = [], agentDirs = [] } = this.#config
    return {
      ...(skillDirs.length > 0 && { skillDirs: [...new Set([...(options.skillDirs ?? []), ...skillDirs])] }),
      ...(agentDirs.length > 0 && { agentDirs: [...new Set([...(options.agentDirs ?? []), ...agentDirs])] }),
    }
  }

  /** How the configuration wants instruction files to be read. */
  #instructions(): Pick<SessionParts, 'instructions'> {
    const { projectDocMaxBytes: maxBytes, projectDocFallbackFilenames: more } = this.#config
    const { userInstructionsDir: userDir } = this.#config
    return {
      instructions: {
        ...(maxBytes !== undefined && { maxBytes }),
        ...(userDir !== undefined && { userDir }),
        ...(more !== undefined && { fileNames: [...defaultInstructionNames, ...more] }),
      },
    }
  }

  /** What the configuration says for every session. */
  #defaults(): SessionOptions {
    const { maxToolRounds, maxParallelTasks, thinkingBudget, llmApiTimeoutMs } = this.#config
    const { autoDelegation, autoParallel } = this.#config
    return {
      ...(maxToolRounds !== undefined && { maxToolRounds }),
      ...(maxParallelTasks !== undefined && { maxParallelTasks }),
      ...(autoDelegation !== undefined && { autoDelegation }),
      ...(autoParallel !== undefined && { autoParallel }),
      ...(thinkingBudget !== undefined && { thinkingBudget }),
      ...(llmApiTimeoutMs !== undefined && { llmApiTimeoutMs }),
      ...(this.#store !== undefined && { sessionStore: this.#store }),
      ...this.#memory,
      ...configuredQueue(this.#config.queue),
    }
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

/** What an agent lends to one that serves a directory for it. */
type LentParts = {
  readonly sessions: OpenSessions
  readonly machine: ProgramMachine
  readonly secrets: readonly string[]
}

async function stopServing(starting: Promise<AgentDirHandle>): Promise<void> {
  const handle = await starting.catch(() => undefined)
  await handle?.stop({ drainMs: 0 })
}

/** Whoever serves says what holds: options that were given another time must not outlive their being left out. */
function withoutOptions(state: RestoredSession): RestoredSession {
  if (state.session === undefined) return state
  const { options: _, ...session } = state.session
  return { ...state, session }
}

function damageIn(restored: RestoredSession | undefined): string[] {
  return restored?.damage === undefined ? [] : [`The log of the session is damaged: ${restored.damage}`]
}

/** What an agent must not do stays denied, whatever else a host says. */
function withDenies(own: PermissionPolicy, given: PermissionPolicy | undefined): PermissionPolicy {
  if (given === undefined) return own
  return { ...given, deny: [...(own.deny ?? []), ...(given.deny ?? [])] }
}
