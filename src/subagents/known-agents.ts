import { resolve } from 'node:path'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { AgentDefinition } from './agent-definition.js'
import { addAgents } from './agent-files.js'
import { subagentsFeature } from './feature.js'
import { readAgentDirectory } from './files/read-agents.js'
import { type WorkerAgentSpec, workerAgent } from './files/worker-spec.js'
import type { SubagentSession } from './options.js'

/** An agent that can be given tasks, as `session.agents()` lists it. */
export type AgentInfo = Pick<
  AgentDefinition,
  'name' | 'description' | 'model' | 'maxSteps' | 'mode' | 'tools' | 'confirmationInheritance'
> & {
  /** Whether the agent comes with the package. */
  readonly native: boolean
  readonly hidden: boolean
}

/** Adds the agents of a directory to a session. Returns how many there were. */
export function addAgentDirectory(session: SubagentSession, path: string): number {
  session.assertOpen()
  const read = readAgentDirectory(
    resolve(session.projectRoot ?? '.', path),
    session.setup.children?.agents ?? [],
  )
  addAgents(session.use(subagentsFeature).agents, read)
  for (const message of read.problems) session.emit({ type: 'notice', source: 'agents', message })
  return read.agents.length
}

export function addWorkerAgent(session: SubagentSession, spec: WorkerAgentSpec): AgentInfo {
  session.assertOpen()
  const agent = workerAgent(spec, session.setup.children?.agents ?? [])
  session.use(subagentsFeature).agents.add(agent)
  return infoOf(agent, [])
}

export function listAgents(session: SubagentSession): AgentInfo[] {
  const native = session.setup.children?.agents ?? []
  return session
    .use(subagentsFeature)
    .agents.list()
    .map((agent) => infoOf(agent, native))
}

function infoOf(agent: AgentDefinition, native: readonly AgentDefinition[]): AgentInfo {
  const { name, description, model, maxSteps, mode, tools, hidden, confirmationInheritance } = agent
  return {
    name,
    description,
    native: native.includes(agent),
    hidden: hidden ?? false,
    ...omitUndefined({ model, maxSteps, mode, tools, confirmationInheritance }),
  }
}
