import { homedir } from 'node:os'
import { join } from 'node:path'
import { type Manifest, mergeManifests } from '../authority/manifest.js'
import type { PermissionPolicy } from '../authority/policy.js'
import { randomIds } from '../loop/host-env.js'
import type { KnownServers } from '../mcp/session-servers.js'
import { Circuits } from '../model/circuits.js'
import type { ProgramMachine } from '../program/index.js'
import type { RestoredSession } from '../session/journal/restore.js'
import type { SessionOptions } from '../session/options.js'
import type { Session } from '../session/session.js'
import type { SessionSetup } from '../session/setup.js'
import type { SessionStore } from '../store/session-store.js'
import type { AgentDefinition } from '../subagents/agent-definition.js'
import type { ChildMaker } from '../subagents/child-maker.js'
import type { AnyTool } from '../tool/contract.js'
import { defaultInstructionNames } from '../workspace/instructions/read-instructions.js'
import { AgentModels } from './agent-models.js'
import { type AgentConfig, secretsOf } from './config/index.js'
import { configuredMemory } from './configured-memory.js'
import { configuredQueue } from './configured-queue.js'
import { OpenSessions } from './open-sessions.js'
import type { SessionModules } from './session-modules.js'
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

export type MakerParts = {
  readonly config: AgentConfig
  readonly surroundings: AgentSurroundings
  readonly machinery: SessionModules
  readonly store: SessionStore | undefined
  /** What the agent lends to a maker of its own for another configuration. */
  readonly lent?: LentParts
}

type LentParts = {
  readonly sessions: OpenSessions
  readonly machine: ProgramMachine
  readonly secrets: readonly string[]
}

/** Makes the sessions of one configuration, with what they share. */
export class SessionMaker {
  readonly sessions: OpenSessions
  readonly store: SessionStore | undefined
  /** The user's own directory. */
  readonly userDir: string
  /** Runs the programs of all sessions; loads nothing before the first. */
  readonly machine: ProgramMachine
  readonly #config: AgentConfig
  readonly #cwd: string | undefined
  readonly #machinery: SessionModules
  readonly #agentTools: readonly AnyTool[]
  /** One list for all sessions, so that what is made of it can be shared. */
  readonly #secrets: readonly string[]
  readonly #memory: ReturnType<typeof configuredMemory>
  readonly #models: AgentModels
  readonly #circuits = new Circuits()
  #knownServers: KnownServers | undefined
  /** Makes the sessions of subagents. */
  readonly #children: ChildMaker

  constructor({ config, surroundings, machinery, store, lent }: MakerParts) {
    this.store = store
    this.sessions = lent?.sessions ?? new OpenSessions()
    this.userDir = surroundings.userDir ?? join(homedir(), '.capstan')
    this.machine = lent?.machine ?? machinery.createProgramMachine()
    this.#config = config
    this.#cwd = surroundings.cwd
    this.#machinery = machinery
    this.#agentTools = [machinery.createProgramTool({ machine: this.machine })]
    this.#secrets = lent?.secrets ?? secretsOf(config)
    this.#memory = configuredMemory(config)
    this.#models = new AgentModels(config)
    this.#children = machinery.childMaker(this.sessions)
  }

  /** Asks the servers of the configuration what they offer, for the sessions that begin from now on. */
  async askServers(signal: AbortSignal): Promise<void> {
    const { mcpServers } = this.#config
    if (mcpServers.length === 0) return
    const { askServers } = await import('./known-servers.js')
    this.#knownServers = await askServers(mcpServers, workspaceRoot('.', this.#cwd), signal)
  }

  /** Opens one: at once, with what the store has of it. */
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
      this.#models.resolve(typeof options.model === 'string' ? options.model : undefined)
    for (const name of options.fallbackModels ?? []) if (typeof name === 'string') this.#models.resolve(name)
    const root = workspaceRoot(options.workspaceBackend?.root ?? workspace, this.#cwd)
    let open: Session | undefined
    const session = new Session({
      sessionId,
      agentId,
      root,
      userDir: this.userDir,
      ...this.#instructions(),
      secrets: this.#secrets,
      agentTools: this.#agentTools,
      ...(this.#config.mcpServers.length > 0 && { mcpServers: this.#config.mcpServers }),
      ...(this.#knownServers !== undefined && { knownServers: this.#knownServers }),
      children: this.#children,
      options,
      ...(restored !== undefined && { restored }),
      warnings: [
        ...warnings,
        ...checked.warnings,
        ...saveAnyway(options),
        ...damageIn(restored),
        ...notRestored(found.leftOut),
      ],
      resolveModel: (name) => this.#models.resolve(name),
      circuits: this.#circuits,
      closed: (ended) => this.sessions.closed(open, ended),
    })
    // One whose signal was aborted before is closed as soon as it is made.
    if (session.isClosed) return session
    open = session
    this.sessions.add(session)
    return session
  }

  /** The options of a session that is this agent: what the agent brings, below what is given. */
  asAgent(agent: AgentDefinition, options: SessionOptions): SessionOptions {
    const tools = agent.tools?.filter((name) => this.#machinery.builtinToolNames().includes(name))
    return {
      role: agent.prompt,
      ...(tools !== undefined && { builtinTools: tools }),
      ...(agent.maxSteps !== undefined && { maxToolRounds: agent.maxSteps }),
      ...(agent.model !== undefined && { model: agent.model }),
      // An option that is there without a value must not take the agent's own away.
      ...Object.fromEntries(Object.entries(options).filter(([, value]) => value != null)),
      ...manifestOf(agent, options, this.#config.manifest),
      permissionPolicy: withDenies(agent.permissions ?? {}, options.permissionPolicy ?? undefined),
    }
  }

  /** Directories of the configuration come behind those of a session. */
  #directories(options: SessionOptions): Pick<SessionOptions, 'skillDirs' | 'agentDirs'> {
    const { skillDirs = [], agentDirs = [] } = this.#config
    return {
      ...(skillDirs.length > 0 && { skillDirs: [...new Set([...(options.skillDirs ?? []), ...skillDirs])] }),
      ...(agentDirs.length > 0 && { agentDirs: [...new Set([...(options.agentDirs ?? []), ...agentDirs])] }),
    }
  }

  /** What the configuration declares for every session, with what this one declares. */
  #manifest({ manifest: own }: SessionOptions): Pick<SessionOptions, 'manifest'> {
    const manifest = mergeManifests(this.#config.manifest, own)
    return manifest === undefined ? {} : { manifest }
  }

  /** How the configuration wants instruction files to be read. */
  #instructions(): Pick<SessionSetup, 'instructions'> {
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
    const { autoDelegation, autoParallel, fallbackModels, retry, circuitBreakerThreshold } = this.#config
    const { extensionTools } = this.#config
    return {
      ...(maxToolRounds !== undefined && { maxToolRounds }),
      ...(maxParallelTasks !== undefined && { maxParallelTasks }),
      ...(autoDelegation !== undefined && { autoDelegation }),
      ...(autoParallel !== undefined && { autoParallel }),
      ...(thinkingBudget !== undefined && { thinkingBudget }),
      ...(llmApiTimeoutMs !== undefined && { llmApiTimeoutMs }),
      ...(fallbackModels !== undefined && { fallbackModels }),
      ...(retry !== undefined && { retry }),
      ...(circuitBreakerThreshold !== undefined && { circuitBreakerThreshold }),
      ...(extensionTools !== undefined && { extensionTools }),
      ...(this.store !== undefined && { sessionStore: this.store }),
      ...this.#memory,
      ...configuredQueue(this.#config.queue),
    }
  }
}

/** A run can be resumed only if what was said is written before it is acted on, so a store cannot be held back. */
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

/** Where the host has rules of its own, an agent's file adds denies to them and nothing else: it may have come with a repository. */
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
  const held = hasRules ? { ...rest, ...(deny.length > 0 && { permissions: { deny } }) } : own
  const manifest = mergeManifests(own && held, given ?? undefined)
  return manifest === undefined ? {} : { manifest }
}

/** What an agent must not do stays denied, whatever else a host says. */
function withDenies(own: PermissionPolicy, given: PermissionPolicy | undefined): PermissionPolicy {
  if (given === undefined) return own
  return { ...given, deny: [...(own.deny ?? []), ...(given.deny ?? [])] }
}
