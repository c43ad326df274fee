import { agentLines } from '../../subagents/agent-definition.js'
import { AgentShelf } from '../../subagents/agent-shelf.js'
import type { SessionCore } from '../core.js'
import type { SessionPart } from '../part.js'

/** The agents that a session may hand work to; a subagent knows those of its parent. */
export const agentsPart: SessionPart<AgentShelf> = {
  name: 'agents',
  make: ({ parts }) => parts.parent?.agents ?? new AgentShelf(parts.children?.agents ?? []),
}

/** What the model is told of agents that came in addition: those that are always there, the tool names itself. */
export function agentsSection(core: SessionCore): string[] {
  const lines = agentLines(core.peekPart(agentsPart)?.added() ?? [])
  if (lines.length === 0 || !core.shelf.isShown('task')) return []
  return [`# Agents for task, beside those it names\n${lines.join('\n')}`]
}
