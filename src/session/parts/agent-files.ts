import { resolve } from 'node:path'
import type { AgentDefinition } from '../../subagents/agent-definition.js'
import { AgentRegistry } from '../../subagents/agent-registry.js'
import {
  type ReadAgents,
  readAgentDirectory,
  readProjectAgents,
  readUserAgents,
} from '../../subagents/files/read-agents.js'
import { workerAgent } from '../../subagents/files/worker-spec.js'
import type { SessionCore } from '../core.js'
import { SingleFlight } from '../single-flight.js'

/**
 * The agents that a session begins with. What a host names goes before what the user has, that before those that come with the package,
 * and all of them before those of the project: a repository cannot put its own in the place of any.
 */
export function findAgents(core: SessionCore): AgentRegistry {
  const { options, root, children } = core.parts
  const known = children?.agents ?? []
  const shelf = new AgentRegistry(known)
  // Nobody could hand them anything.
  if (children === undefined) return shelf
  if (options.discoverAgents !== false) {
    const { project, user } = looked.get(core) ?? lookNow(core)
    looked.delete(core)
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

/** Looks together with all who begin at this moment, so that the next to ask for the agents of this session need not. */
export async function lookAtAgentFiles(core: SessionCore): Promise<void> {
  const { options, root, userDir, children } = core.parts
  if (options.discoverAgents === false || children === undefined) return
  const one = families.get(children.agents) ?? new SingleFlight<Discovered>()
  families.set(children.agents, one)
  looked.set(core, await one.ask(JSON.stringify([root, userDir]), () => lookNow(core)))
}

type Discovered = { readonly project: ReadAgents; readonly user: ReadAgents }

/** What was found depends on the agents that are known already. */
const families = new WeakMap<readonly AgentDefinition[], SingleFlight<Discovered>>()
const looked = new WeakMap<SessionCore, Discovered>()

function lookNow({ parts: { root, userDir, children } }: SessionCore): Discovered {
  const known = children?.agents ?? []
  return { project: readProjectAgents(root, known), user: readUserAgents(userDir, known) }
}

export function addAgents(shelf: AgentRegistry, { agents, problems, unread }: ReadAgents): void {
  for (const agent of agents) shelf.add(agent)
  shelf.problems.push(...problems)
  shelf.unread.push(...unread)
}
