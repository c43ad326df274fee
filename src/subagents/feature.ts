import { join } from 'node:path'
import {
  between,
  both,
  count,
  each,
  either,
  fields,
  is,
  object,
  oneOf,
  readable,
  strings,
} from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { namesIfReadable } from '../workspace/if-readable.js'
import { worktreeBase } from '../workspace/scratch/base-directory.js'
import { agentLines } from './agent-definition.js'
import { findAgents, readAgentFiles } from './agent-files.js'
import type { AgentRegistry } from './agent-registry.js'
import { withDelegated } from './auto-delegation.js'
import { type WorkerAgentSpec, workerAgent, workerKinds } from './files/worker-spec.js'
import type { SubagentFeatureOptions, SubagentSession, SubagentSetup } from './options.js'
import { taskTools } from './task-tools.js'
import { Tasks } from './tasks.js'

/** The kind is resolved later, by the agent, which has the list of kinds. */
const workerSpec = readable((value) => {
  const { kind, ...rest } = value as WorkerAgentSpec
  const problem = kind === undefined ? undefined : oneOf(...workerKinds)(kind)
  if (problem !== undefined) throw new TypeError(problem.replace('%', 'kind'))
  workerAgent(rest, [])
})

/** Delegates work to other agents, each in its own session with no more authority than this one. */
export const subagentsFeature: SessionFeature<Subagents, SubagentFeatureOptions, SubagentSetup> = {
  name: 'subagents',
  create: (session) => new Subagents(session),
  close: (subagents) => subagents.close(),
  options: {
    agentDirs: strings,
    workerAgents: each(both(object, workerSpec)),
    discoverAgents: is('boolean'),
    delegation: fields({
      approvals: is('boolean'),
      env: either(is('boolean'), strings),
      maxDepth: count(0),
      maxTasks: count(1),
      timeoutMs: count(1),
    }),
    autoDelegation: fields({
      enabled: is('boolean'),
      autoParallel: is('boolean'),
      allowManualDelegation: is('boolean'),
      minConfidence: between(0, 1),
      maxTasks: count(1),
    }),
    autoParallel: is('boolean'),
  },
  tools: ({ autoDelegation }) => (autoDelegation?.allowManualDelegation === false ? [] : taskTools),
  async findPromptSources(session) {
    const isKnown = session.parent !== undefined || session.peek(subagentsFeature)?.hasAgents === true
    if (session.tools.isShown('task') && !isKnown) await readAgentFiles(session)
  },
  started: () => removeLeftTrees(),
  promptSection: agentsSection,
  delaysPrompt: ({ options }) => options.autoDelegation !== undefined,
  extendPrompt(session, message, _request, signal) {
    if (session.options.autoDelegation?.enabled !== true) return message
    return withDelegated(session, session.use(subagentsFeature), message, signal)
  },
  takeMessages: (session) => knownTasks(session)?.takeArrivals() ?? [],
  stopWork: (session, reason) => knownTasks(session)?.stopAll(reason),
  services: { tasks: (session) => session.use(subagentsFeature).tasks },
}

/** The agents and the tasks of one session, each created with the first use. */
export class Subagents {
  readonly #session: SubagentSession
  #agents: AgentRegistry | undefined
  #tasks: Tasks | undefined

  constructor(session: SubagentSession) {
    this.#session = session
  }

  /** The agents that can be given tasks; a subagent has those of its parent. */
  get agents(): AgentRegistry {
    const { parent } = this.#session
    this.#agents ??= parent?.session.use(subagentsFeature).agents ?? findAgents(this.#session)
    return this.#agents
  }

  get hasAgents(): boolean {
    return this.#agents !== undefined
  }

  get tasks(): Tasks {
    const family = this.#session.parent?.session.use(subagentsFeature).tasks.family
    this.#tasks ??= new Tasks(this.#session, this, family)
    return this.#tasks
  }

  /** The tasks, if any were started. */
  get startedTasks(): Tasks | undefined {
    return this.#tasks
  }

  async close(): Promise<void> {
    await this.#tasks?.stopAll('the session was closed')
  }
}

/** Removes, once per process, the worktrees of tasks whose process was killed. Loads nothing if there are none. */
function removeLeftTrees(): void | Promise<void> {
  if (leftTrees === undefined && namesIfReadable(join(worktreeBase(), 'worktrees')).length === 0) return
  leftTrees ??= import('../workspace/git/isolated-tree.js').then(async ({ removeDeadTrees }) => {
    // If removal fails, the next process tries again.
    await removeDeadTrees().catch(() => 0)
  })
  return leftTrees
}

let leftTrees: Promise<void> | undefined

/** The tasks of a session that has any, in memory or in its log. */
export function knownTasks(session: SubagentSession): Tasks | undefined {
  const isStored = (session.restored?.tasks.size ?? 0) > 0
  return isStored ? session.use(subagentsFeature).tasks : session.peek(subagentsFeature)?.startedTasks
}

/** Lists the agents that were added; the tool's description lists the initial ones. */
function agentsSection(session: SubagentSession): string | undefined {
  if (!session.tools.isShown('task')) return undefined
  const { agents } = session.use(subagentsFeature)
  if (session.parent === undefined)
    for (const message of agents.problems) session.emit({ type: 'notice', source: 'agents', message })
  const lines = agentLines(agents.added())
  return lines.length === 0
    ? undefined
    : `# Agents for task, in addition to those it names\n${lines.join('\n')}`
}

/** Cancels the tasks that are queued or active. False when there were none. */
export function cancelTasks(session: SubagentSession, reason: string): boolean {
  return session.peek(subagentsFeature)?.startedTasks?.cancelAll(reason) ?? false
}
