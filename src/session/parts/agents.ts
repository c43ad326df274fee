import { agentLines } from '../../subagents/agent-definition.js'
import type { AgentRegistry } from '../../subagents/agent-registry.js'
import type { SessionCore } from '../core.js'
import type { SessionPart } from '../part.js'
import { findAgents, lookAtAgentFiles } from './agent-files.js'

/** The agents that a session may hand work to; a subagent knows those of its parent. */
export const agentsPart: SessionPart<AgentRegistry> = {
  name: 'agents',
  make: (core) => core.parts.parent?.agents ?? findAgents(core),
}

/** Looks for them where the model will be told of them. */
export async function lookForAgents(core: SessionCore): Promise<void> {
  if (
    core.shelf.isShown('task') &&
    core.parts.parent === undefined &&
    core.peekPart(agentsPart) === undefined
  )
    await lookAtAgentFiles(core)
}

/** What the model is told of agents that came in addition: those that are always there, the tool names itself. */
export function agentsSection(core: SessionCore): string[] {
  if (!core.shelf.isShown('task')) return []
  const agents = core.part(agentsPart)
  if (core.parts.parent === undefined)
    for (const message of agents.problems) core.emit({ type: 'notice', source: 'agents', message })
  const lines = agentLines(agents.added())
  if (lines.length === 0) return []
  return [`# Agents for task, beside those it names\n${lines.join('\n')}`]
}
