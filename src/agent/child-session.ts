import { mergeManifests } from '../authority/manifest.js'
import type { PermissionPolicy } from '../authority/policy.js'
import type { Engine } from '../feature/feature-context.js'
import { SequentialIdGenerator } from '../loop/host-env.js'
import { builtinTools } from '../session/builtin-tools.js'
import { SessionKernel } from '../session/kernel.js'
import { limitNames } from '../session/limit-names.js'
import type { SessionOptions } from '../session/options.js'
import { readRequest } from '../session/request.js'
import { Session } from '../session/session.js'
import { kernelOf } from '../session/session-class.js'
import type { ParentLink, SessionSetup } from '../session/setup.js'
import { startRun } from '../session/start-run.js'
import type { AgentDefinition } from '../subagents/agent-definition.js'
import type { ChildMaker, ChildTask } from '../subagents/child-maker.js'
import type { AnyTool } from '../tool/contract.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { builtinAgents } from './named-agents.js'
import type { OpenSessions } from './open-sessions.js'

/** Creates the sessions of subagents for the sessions of one agent. Inspectable ones are listed with the others. */
export function childMaker(sessions: OpenSessions): ChildMaker {
  return {
    agents: builtinAgents,
    open(context, engine, task) {
      if (!(context instanceof SessionKernel)) throw new TypeError('The parent of a subagent is a session.')
      let listed: Session | undefined
      const session = new Session({
        ...childSetup(context, engine, task),
        closed: (ended) => sessions.closed(listed, ended),
      })
      if (task.agent.inspectable) {
        listed = session
        sessions.add(session)
      }
      return {
        async ask(prompt, signal, onEvent) {
          const run = startRun(kernelOf(session), { ...readRequest(prompt), signal, verbatim: true })
          for await (const event of run.stream) onEvent(event)
          return run.result
        },
        usage: () => kernelOf(session).spending.total.usage,
        close: () => session.close(),
      }
    },
  }
}

/**
 * The parts of a subagent's session: those of its parent, with its own history. Its tools, permissions, budget and time
 * are a subset of the parent's.
 */
function childSetup(parent: SessionKernel, engine: Engine, task: ChildTask): Omit<SessionSetup, 'closed'> {
  const { setup } = parent
  const { agent } = task
  return {
    sessionId: task.sessionId,
    agentId: agent.name,
    root: task.root ?? setup.root,
    userDir: setup.userDir,
    warnings: [],
    options: optionsFor(parent, task),
    resolveModel: (name) => setup.resolveModel(name),
    circuits: setup.circuits,
    telemetry: setup.telemetry,
    instructions: setup.instructions,
    secrets: setup.secrets,
    agentTools: setup.agentTools,
    children: setup.children,
    parent: {
      session: parent,
      taskId: task.taskId,
      messageId: task.messageId,
      inspectable: agent.inspectable ?? false,
      depth: (parent.parent?.depth ?? 0) + 1,
      budget: task.budget,
      authority: (child) => engine.authority.delegated(child),
      changesOf: task.changesOf,
      isolated: task.root !== undefined,
      savedOptions: savedOptionsFor(parent, engine, agent),
    },
  }
}

function optionsFor(parent: SessionKernel, task: ChildTask): SessionOptions {
  const { options } = parent
  const { agent, maxSteps = Number.POSITIVE_INFINITY } = task
  const steps = Math.min(maxSteps, agent.maxSteps ?? defaultSteps)
  return {
    ...inherited(options),
    role: agent.prompt,
    model: agent.model ?? parent.models.current(),
    maxToolRounds: steps,
    maxExecutionTimeMs: Math.min(task.timeoutMs, options.maxExecutionTimeMs ?? task.timeoutMs),
    permissionPolicy: inTree(parent, task, ownRules(agent)),
    builtinTools: false,
    tools: toolsFor(parent.tools.all(), agent),
    env: delegatedEnv(options),
    ...omitUndefined({
      extra: agent.caller === 'agent' ? callerLine : undefined,
      manifest: manifestFor(options, agent),
      metadata: parent.queue.active?.metadata ?? options.metadata,
      onAsk: agent.confirmationInheritance === 'deny_on_ask' ? undefined : task.onAsk,
      onQuestion: task.onQuestion,
    }),
    hostEnv: omitUndefined({
      clock: options.hostEnv?.clock,
      random: options.hostEnv?.random,
      // Subagents that run at the same time request ids in no fixed order, so each has its own generator.
      idGenerator: options.hostEnv?.idGenerator && new SequentialIdGenerator(task.taskId),
    }),
  }
}

const defaultSteps = 50

/** The manifest of the agent, merged with the requirements of the parent. The parent's rules apply in any case. */
function manifestFor({ manifest }: SessionOptions, agent: AgentDefinition): SessionOptions['manifest'] {
  return mergeManifests(manifest?.requires && { requires: manifest.requires }, agent.manifest)
}

/** The options that a subagent inherits: the parent's hooks and budget, but no callbacks of the host. */
const inheritedNames = [
  ...limitNames,
  'tenantId',
  'principal',
  'agentTemplateId',
  'correlationId',
  'guidelines',
  'fallbackModels',
  'retry',
  'temperature',
  'maxTokens',
  'thinkingBudget',
  'reasoningEffort',
  'watchdog',
  'ceiling',
  'sandbox',
  'commandLimits',
  'network',
  'roots',
  'workspaceBackend',
  'middleware',
  'approvals',
  'webSearch',
  'toolSearch',
  'securityProvider',
  'retentionLimits',
  'sessionStore',
  'durability',
  'autoCompact',
  'autoCompactThreshold',
  'toolTimeoutMs',
  'staleWriteCheck',
  'requireReadBeforeWrite',
  'instructionFiles',
  'skillDirs',
  'inlineSkills',
  'builtinSkills',
  'discoverSkills',
  'delegation',
] as const satisfies readonly (keyof SessionOptions)[]

function inherited(options: SessionOptions): SessionOptions {
  return Object.fromEntries(
    inheritedNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
}

const callerLine =
  'Your caller is an agent: answer with what it asked for, in a form it can use, and nothing else.'

/** The agent's own rules. Without any, only those of the parent apply. */
function ownRules({ permissions, confirmationInheritance }: AgentDefinition): PermissionPolicy {
  if (permissions === undefined) return { defaultDecision: 'allow' }
  if (confirmationInheritance !== 'auto_approve') return permissions
  const { ask = [], allow = [], defaultDecision = 'ask', ...rest } = permissions
  return {
    ...rest,
    allow: [...allow, ...ask],
    defaultDecision: defaultDecision === 'ask' ? 'allow' : defaultDecision,
  }
}

/**
 * In a worktree, the rules of all parents apply relative to its root, and their absolute paths in the workspace apply
 * too. Rules for commands compare text, so a path that they deny in the workspace is also denied under its name in the
 * worktree.
 */
function inTree({ setup }: SessionKernel, { root }: ChildTask, own: PermissionPolicy): PermissionPolicy {
  if (root === undefined) return own
  const policies = [setup.options.permissionPolicy, setup.options.manifest?.permissions]
  const named = (list: 'deny' | 'ask'): readonly string[] =>
    policies
      .flatMap((policy) => policy?.[list] ?? [])
      .filter((rule) => rule.includes(setup.root))
      .map((rule) => rule.replaceAll(setup.root, root))
  return { ...own, deny: [...(own.deny ?? []), ...named('deny')], ask: [...(own.ask ?? []), ...named('ask')] }
}

/** The tools of the parent that the agent lists. `tool_search` is not inherited; it is added where it is needed. */
function toolsFor(tools: readonly AnyTool[], { tools: names }: AgentDefinition): readonly AnyTool[] {
  return tools.filter(({ name }) => name !== 'tool_search' && (names === undefined || names.includes(name)))
}

/** Environment variables can be credentials, so a subagent gets only those that the host delegates. */
function delegatedEnv({ env = {}, delegation }: SessionOptions): Readonly<Record<string, string>> {
  const names = delegation?.env ?? false
  if (typeof names === 'boolean') return names ? env : {}
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)))
}

/**
 * The options that are stored for opening the session later: the deny rules of all parents, and none of their allow
 * rules.
 */
function savedOptionsFor(
  { setup, tools }: SessionKernel,
  { authority }: Engine,
  agent: AgentDefinition,
): ParentLink['savedOptions'] {
  const { permissionPolicy: given = {} } = setup.options
  const above = setup.parent?.savedOptions.permissionPolicy ?? (given.enabled === false ? {} : given)
  const declared = [setup.options.manifest?.permissions, agent.manifest?.permissions]
  const policies: readonly PermissionPolicy[] = [
    above,
    agent.permissions ?? {},
    ...declared.filter((policy) => policy !== undefined),
  ]
  const deny = [...new Set(policies.flatMap((policy) => policy.deny ?? []))]
  const modes = [authority.mode, setup.parent?.savedOptions.mode]
  // Only restricting modes: others would allow what no parent has approved.
  const mode = (['plan', 'read-only'] as const).find((name) => modes.includes(name))
  const builtin = builtinTools({}, setup.agentTools?.() ?? [])
  const own = toolsFor(tools.all(), agent).map(({ name }) => name)
  return {
    builtinTools: builtin.map(({ name }) => name).filter((name) => own.includes(name)),
    permissionPolicy: { deny, ...strictestDefault(policies) },
    ...omitUndefined({ mode }),
  }
}

/** The strictest default decision. A default of `allow` is not stored. */
function strictestDefault(policies: readonly PermissionPolicy[]): Pick<PermissionPolicy, 'defaultDecision'> {
  const found = (['deny', 'ask'] as const).find((action) =>
    policies.some(({ defaultDecision }) => defaultDecision === action),
  )
  return omitUndefined({ defaultDecision: found })
}
