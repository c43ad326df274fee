import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Manifest, mergeManifests } from '../authority/manifest.js'
import type { PermissionPolicy } from '../authority/policy.js'
import { readGoal } from '../goals/read-goal.js'
import { randomIds } from '../loop/host-env.js'
import type { KnownServers } from '../mcp/session-servers.js'
import { FileMemoryStore } from '../memory/index.js'
import { Circuits } from '../model/circuits.js'
import type { ProgramMachine } from '../program/index.js'
import { type QueueConfig, readQueueConfig } from '../queue/config.js'
import { SessionOptionError } from '../session/errors.js'
import type { RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { SessionSetup } from '../session/setup.js'
import { builtinToolNames } from '../session/tool-names.js'
import type { SessionStore } from '../store/session-store.js'
import type { AgentDefinition } from '../subagents/agent-definition.js'
import type { ChildMaker } from '../subagents/child-maker.js'
import type { OpenedTelemetry } from '../telemetry/open-telemetry.js'
import type { TelemetryOptions } from '../telemetry/options.js'
import type { AnyTool } from '../tool/contract.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { isBackend } from '../workspace/backend/backend.js'
import { defaultInstructionNames } from '../workspace/instructions/read-instructions.js'
import { AgentModels } from './agent-models.js'
import type { AgentConfig } from './config/index.js'
import { secretsOf } from './config/index.js'
import { sessionNetwork } from './config/session-network.js'

import { OpenSessions } from './open-sessions.js'
import type { SessionModules } from './session-modules.js'
import { chosenRoot, workspaceRoot } from './workspace-root.js'

/** The environment of an agent: what depends on the machine, not on the configuration. */
export type AgentEnvironment = {
  /** The variables that `env("NAME")` reads (default: `process.env`). */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The base of relative paths (default: the working directory of the process). */
  readonly cwd?: string
  /** The user's directory, with rules and instructions for every project (default: `~/.capstan`). */
  readonly userDir?: string
  /** Where telemetry of all sessions goes (default: nowhere). */
  readonly telemetry?: TelemetryOptions
}

export type MakerParts = {
  readonly config: AgentConfig
  readonly environment: AgentEnvironment
  readonly machinery: SessionModules
  readonly store: SessionStore | undefined
  readonly telemetry: OpenedTelemetry | undefined
  /** What the agent shares with a session maker for another configuration. */
  readonly lent?: Pick<SessionMaker, 'sessions' | 'machine'> & { readonly secrets: readonly string[] }
}

/** Creates the sessions of one configuration, and holds what they share. */
export class SessionMaker {
  readonly sessions: OpenSessions
  readonly store: SessionStore | undefined
  /** The user's directory. */
  readonly userDir: string
  readonly #config: AgentConfig
  readonly #cwd: string | undefined
  readonly #machinery: SessionModules
  readonly #agentTools: () => readonly AnyTool[]
  #machine: ProgramMachine | undefined
  #programTools: readonly AnyTool[] | undefined
  /** One list for all sessions, so that data derived from it can be shared. */
  readonly #secrets: readonly string[]
  readonly #memory: ReturnType<typeof configuredMemory>
  readonly #models: AgentModels
  readonly #circuits = new Circuits()
  readonly #telemetry: OpenedTelemetry | undefined
  #knownServers: KnownServers | undefined
  /** Creates the sessions of subagents. */
  readonly #children: ChildMaker

  constructor({ config, environment, machinery, store, telemetry, lent }: MakerParts) {
    this.store = store
    this.#telemetry = telemetry
    this.sessions = lent?.sessions ?? new OpenSessions()
    this.userDir = environment.userDir ?? join(homedir(), '.capstan')
    this.#config = config
    this.#cwd = environment.cwd
    this.#machinery = machinery
    this.#agentTools = () => {
      const machine = lent?.machine() ?? this.machine()
      this.#programTools ??= [machinery.programs.createProgramTool({ machine })]
      return this.#programTools
    }
    this.#secrets = lent?.secrets ?? secretsOf(config)
    this.#memory = configuredMemory(config)
    this.#models = new AgentModels(config)
    this.#children = machinery.childMaker(this.sessions)
  }

  /** Runs the programs of all sessions. Created on first use. */
  machine(): ProgramMachine {
    this.#machine ??= this.#machinery.programs.createProgramMachine()
    return this.#machine
  }

  /** Ends the programs of all sessions. */
  async closeMachine(): Promise<void> {
    await this.#machine?.close()
  }

  /** Lists the tools of the configured MCP servers, for sessions that are opened afterwards. */
  async askServers(signal: AbortSignal): Promise<void> {
    const { mcpServers } = this.#config
    if (mcpServers.length === 0) return
    const { askServers } = await import('./known-servers.js')
    this.#knownServers = await askServers(mcpServers, workspaceRoot('.', this.#cwd), signal)
  }

  /** Opens a session synchronously, with its stored state. */
  make(
    workspace: string,
    given: SessionOptions,
    warnings: readonly string[],
    agentId = 'capstan',
    restored?: RestoredSession,
  ): Session {
    const { Session, checkOptions, withRestored } = this.#machinery
    const defaults = this.#defaults()
    const found = withRestored(given, restored, defaults)
    const checked = checkOptions(found.options)
    const options = {
      ...defaults,
      ...checked.options,
      ...this.#directories(checked.options),
      ...this.#manifest(checked.options),
    }
    const sessionId = options.sessionId ?? (options.hostEnv?.idGenerator ?? randomIds).next()
    if (typeof options.model === 'string' || this.#config.providers.length > 0)
      this.#models.check(typeof options.model === 'string' ? options.model : undefined)
    for (const name of options.fallbackModels ?? []) if (typeof name === 'string') this.#models.check(name)
    refuseLocalPlaces(options)
    const root = chosenRoot(options.workspaceBackend, workspace, this.#cwd)
    let open: Session | undefined
    const session = new Session({
      sessionId,
      agentId,
      root,
      userDir: this.userDir,
      ...this.#instructions(),
      secrets: this.#secrets,
      agentTools: this.#agentTools,
      ...omitUndefined({
        mcpServers: this.#config.mcpServers.length > 0 ? this.#config.mcpServers : undefined,
        knownServers: this.#knownServers,
        restored,
      }),
      children: this.#children,
      options,

      warnings: [
        ...warnings,
        ...checked.warnings,
        ...saveAnyway(options),
        ...damageIn(restored),
        ...notRestored(found.leftOut),
      ],
      resolveModel: (name) => this.#models.resolve(name),
      circuits: this.#circuits,
      telemetry: this.#telemetry?.spans,
      closed: (ended) => this.sessions.closed(open, ended),
    })
    // A session whose signal is already aborted is closed at once.
    if (session.isClosed) return session
    open = session
    this.sessions.add(session)
    return session
  }

  /** The options of a session for a named agent: those of the agent, overridden by the given ones. */
  asAgent(agent: AgentDefinition, options: SessionOptions): SessionOptions {
    const tools = agent.tools?.filter((name) => builtinToolNames.includes(name))
    return {
      role: agent.prompt,
      ...omitUndefined({ builtinTools: tools, maxToolRounds: agent.maxSteps, model: agent.model }),
      // An option without a value does not override that of the agent.
      ...Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)),
      ...manifestOf(agent, options, this.#config.manifest),
      permissionPolicy: withDenies(agent.permissions ?? {}, options.permissionPolicy ?? undefined),
    }
  }

  /** The directories of the configuration come after those of the session. */
  #directories(options: SessionOptions): Pick<SessionOptions, 'skillDirs' | 'agentDirs'> {
    const { skillDirs = [], agentDirs = [] } = this.#config
    const withConfigured = (
      own: readonly string[] = [],
      configured: readonly string[],
    ): string[] | undefined => (configured.length === 0 ? undefined : [...new Set([...own, ...configured])])
    return omitUndefined({
      skillDirs: withConfigured(options.skillDirs, skillDirs),
      agentDirs: withConfigured(options.agentDirs, agentDirs),
    })
  }

  /** The manifest of the configuration, merged with that of the session. */
  #manifest({ manifest: own }: SessionOptions): Pick<SessionOptions, 'manifest'> {
    return omitUndefined({ manifest: mergeManifests(this.#config.manifest, own) })
  }

  /** How instruction files are read. */
  #instructions(): Pick<SessionSetup, 'instructions'> {
    const { projectDocMaxBytes: maxBytes, projectDocFallbackFilenames: more } = this.#config
    const { userInstructionsDir: userDir } = this.#config
    return {
      instructions: omitUndefined({
        maxBytes,
        userDir,
        fileNames: more && [...defaultInstructionNames, ...more],
      }),
    }
  }

  /** The options that the configuration sets for every session. */
  #defaults(): SessionOptions {
    const { maxToolRounds, maxParallelTasks, thinkingBudget, reasoningEffort, llmApiTimeoutMs } = this.#config
    const { autoDelegation, autoParallel, fallbackModels, retry, circuitBreakerThreshold } = this.#config
    const { extensionTools, sandbox, commandLimits, network } = this.#config
    return omitUndefined({
      maxToolRounds,
      maxParallelTasks,
      autoDelegation,
      autoParallel,
      thinkingBudget,
      reasoningEffort,
      llmApiTimeoutMs,
      fallbackModels,
      retry,
      circuitBreakerThreshold,
      extensionTools,
      sandbox,
      commandLimits,
      network: sessionNetwork(network),
      goal: configuredGoal(this.#config.goal),
      sessionStore: this.store,
      ...this.#memory,
      queueConfig: configuredQueue(this.#config.queue),
    })
  }
}

/** The goal of a configuration as the option of a session. Throws when it has no description. */
function configuredGoal(config: AgentConfig['goal']): SessionOptions['goal'] {
  if (config === undefined) return undefined
  const { description = '', check, judge, ...limits } = config
  const how = check ?? (judge === undefined ? undefined : { judge })
  return readGoal({ ...limits, description, check: how })
}

/** Throws if the options of a session on a remote workspace name directories of this machine. */
function refuseLocalPlaces(options: SessionOptions): void {
  if (!isBackend(options.workspaceBackend)) return
  for (const name of ['roots', 'adHocFiles', 'userDataDir'] as const)
    if (options[name] !== undefined)
      throw new SessionOptionError(
        name,
        `${name} names directories of this machine, and this session works on a ${options.workspaceBackend.kind} backend. Remove one of the two options.`,
      )
}

/** The queue options of a configuration. Throws for unknown values. */
function configuredQueue(given: AgentConfig['queue']): QueueConfig | undefined {
  if (given === undefined) return undefined
  readQueueConfig(given)
  // The options were just checked, and the configuration has no other fields.
  return given as QueueConfig
}

/**
 * Returns a warning if writing was turned off, which has no effect: a run can be resumed only if each message is
 * written before it takes effect.
 */
function saveAnyway({ autoSave, sessionStore }: SessionOptions): string[] {
  if (autoSave !== false || sessionStore === undefined) return []
  const message =
    'autoSave: false has no effect: with a session store every message is written as it happens, so that a run can be resumed. For a session that is not stored, open it with an agent and options without a store.'
  return [message]
}

function damageIn(restored: RestoredSession | undefined): string[] {
  return restored?.damage === undefined ? [] : [`The log of the session is damaged: ${restored.damage}`]
}

function notRestored(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const message = `The log has ${names.join(', ')}, which a log cannot decide: the session has what its options say. Give them as options, or set trustStore: true for a store that only the host can write to.`
  return [message]
}

/** If the host has rules, an agent file can only add deny rules to them, because it can come from a repository. */
function manifestOf(
  { manifest: own }: AgentDefinition,
  { manifest: given, permissionPolicy }: SessionOptions,
  configured: Manifest | undefined,
): Pick<SessionOptions, 'manifest'> {
  const hasRules = [permissionPolicy, given?.permissions, configured?.permissions].some(
    (rules) => rules != null,
  )
  const { permissions, ...rest } = own ?? {}
  const deny = permissions?.enabled === false ? [] : (permissions?.deny ?? [])
  const restricted = { ...rest, ...omitUndefined({ permissions: deny.length > 0 ? { deny } : undefined }) }
  return omitUndefined({
    manifest: mergeManifests(own && (hasRules ? restricted : own), given ?? undefined),
  })
}

/** Adds the agent's deny rules to the given policy. */
function withDenies(own: PermissionPolicy, given: PermissionPolicy | undefined): PermissionPolicy {
  if (given === undefined) return own
  return { ...given, deny: [...(own.deny ?? []), ...(given.deny ?? [])] }
}

/** The memory options of a configuration. All sessions share one store, and so its index. */
function configuredMemory({
  memoryDir,
  memory,
}: AgentConfig): Pick<SessionOptions, 'memoryStore' | 'memory'> {
  const { maxShortTerm, maxWorking, pruneIntervalSecs, relevance, prunePolicy, tools } = memory ?? {}
  const options = omitUndefined({
    maxShortTerm,
    maxWorking,
    pruneIntervalSecs,
    relevance,
    prunePolicy,
    tools,
  })
  return omitUndefined({
    memoryStore: memoryDir === undefined ? undefined : new FileMemoryStore(memoryDir),
    memory: memory && options,
  })
}
