import { resolve } from 'node:path'
import { AgentShelf } from '../../subagents/agent-shelf.js'
import {
  type ReadAgents,
  readAgentDirectory,
  readProjectAgents,
  readUserAgents,
} from '../../subagents/files/read-agents.js'
import { workerAgent } from '../../subagents/files/worker-spec.js'
import type { SessionCore } from '../core.js'

/**
 * The agents that a session begins with. What a host names goes before what the user has, that before those that come with the package,
 * and all of them before those of the project: a repository cannot put its own in the place of any.
 */
export function findAgents({ parts }: SessionCore): AgentShelf {
  const { options, root, userDir, children } = parts
  const known = children?.agents ?? []
  const shelf = new AgentShelf(known)
  // Nobody could hand them anything.
  if (children === undefined) return shelf
  if (options.discoverAgents !== false) {
    const project = readProjectAgents(root, known)
    const user = readUserAgents(userDir, known)
    const taken = new Set([...known, ...user.agents].flatMap(({ name, aliases = [] }) => [name, ...aliases]))
    for (const { name } of project.agents.filter((agent) => taken.has(agent.name)))
      shelf.problems.push(
        `the agent "${name}" of the project was left out: there is one of that name already`,
      )
    addAgents(shelf, { ...project, agents: project.agents.filter(({ name }) => !taken.has(name)) })
    addAgents(shelf, user)
  }
  for (const path of options.agentDirs ?? []) addAgents(shelf, readAgentDirectory(resolve(root, path), known))
  for (const spec of options.workerAgents ?? []) shelf.add(workerAgent(spec, known))
  return shelf
}

export function addAgents(shelf: AgentShelf, { agents, problems }: ReadAgents): void {
  for (const agent of agents) shelf.add(agent)
  shelf.problems.push(...problems)
}
