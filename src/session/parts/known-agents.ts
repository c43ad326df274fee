import { resolve } from 'node:path'
import type { AgentDefinition } from '../../subagents/agent-definition.js'
import { readAgentDirectory } from '../../subagents/files/read-agents.js'
import { type WorkerAgentSpec, workerAgent } from '../../subagents/files/worker-spec.js'
import type { SessionCore } from '../core.js'
import { addAgents } from './agent-files.js'
import { agentsPart } from './agents.js'

/** What others may know of an agent. */
export type AgentInfo = Pick<
  AgentDefinition,
  'name' | 'description' | 'model' | 'maxSteps' | 'mode' | 'tools' | 'confirmationInheritance'
> & {
  /** Whether it comes with the package. */
  readonly native: boolean
  readonly hidden: boolean
}

/** Adds the agents of a directory to a session, and says how many there were. */
export function addAgentDirectory(core: SessionCore, path: string): number {
  core.assertOpen()
  const read = readAgentDirectory(resolve(core.parts.root, path), core.parts.children?.agents ?? [])
  addAgents(core.part(agentsPart), read)
  for (const message of read.problems) core.emit({ type: 'notice', source: 'agents', message })
  return read.agents.length
}

export function addWorkerAgent(core: SessionCore, spec: WorkerAgentSpec): AgentInfo {
  core.assertOpen()
  const agent = workerAgent(spec, core.parts.children?.agents ?? [])
  core.part(agentsPart).add(agent)
  return infoOf(agent, [])
}

export function listAgents(core: SessionCore): AgentInfo[] {
  const native = core.parts.children?.agents ?? []
  return core
    .part(agentsPart)
    .list()
    .map((agent) => infoOf(agent, native))
}

function infoOf(agent: AgentDefinition, native: readonly AgentDefinition[]): AgentInfo {
  const { name, description, model, maxSteps, mode, tools, hidden, confirmationInheritance } = agent
  return {
    name,
    description,
    native: native.includes(agent),
    hidden: hidden ?? false,
    ...(model !== undefined && { model }),
    ...(maxSteps !== undefined && { maxSteps }),
    ...(mode !== undefined && { mode }),
    ...(tools !== undefined && { tools }),
    ...(confirmationInheritance !== undefined && { confirmationInheritance }),
  }
}
