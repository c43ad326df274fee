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
        usage: () => kernelOf(session).spending.usage,
        close: () => session.close(),
      }
    },
  }
}

/**
 * What the session of a subagent is created from: that of its parent, with a history of its own. It has no tool, no permission, no budget
 * and no time that its parent does not have.
 */
function childSetup(parent: SessionKernel, engine: Engine, task: ChildTask): Omit<SessionSetup, 'closed'> {
  const { setup } = parent
  const { agent } = task
  return {
    sessionId: task.sessionId,
    agentId: agent.name,
    root: setup.root,
    userDir: setup.userDir,
    warnings: [],
    options: optionsFor(parent, task),
    resolveModel: (name) => setup.resolveModel(name),
    circuits: setup.circuits,
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
    ...(agent.caller === 'agent' && { extra: callerLine }),
    model: agent.model ?? parent.model(),
    maxToolRounds: steps,
    maxExecutionTimeMs: Math.min(task.timeoutMs, options.maxExecutionTimeMs ?? task.timeoutMs),
    permissionPolicy: ownRules(agent),
    ...manifestFor(options, agent),
    ...metadataOf(parent),
    builtinTools: false,
    tools: toolsFor(parent.tools.all(), agent),
    env: delegatedEnv(options),
    ...(task.onAsk !== undefined && agent.confirmationInheritance !== 'deny_on_ask' && { onAsk: task.onAsk }),
    ...(task.onQuestion !== undefined && { onQuestion: task.onQuestion }),
    hostEnv: {
      clock: parent.clock,
      ...(options.hostEnv?.random !== undefined && { random: options.hostEnv.random }),
      // Children at work at the same time take ids in no certain order: each has its own.
      ...(options.hostEnv?.idGenerator !== undefined && {
        idGenerator: new SequentialIdGenerator(task.taskId),
      }),
    },
  }
}

const defaultSteps = 50

/** What the agent declares, with what its parent declares. The parent's rules hold by themselves. */
function manifestFor({ manifest }: SessionOptions, agent: AgentDefinition): Pick<SessionOptions, 'manifest'> {
  const merged = mergeManifests(manifest?.requires && { requires: manifest.requires }, agent.manifest)
  return merged === undefined ? {} : { manifest: merged }
}

/** A run inside another has its metadata. */
function metadataOf(parent: SessionKernel): Pick<SessionOptions, 'metadata'> {
  const { metadata } = parent.identity()
  return metadata === undefined ? {} : { metadata }
}

/** What holds for a parent holds for its children. Hooks and budget are the parent's own, and what a host is told by is not for them. */
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
  'watchdog',
  'ceiling',
  'sandbox',
  'network',
  'roots',
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

/** Rules of its own; without any, those of its parent are all there are. */
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

/** Of the parent's tools those that the agent names; the one that finds others comes by itself where it is needed. */
function toolsFor(tools: readonly AnyTool[], { tools: names }: AgentDefinition): readonly AnyTool[] {
  return tools.filter(({ name }) => name !== 'tool_search' && (names === undefined || names.includes(name)))
}

/** Variables of a host may well be credentials: they are handed on only where the host says so. */
function delegatedEnv({ env = {}, delegation }: SessionOptions): Readonly<Record<string, string>> {
  const names = delegation?.env ?? false
  if (typeof names === 'boolean') return names ? env : {}
  return Object.fromEntries(Object.entries(env).filter(([name]) => names.includes(name)))
}

/** Opened by itself later, the session has the denies of all above it and the allows of none. */
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
  // Only those that hold back: others would let pass what nobody above agreed to.
  const mode = (['plan', 'read-only'] as const).find((name) => modes.includes(name))
  const builtin = builtinTools({}, setup.agentTools ?? [])
  const own = toolsFor(tools.all(), agent).map(({ name }) => name)
  return {
    builtinTools: builtin.map(({ name }) => name).filter((name) => own.includes(name)),
    permissionPolicy: { deny, ...strictestDefault(policies) },
    ...(mode !== undefined && { mode }),
  }
}

/** An allow by default is not handed on either: it is as if none were stated. */
function strictestDefault(policies: readonly PermissionPolicy[]): Pick<PermissionPolicy, 'defaultDecision'> {
  const found = (['deny', 'ask'] as const).find((action) =>
    policies.some(({ defaultDecision }) => defaultDecision === action),
  )
  return found === undefined ? {} : { defaultDecision: found }
}
